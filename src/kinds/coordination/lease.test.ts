/** The findings of kube-apiserver 1.32.1 about leases of coordinated elections. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kindUnderTest } from "../kind-for-tests.ts";

const { refuseCreate } = kindUnderTest(
  { group: "coordination.k8s.io", version: "v1", kind: "Lease" },
  { gates: ["CoordinatedLeaderElection"] },
);
const refuse = (spec: object): string[] => refuseCreate({ metadata: { name: "a" }, spec });

test("a strategy is one of the server's or has a prefix; a preferred holder needs one", () => {
  for (const strategy of ["OldestEmulationVersion", "example.com/mine"]) {
    assert.deepEqual(refuse({ strategy, preferredHolder: "b" }), []);
  }
  assert.deepEqual(refuse({ strategy: "Other" }), [
    'spec.strategy.strategy: Unsupported value: "Other": supported values: "OldestEmulationVersion"',
  ]);
  assert.deepEqual(refuse({ strategy: "/x" }), [
    'spec.strategy.strategy: Invalid value: "/x": prefix part must be non-empty',
  ]);
  assert.deepEqual(refuse({ preferredHolder: "b" }), [
    "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined",
  ]);
});
