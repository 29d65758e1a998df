/** The work of StatefulSets with many pods. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReconcileContext } from "#client/controllers.ts";
import { Pod } from "#client/kinds.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { statefulSetController } from "./stateful-sets.ts";

/** Returns how often the metadata of pods are read when a set that has all of them is reconciled. */
async function readsOf(count: number): Promise<number> {
  let reads = 0;
  const ready = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
  const pods = Array.from({ length: count }, (_, number) => ({
    status: ready,
    get metadata() {
      reads++;
      return { name: `db-${number}`, labels: {} };
    },
  }));
  const context = {
    claim: async (kind: unknown) => (kind === Pod ? pods : []),
    create: async (_: unknown, object: unknown) => object,
    remove: async () => undefined,
    replaceStatus: async () => undefined,
    client: { clock: { now: () => 0 } },
  };
  const spec = { replicas: count, podManagementPolicy: "Parallel", template: {}, updateStrategy: { type: "OnDelete" } };
  const set = { apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "db" }, spec, status: {} };
  const parts = { domain: kubernetesDomain, readyAfterMs: 0 };
  await statefulSetController(parts).options.reconcile(set, context as unknown as ReconcileContext); // see above
  return reads;
}

void test("four times as many pods of a StatefulSet take four times the work", async () => {
  const [few, many] = [await readsOf(1000), await readsOf(4000)];
  assert.ok(few >= 1000);
  assert.ok(many <= 4 * few, `${few} reads grew to ${many}`);
});
