/** Resource slices in both versions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kindUnderTest } from "../kind-for-tests.ts";

const slices = kindUnderTest({ group: "resource.k8s.io", version: "v1alpha3", kind: "ResourceSlice" });

test("capacities are quantities in the older version and objects in the stored one", () => {
  const slice = (...devices: readonly object[]) => ({
    metadata: { name: "s" },
    spec: { driver: "d", pool: { name: "p", generation: 1, resourceSliceCount: 1 }, devices },
  });
  const others = [{ name: "b", basic: { attributes: { a: { int: 1 } } } }, { name: "c" }];
  const object = slices.create(slice({ name: "a", basic: { capacity: { memory: "1Gi" } } }, ...others));
  const { toHub, fromHub } = slices.definition.conversion!;
  const stored = slice({ name: "a", basic: { capacity: { memory: { value: "1Gi" } } } }, ...others);
  assert.deepEqual(toHub(object)["spec"], stored.spec);
  assert.deepEqual(fromHub(toHub(object)), object);
});
