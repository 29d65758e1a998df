/** Fields that several managers keep on changing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { masked } from "#meta/masked-secret.ts";
import type { PastItem } from "#meta/past-item.ts";
import { type Fight, fightsOf } from "./fights.ts";

const fightsIn = (items: readonly PastItem[]): readonly Fight[] => fightsOf(items, (object) => object);

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
  assert.deepStrictEqual(fightsIn(items), [
    { path: "spec.n", managers: ["b", "a"], changes: 3, values: [2, 1], since: "2026-01-01T00:00:01Z" },
  ]);
});

test("changes by one manager, and one change by each, are no fight", () => {
  assert.deepStrictEqual(fightsIn(versions(["a", { n: 1 }], ["a", { n: 2 }], ["a", { n: 3 }], ["a", { n: 4 }])), []);
  assert.deepStrictEqual(fightsIn(versions(["a", { n: 1 }], ["a", { n: 2 }], ["b", { n: 3 }])), []);
});

test("items of lists of one length are fields of their own", () => {
  const list = (image: string): object => ({ containers: [{ name: "app", image }] });
  const [fight] = fightsIn(versions(["a", list("1")], ["b", list("2")], ["a", list("3")], ["b", list("2")]));
  assert.equal(fight?.path, "spec.containers[0].image");
});

test("a version before a deletion is not compared with the one after it", () => {
  const items = versions(["a", { n: 1 }], ["b", { n: 2 }], ["a", { n: 1 }], ["b", { n: 2 }]);
  assert.deepStrictEqual(fightsIn(items.map((item, at) => ({ ...item, uid: String(at) }))), []);
});

test("values that differ are counted as such where all of them are masked", () => {
  const secrets = versions(["a", {}], ["b", {}], ["a", {}], ["b", {}]).map((item, at) => ({
    ...item,
    object: { ...item.object!, apiVersion: "v1", kind: "Secret", data: { password: String(at % 2) } },
  }));
  const [fight] = fightsOf(secrets, (object) => masked(undefined, object)[1]!);
  assert.deepStrictEqual([fight?.path, fight?.values], ["data.password", ["***", "***"]]);
});

test("a whole map that appears is masked, and so is the copy that kubectl keeps", () => {
  const secret = (item: PastItem, at: number): PastItem => {
    const annotations = { "kubectl.kubernetes.io/last-applied-configuration": `hunter2-${at}` };
    const values = at % 2 === 0 ? { data: { password: "hunter2" } } : {};
    const { metadata } = item.object!;
    const object = { metadata: { ...metadata, annotations }, apiVersion: "v1", kind: "Secret", ...values };
    return { ...item, object };
  };
  const secrets = versions(["a", {}], ["b", {}], ["a", {}], ["b", {}]).map(secret);
  const fights = fightsOf(secrets, (object) => masked(undefined, object)[1]!);
  assert.deepStrictEqual(
    fights.map(({ path }) => path),
    ['metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]', "data"],
  );
  assert.doesNotMatch(JSON.stringify(fights), /hunter2/);
});
