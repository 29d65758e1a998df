/** Service addresses as objects, with the findings of kube-apiserver 1.32.1. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { nameRules } from "#meta/names.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const group = "networking.k8s.io";
const ranges = kindUnderTest({ group, version: "v1beta1", kind: "ServiceCIDR" });
const addresses = kindUnderTest({ group, version: "v1beta1", kind: "IPAddress" });
const range = (...cidrs: readonly string[]) => ({ metadata: { name: "r" }, spec: { cidrs } });

test("a range has one network of each family, in canonical form", () => {
  const refuse = (...cidrs: readonly string[]): string[] => ranges.refuseCreate(range(...cidrs));
  for (const right of [["10.0.0.0/24"], ["2001:db8::/64"], ["10.0.0.0/24", "2001:db8::/64"]]) {
    assert.deepEqual(refuse(...right), []);
  }
  assert.deepEqual(refuse(), ["spec.cidrs: Required value: at least one CIDR required"]);
  assert.match(refuse("10.0.0.0/24", "10.1.0.0/24")[0]!, /may specify no more than one IP for each IP family/);
  assert.match(refuse("10.0.0.0/24", "fd00::/64", "fd01::/64")[0]!, /may only hold up to 2 values$/);
  assert.deepEqual(refuse("10.0.0.1/24"), [
    'spec.cidrs[0]: Invalid value: "10.0.0.1/24": wrong CIDR format, IP doesn\'t match network IP address',
  ]);
  assert.deepEqual(refuse("FD00::/64"), [
    'spec.cidrs[0]: Invalid value: "FD00::/64": CIDR not in RFC 5952 canonical format',
  ]);
  assert.deepEqual(refuse("x"), ['spec.cidrs[0]: Invalid value: "x": netip.ParsePrefix("x"): no \'/\'']);
});

test("a range never changes, and every write may change its status", () => {
  const old = ranges.create(range("10.0.0.0/24"));
  assert.match(ranges.refuseUpdate(range("10.1.0.0/24"), old)[0]!, /^spec\.cidrs: .*: field is immutable$/);
  const status = { conditions: [{ type: "Ready", status: "True" }] };
  const created = ranges.create({ ...range("10.0.0.0/24"), status });
  const updated = ranges.update({ ...range("10.0.0.0/24"), status }, old);
  for (const object of [created, updated]) assert.equal((object["status"] as typeof status).conditions.length, 1);
});

test("an address has a parent, which stays", () => {
  const address = (parentRef?: object) => ({ metadata: { name: "10.0.0.1" }, spec: { parentRef } });
  const parent = { resource: "services", namespace: "n", name: "s" };
  assert.deepEqual(addresses.refuseCreate(address(parent)), []);
  assert.deepEqual(addresses.refuseCreate(address()), ["spec.parentRef: Required value"]);
  assert.deepEqual(addresses.refuseCreate(address({})), [
    "spec.parentRef.resource: Required value",
    "spec.parentRef.name: Required value",
  ]);
  const old = addresses.create(address(parent));
  const [finding] = addresses.refuseUpdate(address({ ...parent, name: "t" }), old);
  assert.match(finding!, /^spec\.parentRef: .*: field is immutable$/);
});

test("the name of an address is the address in canonical form", () => {
  const check = nameRules["canonicalIP"]!;
  for (const right of ["10.0.0.1", "2001:db8::1"]) assert.deepEqual(check(right, false), []);
  assert.deepEqual(check("2001:DB8::1", false), ["must be a canonical format IP address"]);
  assert.deepEqual(check("x", false), ['ParseAddr("x"): unable to parse IP']);
});

test("the generated name of an address is its prefix alone, as in 1.32", () => {
  const spec = { parentRef: { resource: "services", name: "s" } };
  const create = (metadata: object): string | undefined => addresses.create({ metadata, spec }).metadata.name;
  assert.equal(create({ generateName: "fd00::" }), "fd00::");
  assert.equal(create({ generateName: "fd00::", name: "10.0.0.1" }), "10.0.0.1");
});
