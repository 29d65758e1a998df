/**
 * Expressions that take a long time: they are checked in threads when they are written, and compiled and evaluated in
 * pieces.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { patchTypes } from "../client.ts";
import { crds, custom, definition } from "../crds.ts";
import { type Api, eventually, gated, usingServer } from "../harness.ts";
import { configMap } from "../objects.ts";

const admission = "/apis/admissionregistration.k8s.io/v1";
const configMaps = "/api/v1/namespaces/default/configmaps";

const rules = (...texts: readonly string[]): object => ({
  "x-kubernetes-validations": texts.map((rule) => ({ rule })),
});
const listSchema = (...texts: readonly string[]): object => ({
  type: "object",
  properties: { l: { type: "array", maxItems: 450, items: { type: "integer" }, ...rules(...texts) } },
});

const withServer = (run: (api: Api) => Promise<void>): Promise<void> => usingServer("k8s.io", gated, run);

/** Returns whether the work starts a thread. The server must not have one yet. */
async function beginsThread(work: () => Promise<unknown>): Promise<boolean> {
  let begun = false;
  const begin = (): void => void (begun = true);
  process.once("worker", begin);
  await work();
  process.off("worker", begin);
  return begun;
}

/** Returns the number of rounds that the event loop made during the work. */
async function roundsDuring(work: () => Promise<unknown>): Promise<number> {
  let rounds = 0;
  let isCounting = true;
  const count = (): void => {
    rounds++;
    if (isCounting) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isCounting = false;
  return rounds;
}

/** Returns the usual number of rounds of such work: the middle one of five tries, as other programs may delay one. */
async function usualRounds(work: (at: number) => Promise<unknown>): Promise<number> {
  const rounds: number[] = [];
  for (let at = 0; at < 5; at++) rounds.push(await roundsDuring(() => work(at)));
  return rounds.sort((a, b) => a - b)[2]!; // there are five
}

const policy = (name: string, ...expressions: readonly string[]): object => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
  metadata: { name },
  spec: {
    matchConstraints: {
      resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
    },
    validations: expressions.map((expression) => ({ expression })),
  },
});

const webhooks = (expression: string): object => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  metadata: { name: "conditional" },
  webhooks: [
    {
      name: "a.example.com",
      clientConfig: { url: "https://127.0.0.1:1/" },
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
      matchConditions: [{ name: "c", expression }],
    },
  ],
});

const many = Array.from({ length: 100 }, (_, at) => `self.size() != ${at + 1000}`);

for (const [what, path, few, body] of [
  [
    "a definition",
    crds,
    definition("few.example.com", { schema: listSchema("self.size() < 5") }),
    definition("many.example.com", { schema: listSchema(...many) }),
  ],
  [
    "a policy",
    `${admission}/validatingadmissionpolicies`,
    policy("few", "object.metadata.name != 'x'"),
    policy("many", ...many.map((text) => text.replace("self", "object.metadata.name"))),
  ],
  [
    "a webhook configuration",
    `${admission}/validatingwebhookconfigurations`,
    webhooks("object.metadata.name != 'x'"),
    webhooks(many.map((text) => text.replace("self", "object.metadata.name")).join(" && ")),
  ],
] as const) {
  test(`${what} with many expressions is checked in a thread, one with few is not`, async () => {
    await withServer(async (api) => {
      assert.equal(await beginsThread(async () => (await api.post(`${path}?dryRun=All`, few)).expect(201)), false);
      assert.equal(await beginsThread(async () => (await api.post(`${path}?dryRun=All`, body)).expect(201)), true);
    });
  });
}

test("a small patch that gives a definition many expressions is checked in a thread", async () => {
  await withServer(async (api) => {
    const group = "patched.example.com";
    (await api.post(crds, definition(group, { schema: listSchema(...many.slice(0, 10)) }))).expect(201);
    const from = "/spec/versions/0/schema/openAPIV3Schema/properties/l/x-kubernetes-validations";
    const copies = Array.from({ length: 90 }, (_, at) => ({
      op: "copy",
      from: `${from}/${at % 10}`,
      path: `${from}/-`,
    }));
    const patch = () => api.patch(`${crds}/widgets.${group}`, copies, patchTypes.json);
    assert.equal(await beginsThread(async () => (await patch()).expect(200)), true);
  });
});

