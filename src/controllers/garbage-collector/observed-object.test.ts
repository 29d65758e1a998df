/** Tests which objects of lists and watches the graph needs; others are not decoded. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { OwnershipGraph } from "./graph.ts";
import { affectsGraph, objectAffectsGraph } from "./observed-object.ts";

const line = (metadata: object, more: object = {}): Buffer =>
  Buffer.from(JSON.stringify({ type: "MODIFIED", object: { ...more, metadata } }));

test("only objects with owners, known ones and those that wait for the collector are decoded", () => {
  const graph = new OwnershipGraph({ unverified() {}, suspect() {}, crowded() {} });
  graph.observe({
    apiVersion: "v1",
    kind: "Pod",
    namespace: "n",
    name: "known",
    uid: "known-uid",
    owners: [{ apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "owner-uid" }],
    isBeingDeleted: false,
    deletesDependents: false,
    orphansDependents: false,
    round: 1,
    isForeign: false,
  });
  const plain = line({ name: "a", uid: "u" }, { data: { text: 'the "ownerReferences" of "uid":"known-uid"' } });
  assert.equal(affectsGraph(plain, graph, true), false);
  assert.equal(affectsGraph(line({ name: "a", uid: "u", ownerReferences: [{}] }), graph, false), true);
  assert.equal(affectsGraph(line({ name: "known", uid: "known-uid" }), graph, true), true);
  assert.equal(affectsGraph(line({ name: "o", uid: "owner-uid" }), graph, true), true);
  const deleted = { name: "a", uid: "u", deletionTimestamp: "2026-01-01T00:00:00Z" };
  assert.equal(affectsGraph(line({ ...deleted, finalizers: ["example.com/hold"] }), graph, false), false);
  assert.equal(affectsGraph(line({ ...deleted, finalizers: ["example.com/hold", "orphan"] }), graph, false), true);
  assert.equal(affectsGraph(line({ ...deleted, finalizers: ["foregroundDeletion"] }), graph, false), true);
  for (const uid of ["known-uid", "owner-uid"]) assert.equal(objectAffectsGraph({ name: "o", uid }, graph), true);
  assert.equal(objectAffectsGraph({ name: "a", uid: "u" }, graph), false);
  assert.equal(objectAffectsGraph({ ...deleted, finalizers: ["example.com/hold"] }, graph), false);
  assert.equal(objectAffectsGraph({ ...deleted, finalizers: ["foregroundDeletion"] }, graph), true);
});
