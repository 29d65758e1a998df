/** Decoding of bodies, with answers and errors recorded from the reference server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadDefinitions } from "#api/definitions.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import type { GroupVersionKind } from "#meta/group-version.ts";
import { StatusError } from "#meta/status-error.ts";
import type { BodyEncoding } from "#codec/encoding.ts";
import { jsonEncoding } from "#codec/json-encoding.ts";
import { yamlEncoding } from "#codec/yaml-encoding.ts";
import { decodeObject, type FieldValidation, nullEmptyLists } from "#codec/object.ts";

const tables = loadDefinitions(kubernetesDomain);
const configMap = { group: "", version: "v1", kind: "ConfigMap" };
const claim = { group: "", version: "v1", kind: "PersistentVolumeClaim" };
const definition = { group: "apiextensions.k8s.io", version: "v1", kind: "CustomResourceDefinition" };

function decode(
  gvk: GroupVersionKind,
  body: string,
  fieldValidation: FieldValidation = "Warn",
  encoding: BodyEncoding = jsonEncoding,
) {
  const schema = tables.schemaOf(gvk)!;
  const isRegistered = (other: GroupVersionKind) => tables.schemaOf(other) !== undefined;
  const bytes = Buffer.from(body);
  return decodeObject({
    bytes,
    encoding,
    schema,
    gvk,
    fieldValidation,
    isRegistered,
  });
}

function expectRefusal(
  gvk: GroupVersionKind,
  body: string,
  message: string,
  how: FieldValidation = "Warn",
  encoding?: BodyEncoding,
) {
  assert.throws(
    () => decode(gvk, body, how, encoding),
    (error) => {
      assert.ok(error instanceof StatusError, String(error));
      assert.equal(error.status.message, message, body);
      assert.equal(error.status.code, 400);
      return true;
    },
    body,
  );
}

/** Returns `name` as the errors show it. */
const cannot = (kind: string, version = "v1", said = kind): string =>
  `${said} in version "${version}" cannot be handled as a ${kind}: `;

test("an object that says no kind and version is meant to be the one asked for", () => {
  for (const body of [
    "{}",
    "null",
    '{"kind":"ConfigMap"}',
    '{"apiVersion":"v1"}',
    '{"kind":null}',
    '{"apiVersion":"/"}',
  ]) {
    const { object, kind, apiVersion } = decode(configMap, body);
    assert.deepEqual(object, { kind: "ConfigMap", apiVersion: "v1", metadata: { creationTimestamp: null } }, body);
    assert.deepEqual([kind, apiVersion], ["ConfigMap", "v1"]);
    assert.deepEqual(Object.keys(object), ["kind", "apiVersion", "metadata"]);
  }
});

test("a body that is no object is refused with its beginning [ERR-02]", () => {
  const head =
    "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: ";
  const goType = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;
  expectRefusal(configMap, "", `${head}unexpected end of JSON input (<empty>)`);
  expectRefusal(configMap, "{", `${head}unexpected end of JSON input ({)`);
  expectRefusal(configMap, "[]", `${head}json: cannot unmarshal array into Go value of type ${goType} (5b5d)`);
  expectRefusal(configMap, '"x"', `${head}json: cannot unmarshal string into Go value of type ${goType} (227822)`);
  expectRefusal(configMap, "5", `${head}json: cannot unmarshal number into Go value of type ${goType} (35)`);
  expectRefusal(configMap, "1.0", `${head}json: cannot unmarshal number into Go value of type ${goType} (312e30)`);
  expectRefusal(configMap, "x", `${head}invalid character 'x' looking for beginning of value (78)`);
  expectRefusal(
    configMap,
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"',
    `${head}unexpected end of JSON input ({"apiVersion":"v1","kind":"Con ...)`,
  );
  expectRefusal(
    configMap,
    '{"apiVersion":5,"kind":"ConfigMap"}',
    `${head}json: cannot unmarshal number into Go struct field .apiVersion of type string ({"apiVersion":5,"kind":"Config ...)`,
  );
  expectRefusal(
    configMap,
    '{"apiVersion":"a/b/c"}',
    'the object provided is unrecognized (must be of type ConfigMap): unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c"})',
  );
});

test("another kind or version is refused", () => {
  expectRefusal(
    claim,
    '{"apiVersion":"v2","kind":"PersistentVolumeClaim"}',
    `${cannot("PersistentVolumeClaim", "v2")}no kind "PersistentVolumeClaim" is registered for version "v2"`,
  );
  expectRefusal(
    claim,
    '{"apiVersion":"foo/v1","kind":"Nope"}',
    `${cannot("PersistentVolumeClaim", "v1", "Nope")}no kind "Nope" is registered for version "foo/v1"`,
  );
  expectRefusal(
    claim,
    '{"apiVersion":"v1","kind":"Pod"}',
    `${cannot("PersistentVolumeClaim", "v1", "Pod")}converting (v1.Pod) to (core.PersistentVolumeClaim): unknown conversion`,
  );
  expectRefusal(
    { group: "autoscaling", version: "v2", kind: "HorizontalPodAutoscaler" },
    '{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler"}',
    "the API version in the data (autoscaling/v1) does not match the expected API version (autoscaling/v2)",
  );
  expectRefusal(
    claim,
    '{"apiVersion":"foo/"}',
    `${cannot("PersistentVolumeClaim", "")}Object 'apiVersion' is missing in '{"apiVersion":"foo/"}'`,
  );
});

