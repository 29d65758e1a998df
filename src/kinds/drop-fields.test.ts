/** Dropping fields by tables that were made for the tests. Objects without such fields are not copied. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { type DropFields, dropFields, type GatedFields } from "./drop-fields.ts";

const object = (spec: object): Unstructured => ({ metadata: { name: "a" }, spec });

function makeDropFields(fields: GatedFields, on: readonly string[] = []): DropFields {
  const drop = dropFields([{ at: "spec", fields: [fields] }], "update", (gate) => on.includes(gate));
  assert.ok(drop !== undefined);
  return drop;
}

const list: GatedFields = { gates: ["Lists"], paths: ["items.*.size", "size"], usedAt: ["items.*.size"] };

test("fields go from lists and from objects, and what is not touched is shared", () => {
  const drop = makeDropFields(list);
  const given = object({ size: 1, items: [{ size: 2, name: "a" }, { name: "b" }], other: {} });
  const left = drop(given, undefined);
  assert.deepEqual(left, object({ items: [{ name: "a" }, { name: "b" }], other: {} }));
  const [before, after] = [given, left].map(({ spec }) => spec as { items: object[]; other: object });
  assert.equal(after!.items[1], before!.items[1]);
  assert.equal(after!.other, before!.other);
});

test("an object without the fields is the same object", () => {
  const drop = makeDropFields(list);
  for (const given of [
    object({}),
    object({ items: [] }),
    object({ items: [{ name: "a" }] }),
    object({ items: null }),
  ]) {
    assert.equal(drop(given, given), given);
  }
  const bare: Unstructured = { metadata: {} };
  assert.equal(drop(bare, undefined), bare);
});

test("use in one place keeps the fields in all of them", () => {
  const drop = makeDropFields(list);
  const given = object({ size: 1, items: [{ size: 2 }] });
  assert.equal(drop(given, object({ items: [{}, { size: 3 }] })), given);
  assert.deepEqual(drop(given, object({ size: 3 })), object({ items: [{}] }));
  const strict = makeDropFields({ ...list, usedAt: [] });
  assert.deepEqual(strict(given, given), object({ items: [{}] }));
});

test("some values are no use, and some fields become another value", () => {
  const drop = makeDropFields({
    gates: ["Modes"],
    paths: ["mode"],
    isUse: (mode) => mode !== "Default",
    becomes: () => "Default",
  });
  const fast = object({ mode: "Fast" });
  assert.deepEqual(drop(fast, object({ mode: "Default" })), object({ mode: "Default" }));
  assert.equal(drop(fast, object({ mode: "Slow" })), fast);
  const plain = object({ mode: "Default" });
  assert.equal(drop(plain, undefined), plain);
});

test("a gate that is on, of several, keeps the fields; so does a write that they do not mind", () => {
  const fields: GatedFields = { gates: ["One", "Other"], paths: ["size"], on: ["create"] };
  const gatedFields = [{ at: "spec", fields: [fields] }];
  assert.equal(
    dropFields(gatedFields, "create", (gate) => gate === "Other"),
    undefined,
  );
  assert.equal(
    dropFields(gatedFields, "update", () => false),
    undefined,
  );
  assert.equal(
    dropFields(gatedFields, "status", () => false),
    undefined,
  );
  assert.deepEqual(dropFields(gatedFields, "create", () => false)?.(object({ size: 1 }), undefined), object({}));
});
