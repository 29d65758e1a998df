/** Amounts of resources as kube-apiserver 1.32.1 stores them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kindUnderTest } from "../kind-for-tests.ts";
import { roundAmounts } from "./amounts.ts";

test("amounts have thousandths at the finest, rounded up, whatever they are amounts of", () => {
  assert.deepEqual(roundAmounts({ cpu: "1n", memory: "1000010u", storage: "1Gi", "a/b": "1m" }), {
    cpu: "1m",
    memory: "1001m",
    storage: "1Gi",
    "a/b": "1m",
  });
  const createObject = (kind: string, fields: object): Record<string, unknown> =>
    kindUnderTest({ group: "", version: "v1", kind }).create({ metadata: { name: "a" }, ...fields }) as Record<
      string,
      unknown
    >; // of a kind
  const quota = createObject("ResourceQuota", { spec: { hard: { cpu: "1n" } } });
  assert.deepEqual(quota["spec"], { hard: { cpu: "1m" } });
  const range = createObject("LimitRange", { spec: { limits: [{ type: "Pod", max: { cpu: "1.00001" } }] } });
  assert.deepEqual(range["spec"], { limits: [{ type: "Pod", max: { cpu: "1001m" } }] });
  const { spec } = createObject("PersistentVolume", {
    spec: { capacity: { storage: "1.00001" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/a" } },
  });
  assert.deepEqual((spec as { capacity?: object }).capacity, { storage: "1001m" });
});
