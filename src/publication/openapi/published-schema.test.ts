/** Tests published schemas; every row was recorded from a 1.32 server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type EmbeddedFields, isOpen, type MutableJson, publishedSchema } from "./published-schema.ts";

const embedded: EmbeddedFields = {
  properties: { apiVersion: { type: "string" }, kind: { type: "string" }, metadata: { type: "object" } },
  required: ["kind", "apiVersion"],
};

const same = "as before";

/** Each row has the author's schema, and its forms in version 3 and version 2. */
const rows: readonly (readonly [
  name: string,
  props: MutableJson,
  v3: MutableJson | typeof same,
  v2: MutableJson | typeof same,
])[] = [
  [
    "size",
    {
      type: "integer",
      format: "int32",
      minimum: 0,
      maximum: 10,
      exclusiveMaximum: true,
      default: 4,
      description: "How many.",
      title: "T",
      multipleOf: 2,
    },
    same,
    {
      description: "How many.",
      type: "integer",
      format: "int32",
      title: "T",
      maximum: 10,
      exclusiveMaximum: true,
      minimum: 0,
      multipleOf: 2,
    },
  ],
  [
    "name",
    { type: "string", pattern: "^[a-z]+$", maxLength: 10, minLength: 0, enum: ["a", "b"], default: "a" },
    same,
    { type: "string", maxLength: 10, minLength: 0, pattern: "^[a-z]+$", enum: ["a", "b"] },
  ],
  [
    "port",
    { "x-kubernetes-int-or-string": true, description: "p", default: "x" },
    {
      description: "p",
      default: "x",
      anyOf: [{ type: "integer" }, { type: "string" }],
      "x-kubernetes-int-or-string": true,
    },
    { description: "p", "x-kubernetes-int-or-string": true },
  ],
  [
    "port2",
    { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }], pattern: "^a" },
    same,
    { pattern: "^a", "x-kubernetes-int-or-string": true },
  ],
  [
    "port3",
    { "x-kubernetes-int-or-string": true, anyOf: [{ pattern: "a" }, { pattern: "b" }], allOf: [{ pattern: "c" }] },
    {
      allOf: [{ anyOf: [{ type: "integer" }, { type: "string" }] }, { pattern: "c" }],
      anyOf: [{ pattern: "a" }, { pattern: "b" }],
      "x-kubernetes-int-or-string": true,
    },
    { "x-kubernetes-int-or-string": true },
  ],
  [
    "port4",
    {
      "x-kubernetes-int-or-string": true,
      allOf: [{ anyOf: [{ type: "integer" }, { type: "string" }], pattern: "x" }, { pattern: "c" }],
      anyOf: [{ pattern: "q" }],
    },
    same,
    { "x-kubernetes-int-or-string": true },
  ],
  [
    "tags",
    { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set", maxItems: 3, minItems: 1 },
    same,
    same,
  ],
  [
    "list",
    {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
      items: {
        type: "object",
        properties: { k: { type: "string" }, v: { type: "number", default: 1.5 } },
        required: ["k"],
        default: { k: "z" },
      },
    },
    same,
    {
      type: "array",
      items: { type: "object", required: ["k"], properties: { k: { type: "string" }, v: { type: "number" } } },
      "x-kubernetes-list-map-keys": ["k"],
      "x-kubernetes-list-type": "map",
    },
  ],
  [
    "labels",
    {
      type: "object",
      additionalProperties: { type: "string", nullable: true },
      required: ["q"],
      maxProperties: 3,
      minProperties: 1,
    },
    same,
    { type: "object", maxProperties: 3, minProperties: 1, additionalProperties: {} },
  ],
  [
    "free",
    {
      type: "object",
      "x-kubernetes-preserve-unknown-fields": true,
      description: "free",
      properties: { a: { type: "string" } },
    },
    same,
    { description: "free", "x-kubernetes-preserve-unknown-fields": true },
  ],
  ["freearr", { type: "array", items: { "x-kubernetes-preserve-unknown-fields": true } }, same, same],
  ["freeany", { "x-kubernetes-preserve-unknown-fields": true }, same, same],
  [
    "none",
    { type: "string", nullable: true, description: "n", maxLength: 3 },
    same,
    { description: "n", maxLength: 3 },
  ],
  [
    "nulobj",
    { type: "object", properties: { a: { type: "string" } }, nullable: true, required: ["a"] },
    same,
    { required: ["a"] },
  ],
  ["nularr", { type: "array", items: { type: "string" }, nullable: true }, same, {}],
  [
    "nulmap",
    { type: "object", additionalProperties: { type: "integer" }, nullable: true },
    same,
    { additionalProperties: { type: "integer" } },
  ],
  [
    "one",
    {
      type: "object",
      properties: { a: { type: "string" }, b: { type: "string", default: "q" } },
      oneOf: [{ required: ["a"] }, { required: ["b"] }],
      anyOf: [{ properties: { a: { pattern: "x", enum: ["1"] } } }],
      allOf: [{ properties: { b: { minLength: 1 } }, maxProperties: 2 }],
      not: { required: ["c"], properties: { a: { items: {} } } },
    },
    same,
    { type: "object", properties: { a: { type: "string" }, b: { type: "string" } } },
  ],
  ["rule", { type: "integer", "x-kubernetes-validations": [{ rule: "self > 0", message: "positive" }] }, same, same],
  ["amap", { type: "object", properties: { x: { type: "string" } }, "x-kubernetes-map-type": "atomic" }, same, same],
  [
    "atom",
    { type: "array", items: { type: "integer", format: "int64" }, "x-kubernetes-list-type": "atomic" },
    same,
    same,
  ],
  [
    "ext",
    { type: "string", externalDocs: { url: "http://x", description: "d" }, example: "ex" },
    { type: "string" },
    same,
  ],
  [
    "unq",
    { type: "array", items: { type: "string" }, uniqueItems: false },
    { type: "array", items: { type: "string" } },
    same,
  ],
  ["bytes", { type: "string", format: "byte" }, same, same],
  ["emptyp", { type: "object", properties: {} }, { type: "object" }, same],
  [
    "req",
    {
      type: "object",
      properties: { n: { type: "string", nullable: true }, m: { type: "string" } },
      required: ["n", "m"],
    },
    same,
    { type: "object", required: ["m"], properties: { m: { type: "string" }, n: {} } },
  ],
  [
    "req2",
    { type: "object", properties: { n: { type: "string", nullable: true } }, required: ["n"] },
    same,
    { type: "object", properties: { n: {} } },
  ],
  [
    "dd",
    { type: "object", properties: { x: { type: "integer", default: 1 } }, default: {} },
    same,
    { type: "object", properties: { x: { type: "integer" } } },
  ],
  ["big", { type: "integer", maximum: 9007199254740992, minimum: -1.5 }, same, same],
];

