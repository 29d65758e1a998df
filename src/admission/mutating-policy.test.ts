/** Mutating policies: changes, order and failures. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { MutatingAdmissionPolicySpec, Mutation } from "#api/admissionregistration/v1alpha1.ts";
import { loadDefinitions } from "#api/definitions.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import type { ApiObject, Unstructured } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { attributesOf } from "./attributes-for-tests.ts";
import { type MutatingOptions, mutatingAdmissionPolicy, mutatingPolicies } from "./mutating-policy.ts";

const tables = loadDefinitions(kubernetesDomain);

const options: MutatingOptions = {
  domain: kubernetesDomain,
  clock: new FakeClock(),
  authorizer: { authorize: () => ({ decision: "allow", reason: "" }) },
  forms: { convertTo: (object) => object, reread: (value) => value as ApiObject },
  environment: {
    equivalents: (resource) => [{ resource, kind: { group: "", version: "v1", kind: "ConfigMap" } }],
    getNamespace: (name) => ({ metadata: { name }, spec: {}, status: {} }),
  },
  findParams: () => undefined,
  schemaOf: ({ group, version, kind }) => (kind === "Scale" ? undefined : tables.schemaOf({ group, version, kind })!),
};

const apply = (expression: string): Mutation => ({
  patchType: "ApplyConfiguration",
  applyConfiguration: { expression },
});
const patch = (expression: string): Mutation => ({ patchType: "JSONPatch", jsonPatch: { expression } });

type Spec = Partial<MutatingAdmissionPolicySpec>;

const rules = [{ operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps", "pods"] }];

const core = (resource: string, kind: string) => ({
  resource: { group: "", version: "v1", resource },
  kind: { group: "", version: "v1", kind },
});

const abouts: Readonly<Record<string, object>> = {
  Pod: core("pods", "Pod"),
  Scale: { ...core("pods", "Pod"), kind: { group: "autoscaling", version: "v1", kind: "Scale" } },
};

/**
 * Runs the policies `a`, `b`, … on the write of an object. Returns the fields of the object except metadata, or `reason
 * code: message`.
 */
async function mutate(
  specs: readonly Spec[],
  object: Unstructured,
  round: { readonly isSecond: boolean } = { isSecond: false },
): Promise<{ readonly answer: unknown; readonly isRepeated: boolean; readonly causes: readonly string[] }> {
  const policies = mutatingPolicies(true);
  for (const [at, spec] of specs.entries()) {
    const name = "abc"[at]!;
    const full = { matchConstraints: { resourceRules: rules }, reinvocationPolicy: "Never", ...spec };
    policies.setPolicy(name, { metadata: { name }, spec: full });
    policies.setBinding(name, { metadata: { name }, spec: { policyName: name } });
  }
  let isRepeated = false;
  const about = abouts[object.kind ?? ""] ?? {};
  try {
    const changed = await mutatingAdmissionPolicy(policies, options).admit!(attributesOf(object, about), {
      ...round,
      notes: new Map(),
      repeat: () => (isRepeated = true),
    });
    return { answer: changed, isRepeated, causes: [] };
  } catch (error) {
    assert.ok(error instanceof StatusError);
    const { reason, code, message, details } = error.status;
    const causes = (details?.causes ?? []).map((cause) => cause.message ?? "");
    return { answer: `${reason} ${code}: ${message}`, isRepeated, causes };
  }
}

const map = (data?: object): Unstructured => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "m", namespace: "n", labels: { x: "y" } },
  ...(data === undefined ? {} : { data }),
});

async function check(mutations: readonly Mutation[], object: Unstructured, expected: unknown, more: Spec = {}) {
  assert.deepEqual((await mutate([{ mutations, ...more }], object)).answer, expected, JSON.stringify(mutations));
}

const denial = (message: string): string => `Invalid 403: policy 'a' with binding 'a' denied request: ${message}`;

test("a configuration is merged: members into objects, items into keyed lists", async () => {
  const labels = apply('Object{metadata: Object.metadata{labels: {"a": "b"}}}');
  const labelled = { ...map().metadata, labels: { x: "y", a: "b" } };
  await check([labels], map(), { ...map(), metadata: labelled });
  await check([apply('Object{data: {"k": "v"}}')], map({ k: "mine", o: "other" }), map({ k: "v", o: "other" }));
  const pod: Unstructured = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: { containers: [{ name: "c", image: "i" }] },
  };
  const containers =
    'Object{spec: Object.spec{containers: [Object.spec.containers{name: "c", image: "new"}, Object.spec.containers{name: "side"}]}}';
  await check([apply(containers)], pod, {
    ...pod,
    spec: { containers: [{ name: "c", image: "new" }, { name: "side" }] },
  });
  await check(
    [apply('Object{spec: Object.spec{tolerations: [Object.spec.tolerations{key: "a"}]}}')],
    pod,
    denial(
      "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.tolerations",
    ),
  );
});

