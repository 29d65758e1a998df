/** Tests of the lines of YAML: they are read back as the same values, and show what is not seen. */
import assert from "node:assert";
import { test } from "node:test";
import fc from "fast-check";
import { load } from "js-yaml";
import { FieldOwners } from "#meta/field-owners.ts";
import { yamlLines, yamlText } from "./yaml-lines.ts";

const nobody = FieldOwners.of([]);
const textOf = (value: unknown): string => yamlText(yamlLines(value, nobody));

test("what is printed is read back as the same values", () => {
  const special = fc.constantFrom(
    "yes",
    "0x1f",
    "1e3",
    "2026-01-01",
    "a: b",
    "- a",
    "#a",
    "a\nb\n",
    " a\nb",
    "a\n\n",
    "\u202ea",
    "~",
    "a:",
  );
  const text = fc.oneof(special, fc.string(), fc.string({ unit: "grapheme" }));
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: "small" },
      text,
      fc.boolean(),
      fc.constant(null),
      fc.integer(),
      tie("list"),
      tie("object"),
    ),
    list: fc.array(tie("any")),
    object: fc.dictionary(text, tie("any")),
  })).object;
  fc.assert(
    fc.property(value, (one) => assert.deepEqual(load(textOf({ a: one })), { a: one })),
    { numRuns: 300 },
  );
});

test("characters that are not seen are escapes, also in texts of several lines and in keys", () => {
  const text = textOf({ "a\u202eb": "x\n\u2066y\n", c: "\u{e0041}" });
  assert.strictEqual(text, '"a\\u202eb": "x\\n\\u2066y\\n"\nc: "\\U000e0041"\n');
});

test("lines of several lines are blocks, and items of lists stand at their key", () => {
  assert.strictEqual(textOf({ a: [{ b: "x\ny\n", c: [] }, 1] }), "a:\n- b: |\n    x\n    y\n  c: []\n- 1\n");
});

test("each line has the managers of its field, and an item that of its first line", () => {
  const entry = {
    manager: "me",
    fieldsV1: { "f:spec": { "f:list": { 'k:{"name":"a"}': { ".": {}, "f:image": {} } }, "f:size": {} } },
  };
  const lines = yamlLines({ spec: { list: [{ image: "x", name: "a" }], size: 1 } }, FieldOwners.of([entry]));
  assert.deepStrictEqual(
    lines.map(({ text, path, managers }) => [text, path, managers.length]),
    [
      ["spec:", "spec", 0],
      ["  list:", "spec.list", 0],
      ["  - image: x", "spec.list[0].image", 1],
      ["    name: a", "spec.list[0].name", 0],
      ["  size: 1", "spec.size", 1],
    ],
  );
});