test("version 3 shows what the author wrote, version 2 what its readers understand [SSA-29]", () => {
  for (const [name, props, third, second] of rows) {
    const v3 = third === same ? props : third;
    assert.deepEqual(publishedSchema(props, 3, embedded), v3, `${name} in version 3`);
    assert.deepEqual(publishedSchema(props, 2, embedded), second === same ? v3 : second, `${name} in version 2`);
  }
});

test("whole objects inside of others get the fields every object has", () => {
  const props = {
    type: "object",
    "x-kubernetes-embedded-resource": true,
    required: ["kind", "spec"],
    properties: { spec: { type: "object" }, kind: { type: "string", description: "Mine." } },
  };
  for (const version of [2, 3] as const) {
    assert.deepEqual(publishedSchema(props, version, embedded), {
      ...props,
      required: ["kind", "spec", "apiVersion"],
      properties: { spec: { type: "object" }, ...embedded.properties },
    });
  }
  const open = { ...props, "x-kubernetes-preserve-unknown-fields": true };
  assert.deepEqual(publishedSchema(open, 2, embedded), {
    "x-kubernetes-embedded-resource": true,
    "x-kubernetes-preserve-unknown-fields": true,
    required: ["kind", "spec"],
  });
  assert.equal(isOpen(open), true);
  assert.equal(isOpen(props), false);
});

test("names of prototypes are ordinary properties", () => {
  const props = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}',
  ) as MutableJson;
  for (const version of [2, 3] as const) {
    assert.equal(
      JSON.stringify(sortEntries(publishedSchema(props, version, embedded))),
      JSON.stringify(sortEntries(props)),
    );
  }
});

const sortEntries = (value: MutableJson): readonly [string, unknown][] =>
  Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
