/** Rules of nodes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kindUnderTest } from "../kind-for-tests.ts";

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
