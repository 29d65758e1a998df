/** Protobuf bodies of every built-in kind, each field of it set once, and the forms that only few types have. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadDefinitions } from "#api/definitions.ts";
import { decodeObject } from "#codec/object.ts";
import { decodeProtobuf } from "#codec/protobuf.ts";
import { apiVersionOf, type GroupVersionKind } from "#meta/group-version.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import type { Schema } from "#schema/schema.ts";
import { double, envelope, field, integer } from "../protobuf.ts";

const tables = loadDefinitions(kubernetesDomain);
const protobuf = "application/vnd.kubernetes.protobuf";

/** A value of a type in both forms. Types inside of themselves end at the second time. */
function sample(schema: Schema, number: number, seen: readonly Schema[]): [Buffer, unknown] | undefined {
  switch (schema.special) {
    case "time":
      return [field(number, integer(1, 1_700_000_000), integer(2, 5000)), "2023-11-14T22:13:20Z"];
    case "microTime":
      return [field(number, integer(1, 1_700_000_000), integer(2, 5000)), "2023-11-14T22:13:20.000005Z"];
    case "duration":
      return [field(number, integer(1, 90_000_000_000)), "90000000000ns"];
    case "quantity":
      return [field(number, field(1, "2Gi")), "2Gi"];
    case "intOrString":
      return [field(number, integer(1, 0), integer(2, 80), field(3, "")), 80];
    case "rawExtension":
    case "fieldsV1":
    case "json":
      return [field(number, field(1, '{"a":[1]}')), { a: [1] }];
    case "schemaOrBool":
      return [field(number, integer(1, 1)), true];
    case "schemaOrStringArray":
      return [field(number, field(2, "a"), field(2, "b")), ["a", "b"]];
    case "schemaOrArray":
      return [field(number, field(1, field(5, "string"))), { type: "string" }];
  }
  switch (schema.type) {
    case "string":
      return schema.format === "byte" ? [field(number, "bytes"), "Ynl0ZXM="] : [field(number, "text"), "text"];
    case "boolean":
      return [integer(number, 1), true];
    case "integer":
      return [integer(number, 300), 300];
    case "number":
      return [double(number, 0.5), 0.5];
    case "array": {
      const item = sample(schema.items!, number, seen);
      return item === undefined ? undefined : [Buffer.concat([item[0], item[0]]), [item[1], item[1]]];
    }
    case "map": {
      const inner = schema.items!.type === "array" ? sample(schema.items!, 1, seen) : undefined;
      const value: [Buffer, unknown] | undefined =
        inner === undefined ? sample(schema.items!, 2, seen) : [field(2, inner[0]), inner[1]];
      return value === undefined ? undefined : [field(number, field(1, "key"), value[0]), { key: value[1] }];
    }
    case "object": {
      if (seen.includes(schema)) return undefined;
      const [bytes, value] = object(schema, seen);
      return [field(number, ...bytes), value];
    }
    default:
      throw new Error(`no sample of ${schema.name}`);
  }
}

function object(schema: Schema, seen: readonly Schema[] = []): [Buffer[], Record<string, unknown>] {
  const parts: Buffer[] = [];
  const value: Record<string, unknown> = {};
  for (const [name, { schema: type, proto, protoIn = [] }] of schema.fields ?? []) {
    if (proto === undefined) continue;
    const found = sample(type, proto[0], [...seen, schema]);
    if (found === undefined) continue;
    parts.push(protoIn.reduceRight((inner, [number]) => field(number, inner), found[0]));
    value[name] = found[1];
  }
  return [parts, value];
}

test("every field of every built-in kind is read from protobuf [MEDIA-06, MEDIA-07, VER-13]", () => {
  assert.ok(tables.kinds.length > 70);
  for (const { group, version, kind, typeName } of tables.kinds) {
    const schema = tables.schema(typeName)!;
    const [bytes, value] = object(schema);
    assert.ok(Object.keys(value).length > 0, kind);
    const apiVersion = apiVersionOf({ group, version });
    const read = decodeProtobuf(envelope(apiVersion, kind, ...bytes), schema);
    assert.deepEqual(JSON.parse(JSON.stringify(read)), { apiVersion, kind, value }, `${apiVersion} ${kind}`);
  }
});

/** The object that fields of the spec are read to. */
function spec(gvk: GroupVersionKind, ...fields: readonly Buffer[]): unknown {
  const bytes = envelope(apiVersionOf(gvk), gvk.kind, field(1, field(1, "name")), field(2, ...fields));
  const schema = tables.schemaOf(gvk)!;
  return decodeObject({ bytes, mediaType: protobuf, schema, gvk, fieldValidation: "Strict" }).object["spec"];
}

test("a time with microseconds that happens to have none is a time", () => {
  const lease = { group: "coordination.k8s.io", version: "v1", kind: "Lease" };
  const renewed = (...time: readonly Buffer[]): unknown => spec(lease, field(4, ...time));
  assert.deepEqual(renewed(integer(1, 1_700_000_000), integer(2, 0)), { renewTime: "2023-11-14T22:13:20.000000Z" });
  assert.deepEqual(renewed(integer(1, 1_700_000_000)), { renewTime: "2023-11-14T22:13:20.000000Z" });
  assert.deepEqual(renewed(integer(1, 1_700_000_000), integer(2, 999_999_999)), {
    renewTime: "2023-11-14T22:13:20.999999Z",
  });
  assert.throws(() => renewed(integer(1, 1_700_000_000), integer(2, 1_000_000_000)), /time out of range/);
});

test("schemas of custom resources are read with all they may be: schema or list, schema or boolean, JSON", () => {
  const gvk = { group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition" };
  const text = field(5, "string");
  const property = (name: string, ...fields: readonly Buffer[]): Buffer =>
    field(29, field(1, name), field(2, ...fields));
  const schema = [
    field(5, "object"),
    property("list", field(5, "array"), field(24, field(1, text))),
    property("lists", field(24, field(2, text), field(2, field(5, "integer")))),
    property("map", field(30, integer(1, 1), field(2, text))),
    property("open", field(30, integer(1, 1))),
    property("closed", field(30, integer(1, 0))),
    property("default", field(8, field(1, '{"a":1.5,"b":null}')), field(20, field(1, '"x"'))),
    property("number", double(9, 2.5), integer(13, 3)),
  ];
  const version = field(7, field(1, "v1"), integer(2, 1), integer(3, 1), field(4, field(1, ...schema)));
  const { versions } = spec(gvk, field(1, "g.io"), version) as { versions: { schema: { openAPIV3Schema: object } }[] };
  assert.deepEqual(versions[0]!.schema.openAPIV3Schema, {
    type: "object",
    properties: {
      list: { type: "array", items: { type: "string" } },
      lists: { items: [{ type: "string" }, { type: "integer" }] },
      map: { additionalProperties: { type: "string" } },
      open: { additionalProperties: true },
      closed: { additionalProperties: false },
      default: { default: { a: 1.5, b: null }, enum: ["x"] },
      number: { maximum: 2.5, maxLength: 3 },
    },
  });
});

test("schemas nested deeply are read, and beyond that refused", () => {
  const gvk = { group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition" };
  const nested = (depth: number): unknown => {
    let schema = field(5, "string");
    for (let i = 0; i < depth; i++) schema = field(24, field(1, schema));
    return spec(gvk, field(7, field(4, field(1, schema))));
  };
  assert.ok(nested(120));
  assert.throws(() => nested(1000), /exceeded max depth/);
});
