/** Options by schemas that are usual, and by schemas that are hostile. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldOptions } from "./field-options.ts";
import { type FieldSchema, type FieldStep, type KindSchema, resolved, schemaAt, typeText } from "./field-schema.ts";

const schemas: KindSchema["schemas"] = {
  Spec: {
    type: "object",
    required: ["replicas"],
    properties: {
      paused: { type: "boolean" },
      policy: { type: "string", enum: ["Always", "Never", "on", "a: b", ""], default: "Always", description: "When." },
      ports: { type: "array", items: { allOf: [{ $ref: "#/components/schemas/Port" }], default: {} } },
      replicas: { type: "integer", format: "int32", default: 1 },
      labels: { type: "object", additionalProperties: { type: "string", enum: ["x"] } },
    },
  },
  Port: { type: "object", description: "A port.", properties: { port: { "x-kubernetes-int-or-string": true } } },
  Tree: {
    type: "object",
    properties: {
      child: { $ref: "#/components/schemas/Tree" },
      list: { items: { $ref: "#/components/schemas/Tree" } },
    },
  },
  Circle: { $ref: "#/components/schemas/Circle" },
};

const kind: KindSchema = {
  schema: { type: "object", properties: { spec: { allOf: [{ $ref: "#/components/schemas/Spec" }] } } },
  schemas,
};

/** Reads a way: `spec.ports.[]`. */
const wayOf = (text: string): readonly FieldStep[] =>
  text === "" ? [] : text.split(".").map((part) => (part === "[]" ? "item" : { member: part }));

const options = (way: string, word = "", over: { isValue?: boolean; siblings?: string[]; kind?: KindSchema } = {}) =>
  fieldOptions(over.kind ?? kind, {
    way: wayOf(way),
    word,
    isValue: over.isValue ?? false,
    column: 2,
    siblings: new Set(over.siblings),
  });

const texts = (...args: Parameters<typeof options>): readonly string[] => options(...args).map(({ text }) => text);

test("names come with what stands before their value, the required ones first, and none twice", () => {
  assert.deepEqual(texts("spec"), ["replicas: ", "paused: ", "policy: ", "ports:\n  - ", "labels:\n    "]);
  assert.deepEqual(texts("spec", "P", { siblings: ["paused"] }), ["policy: ", "ports:\n  - "]);
  assert.deepEqual(texts("spec.ports.[]"), ["port: "]);
  assert.deepEqual(texts("spec.labels"), []);
  assert.deepEqual(texts("spec.none.more"), []);
  const [replicas] = options("spec", "rep");
  assert.equal(replicas?.detail, "integer (int32), required");
});

test("values are those of the schema, in quotes where YAML would take them for something else", () => {
  assert.deepEqual(texts("spec.policy", "", { isValue: true }), ["Always", "Never", '"on"', '"a: b"']);
  assert.equal(options("spec.policy", "A", { isValue: true })[0]?.detail, "default");
  assert.equal(options("spec.policy", "A", { isValue: true })[0]?.description, "When.");
  assert.deepEqual(texts("spec.paused", "t", { isValue: true }), ["true"]);
  assert.deepEqual(texts("spec.replicas", "", { isValue: true }), ["1"]);
  assert.deepEqual(texts("spec.labels.any", "", { isValue: true }), ["x"]);
});

test("schemas that refer to themselves, to nothing, or in a circle end", () => {
  const tree: KindSchema = { schema: schemas["Tree"]!, schemas };
  assert.deepEqual(texts(Array.from({ length: 500 }, () => "child").join("."), "", { kind: tree }), [
    "child:\n    ",
    "list:\n  - ",
  ]);
  assert.deepEqual(resolved(schemas["Circle"]!, schemas), {});
  assert.deepEqual(resolved({ $ref: "#/components/schemas/constructor" }, schemas), {});
  assert.equal(schemaAt(tree, [{ member: "constructor" }]), undefined);
  const endless: FieldSchema = { items: { $ref: "#/components/schemas/Endless" } };
  assert.match(typeText(endless, { Endless: endless }), /^(?:list of ){17}any$/);
});

test("of a huge schema some options are made, with texts that are cut, and odd names in quotes", () => {
  const properties = Object.fromEntries(
    Array.from({ length: 50_000 }, (_, i) => [
      `field-${i}`,
      { type: "string", description: "<b>x</b>".repeat(50_000) },
    ]),
  );
  const huge: KindSchema = { schema: { properties }, schemas: {} };
  const found = options("", "field", { kind: huge });
  assert.equal(found.length, 300);
  assert.ok(found.every(({ description }) => description.length < 1100));
  assert.deepEqual(texts("", "", { kind: { schema: { properties: { "a\u202eb": {} } }, schemas: {} } }), [
    '"a\\u202eb": ',
  ]);
  const values = options("", "", {
    isValue: true,
    kind: { schema: { enum: ["x".repeat(5000), {}, null] }, schemas: {} },
  });
  assert.deepEqual([values.length, values[0]?.label.length], [1, 202]);
});
