/** Fields that several managers keep on changing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PastItem } from "#meta/past-item.ts";
import { fightsOf } from "./fights.ts";

/** Returns the versions of an object, newest first, of changes in their order: the manager and the specification. */
const versions = (...changes: readonly (readonly [manager: string, spec: object])[]): readonly PastItem[] =>
  changes
    .map(
      ([manager, spec], at): PastItem => ({
        resourceVersion: String(at + 1),
        event: at === 0 ? "created" : "updated",
        uid: "u",
        time: `2026-01-01T00:00:0${at}Z`,
        timeSource: "managedFields",
        manager,
        operation: "Update",
        object: { metadata: { name: "a", uid: "u", resourceVersion: String(at + 1) }, spec } as PastItem["object"] &
          object,
      }),
    )
    .reverse();

test("a field that one manager takes back from another is fought over", () => {
  const items = versions(["a", { n: 1, m: 1 }], ["b", { n: 2, m: 1 }], ["a", { n: 1, m: 1 }], ["b", { n: 2, m: 2 }]);
  assert.deepStrictEqual(fightsOf(items), [
    { path: "spec.n", managers: ["b", "a"], changes: 3, values: [2, 1], since: "2026-01-01T00:00:01Z" },
  ]);
});

test("changes by one manager, and one change by each, are no fight", () => {
  assert.deepStrictEqual(fightsOf(versions(["a", { n: 1 }], ["a", { n: 2 }], ["a", { n: 3 }], ["a", { n: 4 }])), []);
  assert.deepStrictEqual(fightsOf(versions(["a", { n: 1 }], ["a", { n: 2 }], ["b", { n: 3 }])), []);
});

test("items of lists of one length are fields of their own", () => {
  const list = (image: string): object => ({ containers: [{ name: "app", image }] });
  const [fight] = fightsOf(versions(["a", list("1")], ["b", list("2")], ["a", list("3")], ["b", list("2")]));
  assert.equal(fight?.path, "spec.containers[0].image");
});

test("a version before a deletion is not compared with the one after it", () => {
  const items = versions(["a", { n: 1 }], ["b", { n: 2 }], ["a", { n: 1 }], ["b", { n: 2 }]);
  assert.deepStrictEqual(fightsOf(items.map((item, at) => ({ ...item, uid: String(at) }))), []);
});
