/** Expressions of mutations for objects of any kind, and expressions that are refused. */

/** Apply configurations for objects of any kind. */
export const anyConfigurations = [
  'Object{metadata: Object.metadata{labels: {"mutated": "yes"}}}',
  'Object{metadata: Object.metadata{annotations: {"by": request.userInfo.username}}}',
  "Object{}",
  'Object{metadata: Object.metadata{labels: {"env": object.metadata.?labels.env.orValue("none")}}}',
  'Object{metadata: Object.metadata{finalizers: ["example.com/x"]}}',
  'Object{metadata: Object.spec{labels: {"a": "b"}}}',
  'Object{metadata: Object.metadata{labels: {"a": object.nope.deeper}}}',
  'Object{metadata: Object.metadata{labels: {"bad label": "x"}}}',
  'Object{apiVersion: "v1"}',
  'Object{kind: "Other"}',
  'Object{metadata: Object.metadata{generateName: "x"}}',
];

/** JSON patches for objects of any kind. */
export const anyPatches = [
  '[JSONPatch{op: "add", path: "/metadata/labels", value: {"patched": "yes"}}]',
  '[JSONPatch{op: "add", path: "/metadata/labels/patched", value: "yes"}]',
  "[]",
  '[JSONPatch{op: "test", path: "/metadata/name", value: "one"}, JSONPatch{op: "add", path: "/metadata/annotations", value: {"is": "one"}}]',
  'object.metadata.name == "one" ? [JSONPatch{op: "add", path: "/metadata/annotations", value: {"n": string(size(request.namespace))}}] : []',
  '[JSONPatch{op: "add", path: "/metadata/annotations", value: {"list": "a,b".split(",")[1]}}]',
  '[JSONPatch{op: "add", path: "/metadata/annotations", value: Object.metadata.annotations{a: "b"}}]',
  '[JSONPatch{path: "/metadata/labels"}]',
  '[JSONPatch{op: "add", path: "metadata", value: 1}]',
  '[JSONPatch{op: object.nope.deeper, path: "/x"}]',
];

/** Expressions that are refused as mutations. */
export const wrongMutations = [
  "",
  "1",
  "Object",
  "Object{",
  "[Object{}]",
  "JSONPatch{}",
  "[1]",
  '[JSONPatch{nope: "x"}]',
  "[JSONPatch{op: 1}]",
  "{'a': 1}",
  "object",
  "nope",
  "Other{}",
  "null",
  "Object.spec{}",
  "Objects{}",
  "[JSONPatch{}, 1]",
];
