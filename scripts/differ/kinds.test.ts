/**
 * Cases of `npm run differ -- --pods` and `--workloads`: the same seed gives the same case, valid objects are valid,
 * and edits stay within the types.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kindUnderTest } from "#kinds/kind-for-tests.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { applyEdit } from "./edits.ts";
import { kindCase, type KindCase, kindSets } from "./kinds.ts";
import { asReceived } from "./compared-kind.ts";
import type { Json } from "./servers.ts";

const seeds = Array.from({ length: 60 }, (_, seed) => seed);

function underTest({ kind, bodies }: KindCase) {
  const { apiVersion = "", kind: name } = bodies.at(-1) as Record<string, string>; // each body has both
  const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  return { kind, known: kindUnderTest({ group: group!, version: version!, kind: name! }) };
}

void test("a seed gives the same case each time", () => {
  for (const set of kindSets) {
    const [one, again] = [kindCase(set, 7), kindCase(set, 7)];
    assert.deepEqual(one.bodies, again.bodies);
    const stored = one.bodies.at(-1)!;
    for (const [at, change] of one.changes.entries())
      assert.deepEqual(change.edits(stored), again.changes[at]!.edits(stored));
    assert.notDeepEqual(one.bodies, kindCase(set, 8).bodies);
  }
});

void test("the last body of a case is right, and many of the others are refused", async () => {
  for (const set of kindSets) {
    let refused = 0;
    for (const seed of seeds) {
      const { bodies, ...rest } = kindCase(set, seed);
      const { known: kindRules } = underTest({ bodies, ...rest });
      await kindRules.loadRules(asReceived(bodies.at(-1)!));
      const errors = bodies.map((body) => kindRules.refuseCreate(asReceived(body)));
      assert.deepEqual(errors.at(-1), [], `${set} ${seed}`);
      refused += errors.filter((findings) => findings.length > 0).length;
    }
    assert.ok(refused >= seeds.length / 2, `${set}: ${refused}`);
  }
});

void test("edits stay within the type, and change what they name", () => {
  for (const set of kindSets) {
    for (const seed of seeds) {
      const { bodies, changes, kind } = kindCase(set, seed);
      const { known: kindRules } = underTest({ bodies, changes, kind });
      const stored = bodies.at(-1)!;
      for (const { edits } of changes) {
        for (const edit of edits(stored)) kindRules.decode(applyEdit(stored, edit) as Unstructured); // throws if the type differs
      }
    }
  }
  const object: Json = { a: [{ b: 1 }, { b: 2 }] };
  assert.deepEqual(applyEdit(object, { path: ["a", 1, "b"], value: 3 }), { a: [{ b: 1 }, { b: 3 }] });
  assert.deepEqual(applyEdit(object, { path: ["a", 0], value: undefined }), { a: [{ b: 2 }] });
  assert.deepEqual(applyEdit(object, { path: ["a", 2], value: { b: 4 } }), { a: [{ b: 1 }, { b: 2 }, { b: 4 }] });
  assert.deepEqual(applyEdit(object, { path: ["c", "d"], value: 1 }), object);
});