test("a patch is applied, unless its test does not hold; keys can be escaped", async () => {
  const add = (path: string, value: string) => `JSONPatch{op: "add", path: ${path}, value: ${value}}`;
  await check([patch(`[${add('"/data"', '{"a": "b"}')}]`)], map(), map({ a: "b" }));
  await check([patch(`[${add('"/data/" + jsonpatch.escapeKey("a/b~c")', '"v"')}]`)], map({}), map({ "a/b~c": "v" }));
  const failing = `[JSONPatch{op: "test", path: "/metadata/name", value: "z"}, ${add('"/data"', "{}")}]`;
  await check([patch(failing)], map(), undefined);
  await check(
    [patch('[JSONPatch{op: "remove", path: "/data/none"}]')],
    map({}),
    denial("JSON Patch: error in remove for path: '/data/none': Unable to remove nonexistent key: none: missing value"),
  );
});

test("an operation has no members but its own, and may be no operation at all", async () => {
  const other = '[JSONPatch{op: "add", path: "/data", value: {}, nope: object}]';
  const why = `expression '${other}' resulted in error: unexpected JSONPatchType field: nope`;
  await check([patch(other)], map(), denial(why));
  await check(
    [patch("[JSONPatch{}] + dyn([1])")],
    map(),
    denial(
      "JSON Patch: error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
    ),
  );
});

test("each mutation and each policy sees what those before it made", async () => {
  const mutations = [
    apply('Object{data: {"a": "1"}}'),
    patch('[JSONPatch{op: "add", path: "/data/b", value: object.data.a + "2"}]'),
  ];
  const later = [apply('Object{data: {"c": variables.b + "3"}}')];
  const variables = [{ name: "b", expression: "object.data.b" }];
  const { answer } = await mutate([{ mutations }, { mutations: later, variables }], map());
  assert.deepEqual(answer, map({ a: "1", b: "12", c: "123" }));
});

test("a mutation without a value, or of a wrong type, refuses the request, or changes nothing with failure policy Ignore", async () => {
  const cases: readonly (readonly [string, string])[] = [
    ['Object{data: {"k": object.x}}', `expression 'Object{data: {"k": object.x}}' resulted in error: no such key: x`],
    [
      'Object{nofield: "v"}',
      "error applying patch: failed to convert patch object to typed object: .nofield: field not declared in schema",
    ],
    [
      "Object{data: 1}",
      "error applying patch: failed to convert patch object to typed object: .data: expected map, got &{1}",
    ],
    [
      "Object{metadata: Object.spec{}}",
      'type mismatch: unexpected type name "Object.spec", expected "Object.metadata", which matches field name path from root Object type',
    ],
  ];
  for (const [expression, message] of cases) {
    await check([apply(expression)], map(), denial(message));
    await check([apply(expression)], map(), undefined, { failurePolicy: "Ignore" });
  }
  await check(
    [patch('[JSONPatch{op: "add", path: "/data", value: type(1)}]')],
    map(),
    denial(
      "JSONPath valueExpression evaluated to a type that could not marshal to JSON: type conversion not supported for 'type'",
    ),
  );
});

test("every mutation that fails is a cause of the refusal, or is passed over by itself", async () => {
  const wrong = (field: string): Mutation => apply(`Object{data: {"k": object.${field}}}`);
  const mutations = [wrong("x"), apply('Object{data: {"a": "1"}}'), wrong("y")];
  const message = (policy: string, field: string): string =>
    `policy '${policy}' with binding '${policy}' denied request: expression 'Object{data: {"k": object.${field}}}' resulted in error: no such key: ${field}`;
  const { answer, causes } = await mutate([{ mutations }, { mutations: [wrong("z")] }], map());
  assert.equal(answer, `Invalid 403: ${message("a", "x")}`);
  assert.deepEqual(causes, [message("a", "x"), message("a", "y"), message("b", "z")]);
  await check(mutations, map(), map({ a: "1" }), { failurePolicy: "Ignore" });
});

test("a policy whose parameters cannot be had is refused first", async () => {
  const wrong = apply('Object{data: {"k": object.x}}');
  const paramKind = { apiVersion: "example.com/v1", kind: "Limit" };
  const { answer, causes } = await mutate([{ mutations: [wrong] }, { mutations: [wrong], paramKind }], map());
  const why =
    "failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Limit'";
  assert.equal(answer, `Forbidden 403: policy "b" denied request: ${why}`);
  assert.equal(causes.length, 2);
});

test("which policies apply is decided before any of them changes the object", async () => {
  const labels = apply('Object{metadata: Object.metadata{labels: {"added": "yes"}}}');
  const selecting = {
    matchConstraints: { resourceRules: rules, objectSelector: { matchLabels: { added: "yes" } } },
    mutations: [apply('Object{data: {"k": "v"}}')],
  };
  const { answer } = await mutate([{ mutations: [labels] }, selecting], map());
  assert.equal((answer as Unstructured)["data"], undefined);
});

