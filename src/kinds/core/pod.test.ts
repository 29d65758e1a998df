/** Pods: what their subresources may change. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const pods = kindUnderTest({ group: "", version: "v1", kind: "Pod" });
const container = { name: "c", image: "i", resources: {} };
const old: ApiObject = {
  kind: "Pod",
  apiVersion: "v1",
  metadata: { name: "p", uid: "u", resourceVersion: "5", labels: { a: "b" } },
  spec: { containers: [container], ephemeralContainers: [{ name: "d", image: "i", resources: {} }] },
  status: { phase: "Pending" },
};
const debug = { name: "e", image: "j", resources: {} };
const withDebug = {
  ...(old["spec"] as object),
  ephemeralContainers: [{ name: "d", image: "i", resources: {} }, debug],
};

test("through ephemeralcontainers nothing but these is written", () => {
  const sent: ApiObject = {
    ...old,
    metadata: { ...old.metadata, labels: { a: "c" }, ownerReferences: [] },
    spec: { ...withDebug, nodeName: "n", containers: [{ ...container, image: "other" }] },
    status: { phase: "Running" },
  };
  const next = pods.update(sent, old, "ephemeralcontainers");
  assert.deepEqual(next.metadata, old.metadata);
  assert.deepEqual(next["status"], old["status"]);
  assert.deepEqual(
    { ...(next["spec"] as object), ephemeralContainers: [] },
    { ...(old["spec"] as object), ephemeralContainers: [] },
  );
  const { ephemeralContainers } = next["spec"] as {
    readonly ephemeralContainers: readonly { readonly name: string }[];
  };
  assert.deepEqual(
    ephemeralContainers.map(({ name }) => name),
    ["d", "e"],
  );
});

test("ephemeral containers stay as they are once they are there", () => {
  const base = pods.update(old, old);
  const refused = (list: readonly object[]): string[] => {
    const sent = { ...base, spec: { ...(base["spec"] as object), ephemeralContainers: list } };
    return pods.refuseUpdate(sent, base, "ephemeralcontainers");
  };
  const { ephemeralContainers: kept } = base["spec"] as { readonly ephemeralContainers: readonly object[] };
  const why = 'spec.ephemeralContainers: Forbidden: existing ephemeral containers "d" may not be';
  assert.deepEqual(refused(kept), []);
  assert.deepEqual(refused([...kept, debug]), []);
  assert.deepEqual(refused([debug]), [`${why} removed\n`]);
  assert.deepEqual(refused([{ ...kept[0], image: "other" }, debug]), [`${why} changed\n`]);
});

test("a deletion time in a pod's status is passed over", () => {
  const sent = { ...old, metadata: { ...old.metadata, deletionTimestamp: "2001-01-01T00:00:00Z" } };
  assert.equal(pods.update(sent, old, "status").metadata.deletionTimestamp, undefined);
});
