/** Rules of nodes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
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

test("taints, ranges, addresses and amounts of a node are checked, and what was given to it stays", () => {
  const nodes = kindUnderTest({ group: "", version: "v1", kind: "Node" });
  const node = (spec: object, status: object = {}): Unstructured => ({ metadata: { name: "n" }, spec, status });
  const short = (finding: string): string => finding.replace(/(?:name part must|a valid label must).*$/, "…");
  const cases: readonly (readonly [Unstructured, ...string[]])[] = [
    [node({ podCIDRs: ["10.0.0.0/8", "fd00::/64"], taints: [{ key: "a", effect: "NoExecute" }] })],
    [
      node({ taints: [{ key: "a b", value: "c d", effect: "X" }, { key: "a" }] }),
      'metadata.taints[0].key: Invalid value: "a b": …',
      'metadata.taints[0].value: Invalid value: "c d": …',
      'metadata.taints[0].effect: Unsupported value: "X": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
      "metadata.taints[1].effect: Required value",
    ],
    [
      node({ taints: ["x", "y"].map((value) => ({ key: "a", value, effect: "NoSchedule" })) }),
      'metadata.taints[1]: Duplicate value: {"key":"a","value":"y","effect":"NoSchedule"}: taints must be unique by key and effect pair',
    ],
    [
      node({ podCIDR: "x" }),
      'spec.podCIDRs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ],
    [
      node({ podCIDRs: ["10.0.0.0/8", "10.0.0.0/8"] }),
      'spec.podCIDRs: Invalid value: []string{"10.0.0.0/8", "10.0.0.0/8"}: may specify no more than one CIDR for each IP family',
      'spec.podCIDRs[1]: Duplicate value: "10.0.0.0/8"',
    ],
    [
      node({ podCIDRs: ["10.0.0.0/8", "x"] }),
      'spec.podCIDRs[1]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
      "spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[1]: <nil> (invalid CIDR address: x)",
      'spec.podCIDRs: Invalid value: []string{"10.0.0.0/8", "x"}: may specify no more than one CIDR for each IP family',
    ],
    [
      node({}, { capacity: { cpu: "-1", "example.com/gpu": "1m" }, allocatable: { cpu: "1" } }),
      'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
      'status.capacity.example.com/gpu: Invalid value: "1m": must be an integer',
    ],
  ];
  for (const [object, ...findings] of cases) assert.deepEqual(nodes.refuseCreate(object).map(short), findings);
  const old = node({ providerID: "p", externalID: "e" });
  assert.deepEqual(nodes.refuseUpdate(node({ providerID: "q" }), old), [
    'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
    "spec.externalID: Forbidden: may not be updated",
  ]);
  const addresses = [1, 2].map(() => ({ type: "InternalIP", address: "10.0.0.1" }));
  assert.deepEqual(nodes.refuseUpdate({ ...old, status: { addresses } }, old, "status"), [
    'status.addresses[1]: Duplicate value: {"type":"InternalIP","address":"10.0.0.1"}',
  ]);
});
