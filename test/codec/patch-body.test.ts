/** Patch bodies and patched objects, with errors recorded from the reference server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadDefinitions } from "#api/definitions.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { StatusError } from "#meta/status-error.ts";
import type { Schema } from "#schema/schema.ts";
import type { FieldValidation } from "#codec/object.ts";
import { decodePatch, decodePatched, type PatchWording } from "#codec/patch-body.ts";

const gvk = { group: "", version: "v1", kind: "ConfigMap" };
const schema = loadDefinitions(kubernetesDomain).schemaOf(gvk)!;

const text: Schema = { type: "string" };
const operations: Schema = {
  type: "array",
  items: {
    type: "object",
    fields: new Map([
      ["op", { schema: text }],
      ["path", { schema: text }],
      ["value", { schema: { type: "any" } }],
    ]),
  },
};

function expectRefusal(act: () => unknown, code: number, message: string): void {
  assert.throws(act, (error) => {
    assert.ok(error instanceof StatusError, String(error));
    assert.deepEqual([error.status.code, error.status.message], [code, message]);
    return true;
  });
}

const patch = (body: string, of?: Schema, wording?: PatchWording) => decodePatch(Buffer.from(body), of, wording);

test("a body that is no patch is refused in upstream's words [ERR-02]", () => {
  const bad = (body: string, message: string, of?: Schema, wording?: PatchWording) =>
    expectRefusal(() => patch(body, of, wording), 400, message);
  const ignore = { fieldValidation: "Ignore" } as const;
  bad("{", "error decoding patch: unexpected end of JSON input");
  bad("{", "Invalid JSON Patch", undefined, { form: "merge", ...ignore });
  bad("{", "unexpected end of JSON input", undefined, { form: "strategic" });
  bad("{", "unexpected end of JSON input", operations, ignore);
  bad("[]", "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}");
  bad(
    '"x"',
    "error decoding patch: json: cannot unmarshal string into Go value of type []handlers.jsonPatchOp",
    operations,
  );
  bad(
    "[5]",
    "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
    operations,
  );
  bad("[5]", "json: cannot unmarshal number into Go value of type jsonpatch.Operation", operations, ignore);
  bad(
    '[{"op":5}]',
    "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
    operations,
  );
});

test("problems of the patch itself are found [FV-09]", () => {
  assert.deepEqual(patch('{"x":{"a":1,"a":2},"y":[{"b":1,"b":2}]}').problems, [
    'duplicate field "x.a"',
    'duplicate field "y[0].b"',
  ]);
  assert.deepEqual(patch('[{"op":"add","path":"/a","value":{"c":1,"c":2},"zz":1,"op":"add"}]', operations).problems, [
    'json patch unknown field "[0].zz"',
    'json patch duplicate field "[0].op"',
  ]);
  assert.deepEqual(patch('{"a":1,"a":2}', undefined, { fieldValidation: "Ignore" }).problems, []);
});

test("whole numbers beyond 2^53 keep their digits, others become plain numbers", () => {
  const { value } = patch('{"a":9007199254740993,"b":1.0,"c":1e3,"d":[-9223372036854775808],"e":1}');
  assert.deepEqual(value, { a: 9007199254740993n, b: 1, c: 1000, d: [-9223372036854775808n], e: 1 });
});

function applyPatch(value: unknown, fieldValidation: FieldValidation = "Warn", problems: readonly string[] = []) {
  return decodePatched({ value, schema, gvk, fieldValidation, problems });
}

test("a patched object is decoded as a body is [FV-09]", () => {
  const { object, warnings } = applyPatch(
    {
      kind: "ConfigMap",
      apiVersion: "v1",
      metadata: { name: "a", generation: 9007199254740993n },
      data: { b: "1", a: null },
      zz: 1,
      aa: 2,
    },
    "Warn",
    ['duplicate field "data.a"'],
  );
  assert.equal(
    JSON.stringify(object),
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","generation":9007199254740993,"creationTimestamp":null},"data":{"a":"","b":"1"}}',
  );
  assert.deepEqual(warnings, ['duplicate field "data.a"', 'unknown field "aa"', 'unknown field "zz"']);
  assert.deepEqual(applyPatch({ zz: 1n }, "Ignore").warnings, []);
  expectRefusal(
    () => applyPatch({ zz: 1n, metadata: { q: 1 } }, "Strict"),
    400,
    'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "metadata.q", unknown field "zz"',
  );
});

test("a patched object that does not fit its type is shown [ERR-05]", () => {
  const bad = (value: unknown, shown: string, message: string) =>
    expectRefusal(
      () => applyPatch(value),
      422,
      ` "" is invalid: patch: Invalid value: ${JSON.stringify(shown)}: ${message}`,
    );
  const typed = { apiVersion: "v1", kind: "ConfigMap" };
  bad(
    { ...typed, data: { a: 5 } },
    '{"apiVersion":"v1","data":{"a":5},"kind":"ConfigMap"}',
    "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
  );
  bad(
    { ...typed, apiVersion: "v2" },
    '{"apiVersion":"v2","kind":"ConfigMap"}',
    'no kind "ConfigMap" is registered for version "v2"',
  );
  bad(
    { ...typed, kind: 5 },
    '{"apiVersion":"v1","kind":5}',
    "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
  );
  assert.equal(applyPatch({ ...typed, kind: "" }).object.kind, "ConfigMap");
});
