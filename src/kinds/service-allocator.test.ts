/**
 * The allocation of service addresses and ports beyond the API tests: pending writes, old services, random sequences.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Service, ServiceSpec } from "#api/core/v1.ts";
import { parseIpRange } from "#meta/ip-range.ts";
import type { WriteAttributes } from "#registry/resource-definition.ts";
import { seededRandom } from "#std/random.ts";
import { ServiceAllocator } from "./service-allocator.ts";

const write = { subresource: "", dryRun: false } as WriteAttributes; // the allocator does not read the context

const open = (range = "10.0.0.0/28"): ServiceAllocator =>
  new ServiceAllocator({
    clusterIps: [parseIpRange(range)!],
    nodePorts: { first: 30_000, size: 8 },
    random: seededRandom(7),
  });

const service = (name: string, spec: ServiceSpec): Service => ({
  metadata: { namespace: "n", name },
  spec: { type: "ClusterIP", ...spec },
  status: { loadBalancer: {} },
});

const ipOf = ({ spec }: Service): string => spec.clusterIP!;

test("addresses and ports of a running write are reserved until it fails", () => {
  const allocator = open();
  const wanted = { clusterIP: "10.0.0.5" };
  const first = allocator.allocate(service("a", wanted), undefined, write);
  assert.throws(() => allocator.allocate(service("b", wanted), undefined, write), /already allocated/);
  first.release();
  first.release();
  assert.equal(ipOf(allocator.allocate(service("b", wanted), undefined, write).object), "10.0.0.5");
});

test("the last free addresses of a large range are found", () => {
  const allocator = open("10.0.0.0/20");
  const free = new Set(["10.0.0.1", "10.0.7.7", "10.0.15.254"]);
  for (let index = 1; index < 4095; index++) {
    const ip = `10.0.${index >> 8}.${index & 255}`;
    if (!free.has(ip)) allocator.set("n", ip, service(ip, { clusterIP: ip, clusterIPs: [ip] }));
  }
  const next = (): string => ipOf(allocator.allocate(service("new", {}), undefined, write).object);
  // The lowest addresses are given out last.
  const first = new Set([next(), next()]);
  assert.deepEqual(first, new Set(["10.0.7.7", "10.0.15.254"]));
  allocator.set("n", "10.0.9.9", undefined);
  assert.deepEqual([next(), next()], ["10.0.9.9", "10.0.0.1"]);
  assert.throws(next, /range is full/);
});

test("what two stored services say is free when both are gone", () => {
  const allocator = open();
  const twice = { clusterIP: "10.0.0.5", clusterIPs: ["10.0.0.5"] };
  for (const name of ["a", "b"]) allocator.set("n", name, service(name, twice));
  allocator.set("n", "a", undefined);
  const asks = (): unknown => allocator.allocate(service("c", { clusterIP: "10.0.0.5" }), undefined, write);
  assert.throws(asks, /already allocated/);
  allocator.set("n", "b", undefined);
  asks();
});

test("a stored service without address or port gets them with its next update", () => {
  const allocator = open();
  const old = service("old", { type: "NodePort", ports: [{ port: 80, targetPort: 80 }] });
  allocator.set("n", "old", old);
  assert.ok(allocator.isIncomplete(old));
  const { object } = allocator.allocate(old, old, write);
  assert.match(ipOf(object), /^10\.0\.0\./);
  assert.ok(!allocator.isIncomplete(object));
  assert.ok(object.spec.ports![0]!.nodePort! >= 30_000);
});

test("whatever is made, changed and deleted, no number is held twice and none is lost", () => {
  const random = seededRandom(11);
  const allocator = open();
  const stored = new Map<string, Service>();
  for (let step = 0; step < 5000; step++) {
    const name = `s${Math.floor(random.next() * 20)}`;
    const old = stored.get(name);
    if (old !== undefined && random.next() < 0.4) {
      stored.delete(name);
      allocator.set("n", name, undefined);
      continue;
    }
    const type = ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"][Math.floor(random.next() * 4)]!;
    const spec = type === "ExternalName" ? { type } : { ...old?.spec, type, ports: [{ port: 80, targetPort: 80 }] };
    try {
      const allocated = allocator.allocate(service(name, spec), old, write);
      if (random.next() < 0.8) {
        stored.set(name, allocated.object);
        allocator.set("n", name, allocated.object);
      }
      allocated.release();
    } catch (error) {
      assert.match(String(error), /range is full/);
    }
    const ips = [...stored.values()].map(ipOf).filter((ip) => ip !== undefined);
    assert.equal(new Set(ips).size, ips.length);
  }
  for (const name of stored.keys()) allocator.set("n", name, undefined);
  const all = Array.from({ length: 14 }, (_, i) =>
    ipOf(allocator.allocate(service(`x${i}`, {}), undefined, write).object),
  );
  assert.equal(new Set(all).size, 14);
});

test("ranges come and go, and addresses in use stay reserved", () => {
  const allocator = open("10.0.0.0/29");
  const used = service("a", { clusterIP: "10.0.0.2", clusterIPs: ["10.0.0.2"] });
  allocator.set("n", "a", used);
  const asks = (clusterIP?: string) => () =>
    ipOf(allocator.allocate(service("b", clusterIP === undefined ? {} : { clusterIP }), undefined, write).object);
  allocator.setRanges([]);
  assert.throws(asks("10.0.0.3"), /the provided network does not match the current range/);
  assert.throws(asks(), /range is full/);
  // Ranges may overlap.
  allocator.setRanges(["10.0.0.0/29", "10.0.0.0/28"].map((text) => parseIpRange(text)!));
  assert.throws(asks("10.0.0.2"), /already allocated/);
  const given = new Set(Array.from({ length: 13 }, asks()));
  assert.equal(given.size, 13);
  assert.ok(!given.has("10.0.0.2"));
  assert.throws(asks(), /range is full/);
});

test("an address that is an object is taken until it goes", () => {
  const allocator = open();
  allocator.setAddress("10.0.0.5", true);
  const asks = () => allocator.allocate(service("a", { clusterIP: "10.0.0.5" }), undefined, write).release();
  assert.throws(asks, /already allocated/);
  allocator.setAddress("10.0.0.5", false);
  asks();
  allocator.setAddress("10.0.0.5", true);
  allocator.clearAddresses();
  asks();
});
