/** Addresses of pods and ranges of nodes, which two fields say. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kindUnderTest } from "../kind-for-tests.ts";

test("podIP and podIPs say the same, as soon as one of them is given", () => {
  const pods = kindUnderTest({ group: "", version: "v1", kind: "Pod" });
  const written = (status: object): unknown[] => {
    const next = pods.update({ metadata: { name: "p" }, spec: {}, status }, { metadata: { name: "p" } }, "status");
    const { podIP, podIPs } = next["status"] as { podIP?: string; podIPs?: unknown };
    return [podIP, podIPs];
  };
  const both = [{ ip: "10.1.0.1" }, { ip: "fd00::1" }];
  assert.deepEqual(written({ podIP: "10.1.0.1" }), ["10.1.0.1", [{ ip: "10.1.0.1" }]]);
  assert.deepEqual(written({ podIPs: both }), ["10.1.0.1", both]);
  assert.deepEqual(written({ podIP: "10.1.0.1", podIPs: both }), ["10.1.0.1", both]);
  assert.deepEqual(written({ podIP: "10.1.0.2", podIPs: both }), ["10.1.0.2", [{ ip: "10.1.0.2" }]]);
  assert.deepEqual(written({}), [undefined, undefined]);
});

test("podCIDR and podCIDRs say the same, and are given once", () => {
  const nodes = kindUnderTest({ group: "", version: "v1", kind: "Node" });
  const node = (spec: object): { readonly metadata: { readonly name: string }; readonly spec: object } => ({
    metadata: { name: "n" },
    spec,
  });
  const given = { podCIDR: "10.5.0.0/24", podCIDRs: ["10.5.0.0/24"] };
  assert.deepEqual(nodes.create(node({ podCIDR: "10.5.0.0/24" }))["spec"], given);
  assert.deepEqual(nodes.create(node({ podCIDRs: ["10.5.0.0/24"] }))["spec"], given);
  assert.deepEqual(nodes.refuseUpdate(node(given), node({})), []);
  assert.deepEqual(nodes.refuseUpdate(node({ podCIDR: "10.6.0.0/24" }), node(given)), [
    'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
  ]);
});
