/**
 * Compares with the answers of a 1.32 server about schemas, values and updates, which are in `vectors/`, one JSON text
 * per line. If the server's order is random, findings are compared without order.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type FieldError, printFieldError } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { Schema } from "../schema.ts";
import {
  applyDefaults,
  checkEmbedded,
  checkListTypes,
  checkStructural,
  type JsonSchemaProps,
  prune,
  StructuralSchema,
  validateValue,
} from "../structural.ts";
import { formatCheck } from "./formats.ts";

function lines<T>(name: string): readonly T[] {
  const text = readFileSync(new URL(`./vectors/${name}.jsonl`, import.meta.url), "utf8");
  // The files have the form of the interfaces below.
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as T);
}

const textsOf = (findings: readonly FieldError[]): readonly string[] => findings.map(printFieldError).sort();

/** The built-in type, as far as the vectors need it. */
const metadata: Schema = {
  type: "object",
  name: "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
  fields: new Map([
    ["name", { schema: { type: "string" }, omitempty: true }],
    ["namespace", { schema: { type: "string" }, omitempty: true }],
    ["labels", { schema: { type: "map", items: { type: "string" } }, omitempty: true }],
    ["annotations", { schema: { type: "map", items: { type: "string" } }, omitempty: true }],
    ["finalizers", { schema: { type: "array", items: { type: "string" } }, omitempty: true }],
  ]),
};

interface SchemaVector {
  /** The schema of a field; `root` is that of the root. A vector has one of both. */
  readonly x?: JsonSchemaProps;
  readonly root?: JsonSchemaProps;
  readonly status?: boolean;
  readonly findings: readonly string[];
}

const object = (properties: Readonly<Record<string, JsonSchemaProps>>): JsonSchemaProps => ({
  type: "object",
  properties,
});

test("schemas are refused for the same reasons as by a 1.32 server [VER-70]", () => {
  const vectors = lines<SchemaVector>("schemas");
  assert.ok(vectors.length > 300);
  for (const vector of vectors) {
    const props = vector.root ?? object({ x: vector.x ?? {} });
    const path = vector.root === undefined ? FieldPath.root : FieldPath.of("root");
    const errors = checkStructural(props, path, { metadata, statusSubresource: vector.status === true });
    const texts = errors.map((finding) => printFieldError(finding).replace(/^properties\[x\]/, "x")).sort();
    assert.deepEqual(texts, vector.findings, JSON.stringify(props));
  }
});

interface ValueVector {
  readonly x: JsonSchemaProps;
  readonly cases: readonly {
    /** The value as JSON text. */
    readonly value: string;
    readonly findings?: readonly string[];
    /** The stored value, if it differs. */
    readonly result?: unknown;
    readonly gone?: boolean;
  }[];
}

/** Reads a value as a create does before the checks. */
function read(value: unknown, schema: StructuralSchema): unknown {
  return applyDefaults(prune(value, schema.node, { isResourceRoot: true }).value, schema.node);
}

function findingsOf(value: unknown, schema: StructuralSchema, old?: unknown): readonly string[] {
  return textsOf([
    ...validateValue(value, schema.node, old),
    ...checkEmbedded(value, schema.node),
    ...checkListTypes(value, schema.node, old),
  ]);
}

test("values are taken, changed and refused as by a 1.32 server [ERR-01] [SSA-29] [SSA-30]", () => {
  const vectors = lines<ValueVector>("values");
  let count = 0;
  for (const { x, cases } of vectors) {
    const schema = new StructuralSchema(object({ spec: object({ x }) }), metadata);
    for (const { value, findings, result, gone } of cases) {
      // The object was made with this form.
      const object = read({ spec: { x: exactly(value) } }, schema) as { spec: { x?: unknown } };
      const where = `${JSON.stringify(x)} ${value}`;
      assert.deepEqual(findingsOf(object, schema), findings ?? [], where);
      if (findings !== undefined) continue;
      assert.equal(Object.hasOwn(object.spec, "x"), gone !== true, where);
      if (gone !== true)
        assert.equal(
          formatValue(object.spec.x),
          result === undefined ? formatValue(exactly(value)) : formatValue(result),
          where,
        );
      count++;
    }
  }
  assert.ok(count > 100);
});

/** Returns the value of a JSON text. Integers beyond 2^53 and floats without a fraction stay exact. */
function exactly(text: string): unknown {
  const raw = JSON as unknown as { rawJSON(text: string): unknown }; // `rawJSON` is newer than the types
  const keep = (_: string, value: unknown, context?: { readonly source?: string }): unknown =>
    typeof value === "number" && context?.source !== undefined && context.source !== String(value)
      ? raw.rawJSON(context.source)
      : value;
  return JSON.parse(text, keep);
}

/** Returns the value as JSON with sorted keys, and with numbers as doubles. */
const formatValue = (value: unknown): string =>
  JSON.stringify(JSON.parse(JSON.stringify(value)), (_, item: unknown) => {
    if (typeof item !== "object" || item === null || Array.isArray(item)) return item;
    return Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)));
  });

interface FormatVector {
  readonly format: string;
  readonly right: readonly string[];
  readonly wrong: readonly string[];
}

/** MAC addresses without separators: the recorded server was built with a newer Go than the releases of 1.32. */
const newerGo: ReadonlySet<string> = new Set([
  "001122334455",
  "4111111111111111",
  "4111111111111112",
  "6011111111111117",
  "3530111333300000",
]);

test("formats take and refuse the same texts as a 1.32 server", () => {
  const vectors = lines<FormatVector>("formats");
  assert.ok(vectors.length > 20);
  for (const { format, right, wrong } of vectors) {
    const check = formatCheck(format);
    assert.ok(check !== undefined, format);
    for (const text of right) assert.ok(check(text) || (format === "mac" && newerGo.has(text)), `${format}: ${text}`);
    for (const text of wrong) assert.ok(!check(text), `${format}: not ${text}`);
  }
  for (const unknown of ["int32", "made-up", "uri-reference", "constructor"])
    assert.equal(formatCheck(unknown), undefined);
});

interface UpdateVector {
  /** The schema under which `old`, which was written under another schema, is updated. */
  readonly x: JsonSchemaProps;
  readonly old: unknown;
  readonly updates: readonly { readonly x: unknown; readonly findings: readonly string[] }[];
}

test("parts of an object that did not change may stay as they are", () => {
  const vectors = lines<UpdateVector>("ratcheting");
  let silent = 0;
  for (const { x, old, updates } of vectors) {
    const schema = new StructuralSchema(object({ x }), metadata);
    const before = read({ x: old }, schema);
    for (const update of updates) {
      const after = read({ x: update.x }, schema);
      assert.deepEqual(findingsOf(after, schema, before), update.findings, JSON.stringify([x, old, update.x]));
      if (findingsOf(after, schema).length > update.findings.length) silent++;
    }
  }
  assert.ok(silent > 20);
});
