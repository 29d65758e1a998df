/** Protobuf bodies of every built-in kind, each field set once, and the rare forms. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadDefinitions } from "#api/definitions.ts";
import { decodeObject } from "#codec/object.ts";
import { protobufBodies } from "#codec/protobuf-encoding.ts";
import { decodeProtobuf } from "#codec/protobuf.ts";
import { apiVersionOf, type GroupVersionKind } from "#meta/group-version.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { double, envelope, field, integer } from "../protobuf.ts";
import { sampleObjects } from "./sample-objects.ts";

const tables = loadDefinitions(kubernetesDomain);

test("every field of every built-in kind is read from protobuf [MEDIA-06, MEDIA-07, VER-13]", () => {
  const samples = sampleObjects(tables);
  assert.ok(samples.length > 70);
  for (const { gvk, schema, object, protobuf: bytes } of samples) {
    const { apiVersion, kind, ...value } = object;
    assert.ok(Object.keys(value).length > 0, gvk.kind);
    const read = decodeProtobuf(bytes, schema);
    assert.deepEqual(JSON.parse(JSON.stringify(read)), { apiVersion, kind, value }, `${gvk.group} ${gvk.kind}`);
  }
});

/** Returns the object that is decoded from fields of the spec. */
function spec(gvk: GroupVersionKind, ...fields: readonly Buffer[]): unknown {
  const bytes = envelope(apiVersionOf(gvk), gvk.kind, field(1, field(1, "name")), field(2, ...fields));
  const schema = tables.schemaOf(gvk)!;
  return decodeObject({ bytes, encoding: protobufBodies, schema, gvk, fieldValidation: "Strict" }).object["spec"];
}

test("a time with microseconds that happens to have none is a time", () => {
  const lease = { group: "coordination.k8s.io", version: "v1", kind: "Lease" };
  const leaseRenewedAt = (...time: readonly Buffer[]): unknown => spec(lease, field(4, ...time));
  assert.deepEqual(leaseRenewedAt(integer(1, 1_700_000_000), integer(2, 0)), {
    renewTime: "2023-11-14T22:13:20.000000Z",
  });
  assert.deepEqual(leaseRenewedAt(integer(1, 1_700_000_000)), { renewTime: "2023-11-14T22:13:20.000000Z" });
  assert.deepEqual(leaseRenewedAt(integer(1, 1_700_000_000), integer(2, 999_999_999)), {
    renewTime: "2023-11-14T22:13:20.999999Z",
  });
  assert.deepEqual(leaseRenewedAt(integer(1, 1_700_000_000), integer(2, 1_000_000_000)), {
    renewTime: "2023-11-14T22:13:21.000000Z",
  });
  const minusThousand = Buffer.from([2 * 8, 0x98, 0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
  assert.deepEqual(leaseRenewedAt(integer(1, 1_700_000_000), minusThousand), {
    renewTime: "2023-11-14T22:13:19.999999Z",
  });
  assert.throws(() => leaseRenewedAt(integer(1, 253_402_300_800)), /time out of range/);
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
  const nest = (depth: number): unknown => {
    let schema = field(5, "string");
    for (let i = 0; i < depth; i++) schema = field(24, field(1, schema));
    return spec(gvk, field(7, field(4, field(1, schema))));
  };
  assert.ok(nest(120));
  assert.throws(() => nest(1000), /exceeded max depth/);
});
