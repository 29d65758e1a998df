/** Tests which endpoints are for which zone, with numbers recorded from kube-controller-manager 1.32.1. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node } from "#api/core/v1.ts";
import type { Endpoint } from "#api/discovery/v1.ts";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import { wantsHints, zoneShares, zonesOf } from "./topology-hints.ts";

const node = (zone: string, cpu: string | undefined, more: { ready?: string; labels?: Record<string, string> } = {}) =>
  ({
    metadata: { labels: { ...(zone === "" ? {} : { "topology.kubernetes.io/zone": zone }), ...more.labels } },
    spec: {},
    status: {
      ...(cpu === undefined ? {} : { allocatable: { cpu } }),
      conditions: [{ type: "Ready", status: more.ready ?? "True" }],
    },
  }) as unknown as Node; // of the fields that matter

const shares = (...nodes: readonly Node[]) => zoneShares(nodes, kubernetesDomain);

/** Makes ready endpoints of the zones `z0`, `z1`, …; `counts` are their numbers. */
const endpointsOf = (counts: readonly number[]): Endpoint[] =>
  counts.flatMap((count, zone) =>
    Array.from({ length: count }, (_, at) => ({
      addresses: [`10.0.${zone}.${at}`],
      conditions: { ready: true },
      zone: `z${zone}`,
    })),
  );

/** Returns the number of endpoints for each zone, and how many of them are in another zone. */
function hints(cpus: readonly number[], counts: readonly number[], notReady = 0): [number[], number] | string {
  const endpoints = endpointsOf(counts).map((endpoint, at) =>
    at < notReady ? { ...endpoint, conditions: { ready: false } } : endpoint,
  );
  const zones = zonesOf(endpoints, shares(...cpus.map((cpu, zone) => node(`z${zone}`, String(cpu)))));
  if ("problem" in zones) return zones.problem;
  const all = [...zones];
  assert.equal(all.length, endpoints.length - notReady);
  return [
    cpus.map((_, zone) => all.filter(([, of]) => of === `z${zone}`).length),
    all.filter(([endpoint, of]) => endpoint.zone !== of).length,
  ];
}

test("zones get endpoints by their CPUs, from others where they have too few, and no more than that", () => {
  assert.deepEqual(hints([16, 1], [3, 6], 1), [[7, 1], 5]);
  assert.deepEqual(hints([16, 1], [9, 1]), [[9, 1], 0]);
  assert.deepEqual(hints([16, 1, 8], [6, 9, 1], 2), [[9, 1, 4], 8]);
  assert.deepEqual(hints([16, 1, 8], [0, 6, 4]), [[6, 1, 3], 6]);
  assert.deepEqual(hints([1, 16, 2, 8], [4, 1, 2, 1]), [[1, 4, 1, 2], 4]);
  assert.deepEqual(hints([1, 16, 2, 8], [9, 4, 6, 0]), [[1, 11, 2, 5], 12]);
  assert.deepEqual(hints([1, 16, 2, 8], [6, 6, 9, 2]), [[1, 13, 2, 7], 12]);
  assert.deepEqual(hints([4, 16, 8, 16], [2, 2, 4, 3], 2), [[1, 3, 2, 3], 2]);
  assert.deepEqual(hints([8, 4], [3, 9], 2), [[6, 4], 5]);
  assert.deepEqual(hints([8, 4], [9, 4]), [[9, 4], 0]);
  assert.deepEqual(hints([3, 3, 2], [5, 5, 2]), [[4, 5, 3], 1]);
  assert.deepEqual(hints([3, 3, 2], [4, 3, 5]), [[5, 4, 3], 2]);
  assert.deepEqual(hints([3, 3, 2], [2, 5, 5]), [[4, 5, 3], 2]);
});

test("there are no hints where zones would be overloaded or little is known", () => {
  const few = (endpoints: number, zones: number): string =>
    `Insufficient number of endpoints (${endpoints} endpoints, ${zones} zones)`;
  const overloadMessage = (endpoints: number, zones: number): string =>
    `Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (${endpoints} endpoints, ${zones} zones)`;
  const unknown = "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes";
  assert.equal(hints([16, 1, 8], [0, 2, 0]), few(2, 3));
  assert.equal(hints([16, 16], [2, 0], 2), few(0, 2));
  assert.equal(hints([16, 1], [0, 3]), overloadMessage(3, 2));
  assert.equal(hints([5, 5, 5, 4], [3, 3, 3, 1]), overloadMessage(10, 4));
  assert.equal(hints([8], [9]), unknown);
  const homeless: Endpoint = { addresses: ["10.9.9.9"], conditions: { ready: true } };
  const zones = zonesOf([...endpointsOf([3, 3]), homeless], shares(node("z0", "4"), node("z1", "4")));
  assert.deepEqual(zones, { problem: "One or more endpoints do not have a zone specified" });
});

test("nodes that are not ready, or of the control plane, do not count; others have to say where they are", () => {
  const two = [node("a", "1"), node("b", "500m"), node("b", "2500m")];
  const expected = new Map([
    ["a", 0.25],
    ["b", 0.75],
  ]);
  assert.deepEqual(shares(...two), expected);
  const master = { labels: { "node-role.kubernetes.io/master": "" } };
  const others = [node("c", "4", { ready: "False" }), node("", "4", master), node("", undefined, { ready: "Unknown" })];
  assert.deepEqual(shares(...two, ...others), expected);
  for (const wrong of [node("", "1"), node("c", undefined), node("c", "0")]) {
    assert.equal(shares(...two, wrong), undefined);
  }
});

test("a service wants hints by an annotation of the domain", () => {
  const wants = (annotations: Record<string, string>, domain = kubernetesDomain): boolean =>
    wantsHints({ metadata: { annotations }, spec: {}, status: { loadBalancer: {} } }, domain);
  for (const mode of ["Auto", "auto"]) assert.ok(wants({ "service.kubernetes.io/topology-mode": mode }));
  assert.ok(wants({ "service.kubernetes.io/topology-aware-hints": "Auto" }));
  const both = (older: string, mode: string): Record<string, string> => ({
    "service.kubernetes.io/topology-aware-hints": older,
    "service.kubernetes.io/topology-mode": mode,
  });
  assert.ok(wants(both("Auto", "Disabled")));
  assert.ok(!wants(both("Disabled", "Auto")));
  for (const mode of ["AUTO", "Disabled", ""]) assert.ok(!wants({ "service.kubernetes.io/topology-mode": mode }));
  assert.ok(wants({ "service.platform.io/topology-mode": "Auto" }, apiDomain("platform.io")));
  assert.ok(!wants({ "service.kubernetes.io/topology-mode": "Auto" }, apiDomain("platform.io")));
});