test("others have a turn while the rules of an object are compiled and evaluated", async () => {
  await withServer(async (api) => {
    const group = "costly.example.com";
    const texts = Array.from({ length: 14 }, (_, at) => `self.all(a, self.all(b, a + b + ${at} >= 0))`);
    (await api.post(crds, definition(group, { schema: listSchema(...many, ...texts) }))).expect(201);
    const widgets = `/apis/${group}/v1/widgets`;
    await eventually(async () => (await api.get(widgets)).expect(200));
    const create = (name: string, length: number) => () =>
      api.post(widgets, custom(group, name, { l: Array.from({ length }, (_, at) => at) }));
    await roundsDuring(create("first", 1));
    const usual = await usualRounds((at) => create(`small-${at}`, 1)());
    const costly = await roundsDuring(create("costly", 300));
    assert.ok(costly > usual + 10, `${costly} rounds, ${usual} for a small one`);
  });
});

test("others have a turn while the policies that a request is the first to meet are compiled", async () => {
  await withServer(async (api) => {
    const expressions = Array.from({ length: 400 }, (_, at) => `object.metadata.name != 'name-${at}' || ${at} == -1`);
    (await api.post(`${admission}/validatingadmissionpolicies`, policy("many", ...expressions))).expect(201);
    const binding = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: "many" },
      spec: { policyName: "many", validationActions: ["Warn"] },
    };
    (await api.post(`${admission}/validatingadmissionpolicybindings`, binding)).expect(201);
    const first = await roundsDuring(() => api.post(configMaps, configMap("first")));
    const usual = await usualRounds((at) => api.post(configMaps, configMap(`later-${at}`)));
    assert.ok(first > usual + 10, `${first} rounds, then ${usual}`);
  });
});

const longExpression = (term: (at: number) => string): string =>
  Array.from({ length: 3000 }, (_, at) => term(at)).join(" && ");

test("others have a turn while a policy's one long expression is compiled", async () => {
  await withServer(async (api) => {
    const expression = longExpression((at) => `request.name != '${at}'`);
    (await api.post(`${admission}/validatingadmissionpolicies`, policy("long", expression))).expect(201);
    const binding = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: "long" },
      spec: { policyName: "long", validationActions: ["Deny"] },
    };
    (await api.post(`${admission}/validatingadmissionpolicybindings`, binding)).expect(201);
    const creates = Array.from({ length: 3 }, (_, at) => () => api.post(configMaps, configMap(`first-${at}`)));
    // Requests that arrive meanwhile wait for the same compilation.
    const first = await roundsDuring(async () => {
      for (const answer of await Promise.all(creates.map((create) => create()))) answer.expect(201);
    });
    const usual = await usualRounds(async (at) => (await api.post(configMaps, configMap(`later-${at}`))).expect(201));
    assert.ok(first > usual + 10, `${first} rounds, then ${usual}`);
    (await api.post(configMaps, configMap("17"))).expect(422);
  });
});

test("others have a turn while one long rule of a custom resource is compiled", async () => {
  await withServer(async (api) => {
    const group = "long.example.com";
    const rule = longExpression((at) => `self.size() != ${at + 9}`);
    (await api.post(crds, definition(group, { schema: listSchema(rule) }))).expect(201);
    const widgets = `/apis/${group}/v1/widgets`;
    await eventually(async () => (await api.get(widgets)).expect(200));
    const create = (name: string, length: number) =>
      api.post(widgets, custom(group, name, { l: Array.from({ length }, (_, at) => at) }));
    const first = await roundsDuring(async () => (await create("first", 1)).expect(201));
    const usual = await usualRounds(async (at) => (await create(`later-${at}`, 1)).expect(201));
    assert.ok(first > usual + 10, `${first} rounds, then ${usual}`);
    (await create("refused", 20)).expect(422);
  });
});

/** Returns an expression for a list in which a list is doubled 30 times. */
const doublingExpression = (first: string): string => `[[${first}]]${".map(v, [v, v])".repeat(30)}`;

test("a rule about a value that doubles 30 times ends at its bound, and its message is another piece", async () => {
  await withServer(async (api) => {
    const group = "doubled.example.com";
    const a = { type: "string", ...rules(`${doublingExpression("self")} == ${doublingExpression("self")}`) };
    const b = {
      type: "string",
      "x-kubernetes-validations": [
        { rule: "false", messageExpression: `'%s'.format([${doublingExpression("self")}])` },
      ],
    };
    (await api.post(crds, definition(group, { schema: { type: "object", properties: { a, b } } }))).expect(201);
    const widgets = `/apis/${group}/v1/widgets`;
    await eventually(async () => (await api.get(widgets)).expect(200));
    (await api.post(widgets, custom(group, "rule", { a: "x" }))).expect(422, {
      message:
        /operation cancelled: actual cost limit exceeded.*no further validation rules will be run due to call cost exceeds limit for rule/,
    });
    (await api.post(widgets, custom(group, "message", { b: "x" }))).expect(422, {
      message: /no further validation rules will be run due to call cost exceeds limit for messageExpression/,
    });
    // Other requests get turns between eight at the same time, whose answers are the same.
    const answers: { expect(code: number): unknown }[] = [];
    const rounds = await roundsDuring(async () => {
      const creates = Array.from({ length: 8 }, (_, at) => api.post(widgets, custom(group, `w${at}`, { a: "x" })));
      answers.push(...(await Promise.all(creates)));
    });
    for (const answer of answers) answer.expect(422);
    assert.ok(rounds >= 8, `${rounds} rounds`);
  });
});

