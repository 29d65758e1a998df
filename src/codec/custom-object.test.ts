/** Tests bodies of custom resources: pruning, warnings, and invalid objects. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { StatusError } from "#meta/status-error.ts";
import { ByteBudget } from "#schema/json-values.ts";
import { StructuralSchema, type JsonSchemaProps } from "#schema/structural.ts";
import type { Schema } from "#schema/schema.ts";
import { jsonEncoding } from "./json-encoding.ts";
import { yamlEncoding } from "./yaml-encoding.ts";
import { type CustomType, decodeCustom, decodePatchedCustom, reshape, reshapeConverted } from "./custom-object.ts";
import type { FieldValidation } from "./object.ts";

const text: Schema = { type: "string" };
const metadata: Schema = {
  type: "object",
  name: "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
  fields: new Map([
    ["name", { schema: text, omitempty: true }],
    ["labels", { schema: { type: "map", items: text }, omitempty: true }],
  ]),
};

const props: JsonSchemaProps = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        a: { type: "string" },
        n: { type: "integer" },
        d: { type: "string", default: "D" },
        template: {
          type: "object",
          "x-kubernetes-embedded-resource": true,
          "x-kubernetes-preserve-unknown-fields": true,
        },
        before: {
          type: "object",
          "x-kubernetes-embedded-resource": true,
          "x-kubernetes-preserve-unknown-fields": true,
        },
        byName: {
          type: "object",
          additionalProperties: {
            type: "object",
            "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true,
          },
        },
      },
    },
  },
};

const type: CustomType = { structural: new StructuralSchema(props, metadata), metadata };
const gvk = { group: "example.com", version: "v1", kind: "Widget" };

const room = (): ByteBudget => new ByteBudget(100, () => new Error("no room"));

const decode = (body: string, fieldValidation: FieldValidation = "Warn", encoding = jsonEncoding) =>
  decodeCustom({ bytes: Buffer.from(body), encoding, type, gvk, fieldValidation, room: room() });

const body = (rest: string): string => `{"apiVersion":"example.com/v1","kind":"Widget"${rest}}`;

function refusalOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof StatusError) return `${error.status.code} ${error.status.message}`;
    throw error;
  }
  throw new Error("nothing was thrown");
}

test("unknown fields are dropped and reported, those of metadata first [FV-02]", () => {
  const { object, warnings } = decode(body(',"metadata":{"name":"x","odd":1},"spec":{"z":1,"a":"1","a":"2"},"q":1'));
  assert.deepEqual(object, {
    kind: "Widget",
    apiVersion: "example.com/v1",
    metadata: { name: "x" },
    spec: { a: "2", d: "D" },
  });
  assert.deepEqual(warnings, [
    'duplicate field "spec.a"',
    'unknown field "metadata.odd"',
    'unknown field "q"',
    'unknown field "spec.z"',
  ]);
  assert.deepEqual(decode(body(',"spec":{"z":1}'), "Ignore").warnings, []);
});

test("a strict decoder refuses unknown fields [FV-03]", () => {
  assert.equal(
    refusalOf(() => decode(body(',"spec":{"z":1}'), "Strict")),
    '400 Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.z"',
  );
});

test("a body must say the kind and version that are meant [ERR-02]", () => {
  const at = "the API version in the data";
  assert.equal(
    refusalOf(() => decode('{"kind":"Widget"}')),
    `400 ${at} () does not match the expected API version (example.com/v1)`,
  );
  assert.equal(
    refusalOf(() => decode('{"apiVersion":"example.com/v2","kind":"Widget"}')),
    `400 ${at} (example.com/v2) does not match the expected API version (example.com/v1)`,
  );
  assert.equal(
    refusalOf(() => decode('{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"c"}}')),
    '422 Gadget.example.com "c" is invalid: kind: Invalid value: "Gadget": must be Widget',
  );
  assert.match(
    refusalOf(() => decode('{"apiVersion":"example.com/v1"}')),
    /Object 'Kind' is missing in/,
  );
  assert.match(
    refusalOf(() => decode("[1]")),
    /^400 the object provided is unrecognized/,
  );
});

test("metadata is read as its type [META-04]", () => {
  assert.equal(
    refusalOf(() => decode(body(',"metadata":{"labels":{"a":1}}'))),
    '400 Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
  );
  assert.deepEqual(decode(body(',"metadata":null')).object.metadata, {});
  assert.deepEqual(decode(body("")).object.metadata, {});
});

test("metadata of embedded objects is decoded as its type, and its unknown fields are reported", () => {
  const template = '{"apiVersion":"v1","kind":"X","metadata":{"name":"t","odd":1},"any":[1]}';
  const { object, warnings } = decode(body(`,"spec":{"template":${template}}`));
  assert.deepEqual(object["spec"], {
    template: { apiVersion: "v1", kind: "X", metadata: { name: "t" }, any: [1] },
    d: "D",
  });
  assert.deepEqual(warnings, ['unknown field "spec.template.metadata.odd"']);
  const named = decode(body(`,"spec":{"byName":{"a$&b":{"metadata":{"odd":1}}}}`)).warnings;
  assert.deepEqual(named, ['unknown field "spec.byName[a$&b].metadata.odd"']);
  const both = decode(body(`,"spec":{"z":1,"template":${template},"before":${template}}`));
  assert.deepEqual(both.warnings, [
    'unknown field "spec.z"',
    'unknown field "spec.before.metadata.odd"',
    'unknown field "spec.template.metadata.odd"',
  ]);
  assert.match(
    refusalOf(() => decode(body(',"spec":{"template":{"metadata":5}}'))),
    /spec\.template\.metadata: Invalid value/,
  );
});

test("embedded objects below keys of maps are named by their key, and shown as Go shows them [FV-04]", () => {
  const { warnings } = decode(body(',"spec":{"byName":{"k":{"apiVersion":"v1","kind":"X","metadata":{"odd":1}}}}'));
  assert.deepEqual(warnings, ['unknown field "spec.byName[k].metadata.odd"']);
  const cannot = '400 Widget in version "v1" cannot be handled as a Widget: ';
  assert.equal(
    refusalOf(() => decode(body(',"spec":{"byName":{"k":{"kind":1}}}'))),
    `${cannot}spec.byName[k].kind: Invalid value: 1: must be a string`,
  );
  assert.equal(
    refusalOf(() => decode(body(',"spec":{"template":{"metadata":{"labels":{"a":1}}}}'))),
    `${cannot}spec.template.metadata: Invalid value: map[string]interface {}{"labels":map[string]interface {}{"a":1}}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string`,
  );
});

test("numbers are what an untyped reader makes of them, whole ones of 64 bits exactly [EXPR-46]", () => {
  const { object } = decode(body(',"spec":{"n":9223372036854775807}'));
  assert.match(JSON.stringify(object), /"n":9223372036854775807/);
  assert.match(JSON.stringify(decode(body(',"spec":{"n":1e3}')).object), /"n":1000[,}]/);
});

test("a number that no double holds is refused, not stored as null [ERR-02]", () => {
  assert.equal(
    refusalOf(() => decode(body(',"spec":{"template":{"n":1E400}}'))),
    '400 Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number 1E400 into Go value of type float64',
  );
});

test("a YAML body is decoded like a JSON body", () => {
  const yaml = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: x}\nspec: {a: '1', a: '2', z: 1}\n";
  const { object, warnings } = decode(yaml, "Warn", yamlEncoding);
  assert.deepEqual(object["spec"], { a: "2", d: "D" });
  assert.deepEqual(warnings, ['line 4: key "a" already set in map', 'unknown field "spec.z"']);
});

test("names that mean something to JavaScript are data", () => {
  const open: CustomType = {
    structural: new StructuralSchema({ type: "object", "x-kubernetes-preserve-unknown-fields": true }, metadata),
    metadata,
  };
  const bytes = Buffer.from(body(',"__proto__":{"x":1},"constructor":"c"'));
  const { object } = decodeCustom({
    bytes,
    encoding: jsonEncoding,
    type: open,
    gvk,
    fieldValidation: "Strict",
    room: room(),
  });
  assert.equal(Object.getPrototypeOf(object), Object.prototype);
  assert.match(JSON.stringify(object), /"__proto__":\{"x":1\},"constructor":"c"/);
});

test("a patched object is checked against its type", () => {
  const patch = (value: object, fieldValidation: FieldValidation = "Warn") =>
    decodePatchedCustom({
      value: { apiVersion: "example.com/v1", kind: "Widget", ...value },
      type,
      gvk,
      fieldValidation,
      problems: ['duplicate field "x"'],
      room: room(),
    });
  const { object, warnings } = patch({ metadata: { name: "x" }, spec: { n: 9007199254740993n, z: 1 } });
  assert.match(JSON.stringify(object), /"n":9007199254740993/);
  assert.deepEqual(warnings, ['duplicate field "x"', 'unknown field "spec.z"']);
  assert.match(
    refusalOf(() => patch({ spec: { z: 1 } }, "Strict")),
    /^422 .*patch: Invalid value: .*strict decoding error/,
  );
  assert.match(
    refusalOf(() => patch({ kind: "Gadget" })),
    /^422 Gadget\.example\.com .*kind: Invalid value/,
  );
  assert.match(
    refusalOf(() => patch({ apiVersion: "other.example.com/v1" })),
    /^422 Widget\.other\.example\.com .*apiVersion/,
  );
});

test("a stored object that fits is the same object afterwards", () => {
  const object = { kind: "Widget", apiVersion: "example.com/v1", metadata: { name: "x" }, spec: { a: "1", d: "2" } };
  assert.equal(reshape(object, type.structural, room()), object);
  assert.deepEqual(reshape({ ...object, spec: { gone: 1 } }, type.structural, room())["spec"], { d: "D" });
});

test("a converted object loses nulls that its schema does not accept and for which it has no default", () => {
  const object = { kind: "Widget", apiVersion: "example.com/v1", metadata: { name: "x" }, spec: { a: "1", n: 5 } };
  assert.equal(reshapeConverted(object, type.structural), object);
  const spec = { a: null, d: null, gone: null };
  assert.deepEqual(reshapeConverted({ ...object, spec }, type.structural)["spec"], { d: null });
});
