/** The contents of the graph, and the examinations it asks for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { OwnerReference } from "#meta/object-meta.ts";
import { type GraphNode, OwnershipGraph, type ObservedObject } from "./graph.ts";

function open() {
  const questions: string[] = [];
  const graph = new OwnershipGraph({
    unverified: ({ uid }) => questions.push(`verify ${uid}`),
    suspect: ({ uid }) => questions.push(`examine ${uid}`),
    crowded: () => questions.push("crowded"),
  });
  /** Returns the examinations requested since the last call. */
  const news = (): string[] => questions.splice(0).toSorted();
  return { graph, news };
}

const owner = (uid: string, more: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  name: uid,
  uid,
  ...more,
});

const observe = (
  uid: string,
  owners: readonly OwnerReference[] = [],
  more: Partial<ObservedObject> = {},
): ObservedObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  namespace: "n",
  name: uid,
  uid,
  owners,
  isBeingDeleted: false,
  deletesDependents: false,
  orphansDependents: false,
  round: 1,
  isForeign: false,
  ...more,
});

const names = (nodes: Iterable<GraphNode>): string[] => Array.from(nodes, ({ uid }) => uid).toSorted();

test("objects without owners and dependents take no place, and owners leave with their last dependent", () => {
  const { graph, news } = open();
  graph.observe(observe("alone"));
  assert.equal(graph.size, 0);
  graph.observe(observe("child", [owner("parent")]));
  assert.deepEqual(names(graph.nodes()), ["child", "parent"]);
  assert.deepEqual(news(), ["verify parent"]);
  graph.observe(observe("child"));
  assert.equal(graph.size, 0);
  assert.deepEqual(news(), []);
});

test("an owner that was seen where its dependents say needs no question", () => {
  const { graph, news } = open();
  graph.observe(observe("child", [owner("parent")]));
  news();
  graph.observe(observe("parent"));
  graph.observe(observe("other", [owner("parent")]));
  assert.deepEqual(news(), []);
  assert.deepEqual(names(graph.get("parent")!.dependents()), ["child", "other"]);
});

test("a dependent that names its owner wrongly is examined, in whichever order they come", () => {
  for (const wrong of [owner("parent", { name: "x" }), owner("parent", { kind: "Secret" })]) {
    const { graph, news } = open();
    graph.observe(observe("child", [wrong]));
    news();
    graph.observe(observe("parent"));
    assert.deepEqual(news(), ["examine child"]);
    graph.observe(observe("later", [wrong]));
    assert.deepEqual(news(), ["examine later"]);
  }
  const { graph, news } = open();
  graph.observe(observe("child", [owner("parent")]));
  graph.observe(observe("parent"));
  news();
  graph.observe(observe("far", [owner("parent")], { namespace: "m" }));
  assert.deepEqual(news(), ["examine far"]);
});

test("when an owner goes, its dependents are examined, and what it held up as well", () => {
  const { graph, news } = open();
  graph.observe(observe("top", [], { deletesDependents: true, isBeingDeleted: true }));
  graph.observe(observe("middle", [owner("top", { blockOwnerDeletion: true })]));
  graph.observe(observe("bottom", [owner("middle")]));
  news();
  assert.equal(graph.get("top")!.blockers, 1);
  graph.remove(graph.get("middle")!);
  assert.deepEqual(news(), ["examine bottom", "examine top"]);
  assert.equal(graph.get("top")!.blockers, 0);
  assert.equal(graph.get("middle"), undefined);
});

test("a dependent that no longer blocks lets its owner go", () => {
  const { graph, news } = open();
  graph.observe(observe("child", [owner("top", { blockOwnerDeletion: true })]));
  graph.observe(observe("top", [], { deletesDependents: true, isBeingDeleted: true }));
  assert.deepEqual(news(), ["examine child", "examine top", "verify top"]);
  graph.observe(observe("child", [owner("top")]));
  assert.deepEqual(news(), ["examine top"]);
  assert.equal(graph.get("top")!.blockers, 0);
});

test("an owner named twice counts once, and an object that names itself does not hold itself up", () => {
  const { graph } = open();
  const blocking = { blockOwnerDeletion: true };
  graph.observe(observe("child", [owner("top"), owner("top", blocking), owner("child", blocking)]));
  assert.deepEqual(names(graph.get("top")!.dependents()), ["child"]);
  assert.equal(graph.get("top")!.blockers, 1);
  assert.equal(graph.get("child")!.blockers, 0);
  graph.remove(graph.get("child")!);
  assert.equal(graph.size, 0);
});

test("objects that a later list lacks are asked for", () => {
  const { graph, news } = open();
  const type = graph.hold("", "ConfigMap");
  graph.observe(observe("child", [owner("parent")]));
  graph.observe(observe("parent"));
  graph.observe(observe("secret", [owner("parent")], { kind: "Secret" }));
  graph.observe(observe("child", [owner("parent")], { round: 2 }));
  news();
  for (const _ of graph.unseen(type, 2)) assert.fail("too few to pause");
  assert.deepEqual(news(), ["verify parent"]);
  assert.equal(graph.get("parent")!.state, "lost");
  assert.equal(graph.get("child")!.state, "observed");
});

test("of a kind that is served no longer only owners stay, to be asked for", () => {
  const { graph, news } = open();
  const type = graph.hold("", "ConfigMap");
  graph.observe(observe("leaf", [owner("parent")]));
  graph.observe(observe("parent"));
  graph.observe(observe("secret", [owner("parent")], { kind: "Secret" }));
  news();
  for (const _ of graph.unwatched(type)) assert.fail("too few to pause");
  assert.deepEqual(names(graph.nodes()), ["parent", "secret"]);
  assert.deepEqual(news(), ["verify parent"]);
  assert.equal(type.nodes, 1);
});

test("objects of other servers take bounded room, which they give back, and leave that of others alone", () => {
  const { graph, news } = open();
  const foreign = (uid: string, owners: readonly OwnerReference[], more: Partial<ObservedObject> = {}) =>
    graph.observe(observe(uid, owners, { kind: "Thing", apiVersion: "g.com/v1", isForeign: true, ...more }));
  for (let at = 0; at < 60_000; at++) foreign(`foreign-${at}`, [owner(`owner-${at}`)]);
  assert.equal(graph.size, 100_000);
  assert.ok(news().includes("crowded"));
  graph.observe(observe("child", [owner("parent")]));
  assert.equal(graph.size, 100_002);
  for (const node of graph.nodes())
    if (node.isForeign && node.state === "observed")
      graph.observe({ ...observe(node.uid), kind: "Thing", apiVersion: "g.com/v1", isForeign: true });
  assert.deepEqual(names(graph.nodes()), ["child", "parent"]);
  foreign("again", [owner("parent")]);
  assert.deepEqual(names(graph.nodes()), ["again", "child", "parent"]);
});

test("objects of other servers whose metadata is none of an object take no room", () => {
  const { graph } = open();
  const long = "x".repeat(513);
  const strange: unknown[] = [null, [], { uid: "o" }, owner(long), owner("o", { name: long })];
  for (const one of strange) graph.observe(observe("a", [one as OwnerReference], { isForeign: true })); // another server may send anything
  graph.observe(observe("a", 5 as unknown as [], { isForeign: true }));
  graph.observe(observe(long, [owner("o")], { isForeign: true }));
  graph.observe(
    observe(
      "a",
      Array.from({ length: 101 }, (_, at) => owner(`o${at}`)),
      { isForeign: true },
    ),
  );
  assert.equal(graph.size, 0);
});