test("each mutation has a budget of its own", async () => {
  const ten = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
  const loop = `${ten}.map(a, ${ten}.map(b, ${ten}.map(c, ${ten}.map(d, a)))).size()`;
  const costly = (at: number) => apply(`Object{data: {"k${at}": string(${Array(5).fill(loop).join(" + ")})}}`);
  const { answer } = await mutate([{ mutations: Array.from({ length: 20 }, (_, at) => costly(at)) }], map());
  assert.equal(Object.keys((answer as { data: object }).data).length, 20);
});

test("kinds that only subresources have take patches, and no configurations", async () => {
  const scale: Unstructured = { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "s" } };
  const add = patch('[JSONPatch{op: "add", path: "/spec", value: {"replicas": 2}}]');
  await check([add], scale, { ...scale, spec: { replicas: 2 } });
  const why = "no corresponding type for autoscaling/v1, Kind=Scale";
  const message = `error applying patch: failed to convert patch object to typed object: ${why}`;
  await check([apply("Object{spec: Object.spec{replicas: 2}}")], scale, denial(message));
});

test("conditions decide whether a policy changes anything", async () => {
  const mutations = [apply('Object{data: {"k": "v"}}')];
  await check(mutations, map(), undefined, { matchConditions: [{ name: "c", expression: "has(object.data)" }] });
  await check(mutations, map({}), map({ k: "v" }), {
    matchConditions: [{ name: "c", expression: "has(object.data)" }],
  });
});

test("a policy that asks for reinvocation runs again after later changes [DRY-05]", async () => {
  const first: Spec = {
    mutations: [apply('Object{data: {"seen": string(has(object.metadata.labels.later))}}')],
    reinvocationPolicy: "IfNeeded",
  };
  const second: Spec = { mutations: [apply('Object{metadata: Object.metadata{labels: {"later": "yes"}}}')] };
  const { answer, isRepeated } = await mutate([first, second], map());
  assert.equal(isRepeated, true);
  const again = await mutate([first, second], answer as Unstructured, { isSecond: true });
  assert.equal((again.answer as { data: { seen: string } }).data.seen, "true");
  assert.equal((await mutate([second, first], map())).isRepeated, false);
});

/** Makes variables of which each uses the one before twice. */
const doublingVariables = (times: number, first: string, by: (name: string) => string) => [
  { name: "v0", expression: first },
  ...Array.from({ length: times }, (_, at) => ({ name: `v${at + 1}`, expression: by(`variables.v${at}`) })),
];

test("values that variables double are refused before they are written out, as the failure policy says", async () => {
  const out = denial("validation failed due to running out of cost budget, no further validation rules will be run");
  const lists = doublingVariables(40, "['x']", (name) => `[${name}, ${name}]`);
  const maps = doublingVariables(40, "'x'", (name) => `{'a': ${name}, 'b': ${name}}`);
  for (const variables of [lists, maps]) {
    for (const mutation of [
      patch("[JSONPatch{op: 'add', path: '/data/b', value: variables.v40}]"),
      patch("[JSONPatch{op: 'test', path: '/data/b', value: variables.v40}]"),
      apply("Object{data: {'k': variables.v40}}"),
    ]) {
      await check([mutation], map({}), out, { variables });
      await check([mutation], map({}), undefined, { variables, failurePolicy: "Ignore" });
    }
  }
  const texts = doublingVariables(12, `'${"x".repeat(1000)}'`, (name) => `[${name}, ${name}]`);
  const long = denial("the value of the expression has more than 3145728 bytes in JSON");
  await check([patch("[JSONPatch{op: 'add', path: '/data/b', value: variables.v12}]")], map({}), long, {
    variables: texts,
  });
});

test("copies in a patch that double are refused, and so are thousands of insertions before many items", async () => {
  const copies = Array.from({ length: 20 }, (_, at) => `JSONPatch{op: "copy", from: "/data", path: "/data/a${at}"}`);
  const text = denial("JSON Patch: copies of more than 3145728 bytes");
  await check([patch(`[${copies.join(", ")}]`)], map({ k: "x".repeat(1000) }), text);
  const many = { name: "many", expression: `'${"x".repeat(4000)}'.split('')` };
  const variables = [many];
  const list = (times: number): string =>
    `[JSONPatch{op: "add", path: "/l", value: ${Array.from({ length: times }, () => "variables.many").join(" + ")}}]`;
  const insertions = `variables.many.map(x, JSONPatch{op: "add", path: "/l/0", value: x})`;
  const all = Array.from({ length: 16_000 }, () => "x");
  await check([patch(`${list(3)} + ${insertions}`)], map(), { ...map(), l: all }, { variables });
  await check([patch(`${list(8)} + ${insertions} + ${insertions}`)], map(), text, { variables });
});