test("a definition whose rules are evaluated on its own defaults is checked in a thread", async () => {
  await withServer(async (api) => {
    const schema = (more: object) => ({
      type: "object",
      properties: { a: { type: "string", ...more, ...rules("self != 'x'") } },
    });
    const create = (name: string, more: object) => async () =>
      (await api.post(`${crds}?dryRun=All`, definition(name, { schema: schema(more) }))).expect(201);
    assert.equal(await beginsThread(create("plain.example.com", {})), false);
    assert.equal(await beginsThread(create("default.example.com", { default: "y" })), true);
  });
});

test("others have a turn in a chain of variables that take long, and the value is that of the whole chain", async () => {
  await withServer(async (api) => {
    const long = "object.data.l.split(',').all(a, object.data.l.split(',').all(b, a != b || a == b))";
    const variables = [
      { name: "v0", expression: `${long} ? 1 : 0` },
      ...Array.from({ length: 6 }, (_, at) => ({
        name: `v${at + 1}`,
        expression: `${long} ? variables.v${at} + 1 : 0`,
      })),
    ];
    const chained = policy("chained", "variables.v6 != 7");
    const { spec } = chained as { readonly spec: object };
    (await api.post(`${admission}/validatingadmissionpolicies`, { ...chained, spec: { ...spec, variables } })).expect(
      201,
    );
    const binding = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: "chained" },
      spec: { policyName: "chained", validationActions: ["Deny"] },
    };
    (await api.post(`${admission}/validatingadmissionpolicybindings`, binding)).expect(201);
    const create = (name: string, length: number) => () =>
      api.post(configMaps, configMap(name, { l: Array.from({ length }, (_, at) => `${at}`).join() }));
    (await create("compiled", 2)()).expect(422);
    const usual = await usualRounds((at) => create(`short-${at}`, 2)());
    const costly = await roundsDuring(async () => (await create("long", 160)()).expect(422));
    assert.ok(costly > usual + 3, `${costly} rounds, ${usual} for a small one`);
  });
});

test("texts are matched by large patterns in a thread, where they are definitions and where they are values", async () => {
  await withServer(async (api) => {
    const group = "patterned.example.com";
    const schema = (pattern: string) => ({
      type: "object",
      properties: { a: { type: "string", pattern }, b: { type: "string", pattern: "^(?P<n>x)|(?P<n>y)$" } },
    });
    const define = (name: string, pattern: string) => async () =>
      (await api.post(`${crds}?dryRun=All`, definition(name, { schema: schema(pattern) }))).expect(201);
    assert.equal(await beginsThread(define("small.example.com", "^(a{1,100}){1,10}$")), false);
    assert.equal(await beginsThread(define("large.example.com", "(abc){1,900}")), true);
    (await api.post(crds, definition(group, { schema: schema("^(a{1,100}){1,10}$") }))).expect(201);
    const widgets = `/apis/${group}/v1/widgets`;
    await eventually(async () => (await api.get(widgets)).expect(200));
    for (const [name, fields, code] of [
      ["short", { a: "a", b: "y" }, 201],
      ["long", { a: "a".repeat(1000) }, 201],
      ["longer", { a: "a".repeat(1001) }, 422],
      ["other", { b: "z" }, 422],
    ] as const) {
      (await api.post(widgets, custom(group, name, fields))).expect(code);
    }
  });
});

test("a long text for a pattern with many ways to go on begins a thread, a short one does not", async () => {
  await withServer(async (api) => {
    const group = "ways.example.com";
    const schema = { type: "object", properties: { a: { type: "string", pattern: "^(a{1,100}){1,10}$" } } };
    (await api.post(crds, definition(group, { schema }))).expect(201);
    const widgets = `/apis/${group}/v1/widgets`;
    await eventually(async () => (await api.get(widgets)).expect(200));
    const create = (name: string, length: number) => async () =>
      (await api.post(widgets, custom(group, name, { a: "a".repeat(length) }))).expect(201);
    assert.equal(await beginsThread(create("short", 10)), false);
    assert.equal(await beginsThread(create("long", 900)), true);
  });
});
