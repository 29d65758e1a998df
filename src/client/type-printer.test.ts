/** Types of custom resources, by example. `test/client/types-of-definitions.test.ts` compiles them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DefinitionError, printTypes } from "./type-printer.ts";

const definition = (openAPIV3Schema: object, more: object = {}) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "boats.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "boats", kind: "Boat" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema } }],
    ...more,
  },
});

/** Returns the printed type of the field `field` of the spec. */
function typeOf(schema: object): string {
  const spec = { type: "object", properties: { field: schema } };
  const text = printTypes([definition({ type: "object", properties: { spec } })]);
  return /readonly field\??: ([^]*?);\n}/.exec(text)![1]!;
}

void test("a definition becomes an interface and a kind, with its descriptions", () => {
  const spec = {
    type: "object",
    description: "The wishes\nof the owner.",
    required: ["length"],
    properties: {
      length: { type: "integer", description: "In metres." },
      rig: { type: "string", enum: ["gaff", "marconi"] },
      berths: { type: "integer", default: 2 },
    },
  };
  const schema = {
    type: "object",
    description: "A vessel.",
    properties: { apiVersion: { type: "string" }, kind: { type: "string" }, metadata: { type: "object" }, spec },
  };
  assert.equal(
    printTypes([definition(schema)]),
    [
      "// Printed by `binnacle types`.",
      'import type { Kind, StoredObject } from "binnacle/client";',
      "",
      "/** A vessel. */",
      "export interface Boat extends StoredObject {",
      "  /**",
      "   * The wishes",
      "   * of the owner.",
      "   */",
      "  readonly spec?: BoatSpec;",
      "}",
      "",
      "/** A vessel. */",
      "export const Boat: Kind<Boat> = {",
      '  group: "example.com",',
      '  version: "v1",',
      '  kind: "Boat",',
      '  resource: "boats",',
      "  namespaced: true,",
      "};",
      "",
      "/**",
      " * The wishes",
      " * of the owner.",
      " */",
      "export interface BoatSpec {",
      "  /** In metres. */",
      "  readonly length: number;",
      '  readonly rig?: "gaff" | "marconi";',
      "  readonly berths: number;",
      "}",
      "",
    ].join("\n"),
  );
});

void test("each sort of schema has its type", () => {
  const cases: readonly [object, string][] = [
    [{ type: "string" }, "string"],
    [{ type: "boolean" }, "boolean"],
    [{ type: "number" }, "number"],
    [{ type: "string", nullable: true }, "string | null"],
    [{ type: "integer", enum: [1, 2] }, "1 | 2"],
    [{ "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] }, "number | string"],
    [{ type: "array", items: { type: "string" } }, "readonly string[]"],
    [{ type: "array", items: { type: "string", enum: ["a", "b"] } }, 'readonly ("a" | "b")[]'],
    [{ type: "array", items: { type: "array", items: { type: "number" } } }, "readonly (readonly number[])[]"],
    [{ type: "object" }, "Readonly<Record<string, unknown>>"],
    [{ type: "object", additionalProperties: { type: "integer" } }, "Readonly<Record<string, number>>"],
    [{ type: "object", "x-kubernetes-preserve-unknown-fields": true }, "Readonly<Record<string, unknown>>"],
    [{ "x-kubernetes-preserve-unknown-fields": true }, "unknown"],
    [{ type: "object", properties: { "a-b": { type: "string" } } }, '{\n    readonly "a-b"?: string;\n  }'],
    [
      { type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { a: { type: "string" } } },
      "{\n    readonly a?: string;\n    readonly [field: string]: unknown;\n  }",
    ],
    [
      { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
      "{\n    readonly apiVersion: string;\n    readonly kind: string;\n" +
        "    readonly metadata?: Readonly<Record<string, unknown>>;\n    readonly [field: string]: unknown;\n  }",
    ],
    [{ type: "wrong" }, "unknown"],
    [{ enum: [{ a: 1 }] }, "unknown"],
  ];
  for (const [schema, expected] of cases) assert.equal(typeOf(schema), expected, JSON.stringify(schema));
});

void test("every served version is there; the preferred one has the plain name, and names are not given twice", () => {
  const versions = ["v1beta1", "v2", "v1", "old"].map((name) => ({ name, served: name !== "v1", storage: false }));
  const other = definition({}, { group: "other.org", versions: [{ name: "v2", served: true }] });
  const text = printTypes([definition({}, { versions }), other], { library: "binnacle-client" });
  assert.deepEqual(
    [...text.matchAll(/export interface (\w+) /g)].map(([, name]) => name),
    ["Boat", "BoatV1beta1", "BoatOld", "BoatV2"],
  );
  assert.match(text, /from "binnacle-client"/);
});

void test("what is no definition is refused", () => {
  for (const wrong of [
    null,
    {},
    { kind: "CustomResourceDefinition", spec: {} },
    { kind: "Pod", metadata: { name: "a" } },
  ])
    assert.throws(() => printTypes([wrong]), DefinitionError);
});
