/** Server-side apply of members that a custom type does not declare: they are owned, and dropped or kept. */
import assert from "node:assert/strict";
import { patchTypes } from "../client.ts";
import { crds, definition } from "../crds.ts";
import { suite } from "../harness.ts";

const inBothDomains = suite();

const text = { type: "string" };
const bare = { type: "object" };
const keeps = { "x-kubernetes-preserve-unknown-fields": true };
const struct = (properties: object): object => ({ type: "object", properties });
const list = (items: object): object => ({ type: "array", items });

const spec = {
  bare,
  none: { type: "object", properties: {} },
  atomic: { ...bare, "x-kubernetes-map-type": "atomic" },
  any: { ...bare, additionalProperties: true },
  items: list(bare),
  map: { ...bare, additionalProperties: bare },
  nested: struct({ in: bare, text }),
  keyed: {
    ...list({ ...struct({ k: text, v: bare }), required: ["k"] }),
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
  },
  kept: { ...struct({ known: bare, deep: struct({ a: text }), list: list(struct({ a: text })) }), ...keeps },
  embedded: { ...struct({ spec: bare }), "x-kubernetes-embedded-resource": true },
  either: { "x-kubernetes-int-or-string": true },
};

/**
 * The cases: the applied value of one member of the spec, the fields that are owned afterwards, and the stored value.
 */
const cases: readonly (readonly [name: string, applied: unknown, owned: string, kept: unknown])[] = [
  ["bare", { u: 1 }, '{"f:u":{}}', {}],
  ["bare", { u: { v: [1] } }, '{"f:u":{".":{},"f:v":{}}}', {}],
  ["bare", {}, "{}", {}],
  ["none", { u: 1 }, '{"f:u":{}}', {}],
  ["atomic", { u: 1 }, "{}", {}],
  ["any", { u: { v: 1 } }, '{"f:u":{".":{},"f:v":{}}}', { u: {} }],
  ["items", [{ u: 1 }], "{}", [{}]],
  ["map", { a: { u: 1 } }, '{"f:a":{".":{},"f:u":{}}}', { a: {} }],
  ["nested", { in: { u: 1 } }, '{"f:in":{"f:u":{}}}', { in: {} }],
  [
    "keyed",
    [{ k: "a", v: { u: 1 } }],
    '{"k:{\\"k\\":\\"a\\"}":{".":{},"f:k":{},"f:v":{"f:u":{}}}}',
    [{ k: "a", v: {} }],
  ],
  ["kept", { known: { u: 1 } }, '{"f:known":{"f:u":{}}}', { known: {} }],
  ["kept", { deep: { u: 1 } }, '{"f:deep":{"f:u":{}}}', { deep: {} }],
  ["kept", { list: [{ u: 1 }] }, '{"f:list":{}}', { list: [{}] }],
  ["kept", { other: { u: 1 } }, '{"f:other":{".":{},"f:u":{}}}', { other: { u: 1 } }],
  ["either", 5, "{}", 5],
];

inBothDomains("an object without declared members takes any in an apply; what it does not keep goes", async (api) => {
  const group = "undeclared.example.com";
  const schema = struct({ spec: struct(spec), status: bare });
  (await api.post(crds, definition(group, { schema, version: { subresources: { status: {} } } }))).expect(201);
  const path = (name: string): string => `/apis/${group}/v1/widgets/${name}`;
  const body = (name: string, more: object): object => ({
    apiVersion: `${group}/v1`,
    kind: "Widget",
    metadata: { name },
    ...more,
  });
  const apply = (at: string, more: object, query = "") =>
    api.patch(`${path(at)}?fieldManager=m1${query}`, body(at.split("/")[0]!, more), patchTypes.apply);
  for (const [at, [name, applied, owned, kept]] of cases.entries()) {
    for (const validation of ["Strict", "Ignore"]) {
      const object = `o${at}${validation.toLowerCase()}`;
      const answer = (await apply(object, { spec: { [name]: applied } }, `&fieldValidation=${validation}`)).expect(
        201,
        {
          [`spec.${name}`]: kept,
        },
      );
      const fields = JSON.stringify(answer.at("metadata.managedFields.0.fieldsV1"));
      assert.equal(fields, `{"f:spec":{"f:${name}":${owned}}}`, `${name}: ${JSON.stringify(applied)}`);
      (await api.get(path(object))).expect(200, { [`spec.${name}`]: kept });
    }
  }
  (await apply("o0strict/status", { status: { u: 1 } })).expect(200, { status: {} });
  for (const wrong of [{ nested: { u: 1 } }, { keyed: [{ k: "a", z: 1 }] }, { embedded: { u: 1 } }]) {
    (await apply("wrong", { spec: wrong })).expectFailure(400, "BadRequest", /field not declared in schema$/);
  }
  (await apply("wrong", { u: 1 })).expectFailure(400, "BadRequest", /\.u: field not declared in schema$/);
});