test("unknown and double fields are dropped, with a warning each [FV-04, FV-05]", () => {
  const body =
    '{"metadata":{"name":"a"},"spec":{"foo":1,"volumeMode":"Block","volumeMode":"Block","Bar":{"x":1,"x":2}},"zip":1}';
  const { object, warnings } = decode(claim, body);
  assert.deepEqual(warnings, [
    'unknown field "spec.foo"',
    'duplicate field "spec.volumeMode"',
    'unknown field "spec.Bar"',
    'unknown field "zip"',
  ]);
  assert.deepEqual(object["spec"], { resources: {}, volumeMode: "Block" });
  assert.deepEqual(decode(claim, body, "Ignore").warnings, []);
});

test("a strict decoder names all unknown and duplicate fields and refuses [FV-06, FV-07, FV-08]", () => {
  const strict = (gvk: GroupVersionKind, body: string, problems: string) =>
    expectRefusal(gvk, body, `${cannot(gvk.kind)}strict decoding error: ${problems}`, "Strict");
  strict(
    claim,
    '{"spec":{"foo":1,"volumeMode":"Block","volumeMode":"Block"},"zip":1}',
    'unknown field "spec.foo", duplicate field "spec.volumeMode", unknown field "zip"',
  );
  strict(
    claim,
    '{"spec":{"resources":{"requests":{"a.b/c":"1","a.b/c":"2"},"q":[{}]}}}',
    'duplicate field "spec.resources.requests.a.b/c", unknown field "spec.resources.q"',
  );
  strict(
    claim,
    '{"spec":{"selector":{"matchExpressions":[{"key":"a","Key":"b"},{"values":["a"],"values":["a"],"q":1}]}}}',
    'unknown field "spec.selector.matchExpressions[0].Key", duplicate field "spec.selector.matchExpressions[1].values", unknown field "spec.selector.matchExpressions[1].q"',
  );
  strict(
    claim,
    '{"spec":{"a\\"b":1,"":3,"\u00e9":4,"\\u0001":5}}',
    'unknown field "spec.a\\"b", unknown field "spec.", unknown field "spec.\u00e9", unknown field "spec.\\x01"',
  );
  strict(claim, '{"zz":1,"zz":2,"zz":3}', 'unknown field "zz"');
  strict(
    definition,
    '{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"properties":{"x.y":{"q":1}},"items":{"zz":1},"default":{"a":1,"a":2}}}}]}}',
    'unknown field "spec.versions[0].schema.openAPIV3Schema.properties.x.y.q"',
  );
});

test("no more than a hundred problems are told", () => {
  const fields = Array.from({ length: 300 }, (_, i) => `"u${i}":1`).join(",");
  assert.equal(decode(configMap, `{${fields}}`).warnings.length, 100);
  assert.equal(decode(configMap, `{"data":{"a":"1","a":"2"},${fields}}`).warnings.length, 100);
});

test("silently, the last of double values wins, and structs that come twice are merged [FV-02, FV-03]", () => {
  const map = decode(
    configMap,
    '{"data":{"a":"b","a":"c"},"data":{"q":"1"},"zz":1,"metadata":{"name":"n"},"metadata":{"labels":{"l":"1"}}}',
    "Ignore",
  );
  assert.deepEqual(map.object["data"], { a: "c", q: "1" });
  assert.deepEqual(map.object.metadata, { name: "n", creationTimestamp: null, labels: { l: "1" } });
  const { object } = decode(
    claim,
    '{"spec":{"accessModes":["a","b"],"accessModes":["c"],"resources":{"requests":{"storage":"1"}},"resources":{"limits":{"storage":"2"}},"dataSource":{"kind":"a","name":"b"},"dataSource":null}}',
    "Ignore",
  );
  assert.deepEqual(object["spec"], {
    accessModes: ["c"],
    resources: { limits: { storage: "2" }, requests: { storage: "1" } },
  });
});

test("a wrong type is refused at every level, without the unknown fields [ERR-05, FV-11]", () => {
  const message = `${cannot("PersistentVolumeClaim")}json: cannot unmarshal number into Go struct field PersistentVolumeClaimSpec.spec.volumeName of type string`;
  for (const level of ["Ignore", "Warn", "Strict"] as const)
    expectRefusal(claim, '{"zz":1,"spec":{"volumeName":5}}', message, level);
  expectRefusal(
    claim,
    '{"spec":{"accessModes":[1]}}',
    `${cannot("PersistentVolumeClaim")}json: cannot unmarshal number into Go struct field PersistentVolumeClaimSpec.spec.accessModes of type v1.PersistentVolumeAccessMode`,
  );
  expectRefusal(
    claim,
    '{"spec":{"resources":{"requests":{"storage":{}}}}}',
    `${cannot("PersistentVolumeClaim")}quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
  );
});

test("schemas inside of definitions keep their special parts", () => {
  const schema = (inner: string): unknown => {
    const body = `{"spec":{"versions":[{"schema":{"openAPIV3Schema":${inner}}}]}}`;
    const versions = (
      decode(definition, body).object["spec"] as { versions: { schema: { openAPIV3Schema: unknown } }[] }
    ).versions;
    return versions[0]!.schema.openAPIV3Schema;
  };
  assert.deepEqual(schema('{"additionalProperties":true,"items":{"type":"","title":"x"},"default":{"b":1,"a":[0]}}'), {
    default: { b: 1, a: [0] },
    items: { title: "x" },
    additionalProperties: true,
  });
  const prefix = `${cannot("CustomResourceDefinition")}`;
  const bad = (inner: string, message: string) =>
    expectRefusal(definition, `{"spec":{"versions":[{"schema":{"openAPIV3Schema":${inner}}}]}}`, prefix + message);
  bad('{"additionalProperties":5}', "boolean or JSON schema expected");
  bad(
    '{"items":{"type":5}}',
    "json: cannot unmarshal number into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items of type string",
  );
});

test("YAML bodies are held to the same rules [FV-10, MEDIA-03]", () => {
  const body = 'kind: ConfigMap\ncolour: red\ndata:\n  a: "1"\n  a: "2"\nbrush: 1\n';
  const { object, warnings } = decode(configMap, body, "Warn", yamlEncoding);
  assert.deepEqual(object["data"], { a: "2" });
  assert.deepEqual(warnings, ['line 5: key "a" already set in map', 'unknown field "brush"', 'unknown field "colour"']);
  assert.deepEqual(decode(configMap, body, "Ignore", yamlEncoding).warnings, []);
  expectRefusal(
    configMap,
    body,
    `${cannot("ConfigMap")}strict decoding error: yaml: unmarshal errors:\n  line 5: key "a" already set in map, unknown field "brush", unknown field "colour"`,
    "Strict",
    yamlEncoding,
  );
  expectRefusal(
    configMap,
    "data: {a: yes}",
    `${cannot("ConfigMap")}json: cannot unmarshal bool into Go struct field ConfigMap.data of type string`,
    "Ignore",
    yamlEncoding,
  );
  expectRefusal(
    configMap,
    "data: *x\n",
    "the object provided is unrecognized (must be of type ConfigMap): yaml: unknown anchor 'x' referenced (646174613a202a780a)",
    "Warn",
    yamlEncoding,
  );
});

test("an error about unreadable options does not show the body", () => {
  const options = { group: "", version: "v1", kind: "DeleteOptions" };
  expectRefusal(options, "{", "couldn't get version/kind; json parse error: unexpected end of JSON input");
  expectRefusal(
    options,
    '{"gracePeriodSeconds":"x"}',
    "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
  );
  expectRefusal(options, '{"kind":"Foo","apiVersion":"v1"}', 'no kind "Foo" is registered for version "v1"');
  const { object } = decode(
    options,
    '{"kind":"DeleteOptions","apiVersion":"apps/v1","gracePeriodSeconds":0,"zz":1}',
    "Ignore",
  );
  assert.deepEqual(object, { kind: "DeleteOptions", apiVersion: "v1", gracePeriodSeconds: 0 });
});

test("names of the language are ordinary keys", () => {
  const { object, warnings } = decode(configMap, '{"data":{"__proto__":"x","constructor":"y"},"__proto__":{"a":1}}');
  assert.deepEqual(warnings, ['unknown field "__proto__"']);
  assert.deepEqual(Object.entries(object["data"] as object), [
    ["__proto__", "x"],
    ["constructor", "y"],
  ]);
  assert.equal((object as { a?: unknown }).a, undefined);
});

test("an empty list that every object shows is there until it is stored", () => {
  const role = { group: "rbac.authorization.k8s.io", version: "v1", kind: "Role" };
  for (const body of ['{"rules":[]}', '{"rules":[{}],"rules":[]}']) {
    const { object, hasEmptyLists } = decode(role, body);
    assert.equal(hasEmptyLists, true);
    assert.deepEqual(object["rules"], []);
    assert.equal(nullEmptyLists(tables.schemaOf(role)!, object)["rules"], null);
  }
  assert.equal(decode(role, "{}").hasEmptyLists, false);
});
