/**
 * Rules of custom resources, `x-kubernetes-validations`: invalid rules are refused with the definition, and valid ones
 * are evaluated at writes.
 */
import assert from "node:assert/strict";
import { patchTypes } from "../client.ts";
import { crds, custom, definition } from "../crds.ts";
import { type Api, eventually, suite } from "../harness.ts";

const inBothDomains = suite();

type Schema = Readonly<Record<string, unknown>>;
interface Rule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

const rules = (...given: readonly (Rule | string)[]): Schema => ({
  "x-kubernetes-validations": given.map((rule) => (typeof rule === "string" ? { rule } : rule)),
});
const text = (more: Schema = {}): Schema => ({ type: "string", ...more });
const integer = (more: Schema = {}): Schema => ({ type: "integer", ...more });
const list = (items: Schema, more: Schema = {}): Schema => ({ type: "array", items, ...more });
const object = (properties: Schema, more: Schema = {}): Schema => ({ type: "object", properties, ...more });
/** Returns a schema whose spec has these fields. */
const spec = (properties: Schema, more: Schema = {}): Schema => object({ spec: object(properties, more) });

const widgets = (group: string): string => `/apis/${group}/v1/widgets`;

/** Creates the definition and waits until it is served. */
async function install(api: Api, group: string, schema: Schema, version: object = {}): Promise<void> {
  (await api.post(crds, definition(group, { schema, version }))).expect(201);
  await eventually(async () => (await api.get(widgets(group))).expect(200));
}

/** Returns the causes of a refused definition, without the path of the schema and without the rule in Go syntax. */
async function refusal(api: Api, schema: Schema): Promise<string[]> {
  const answer = (await api.post(`${crds}?dryRun=All`, definition("refused.example.com", { schema }))).expect(422);
  return causes(answer).map((cause) =>
    cause
      .replaceAll("spec.validation.openAPIV3Schema", "$")
      .replace(/Invalid value: apiextensions\.ValidationRule\{.*?\(nil\)\}: /, ""),
  );
}

function causes(answer: { readonly text: string }): string[] {
  const { details } = JSON.parse(answer.text) as {
    details: { causes: readonly { reason: string; field: string; message: string }[] };
  };
  return details.causes.map(({ field, message }) => `${field}: ${message}`);
}

const advice =
  "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";

inBothDomains("a rule that does not compile is refused with its definition [EXPR-01] [EXPR-58]", async (api) => {
  const refuse = (rule: Rule | string) => refusal(api, spec({ i: integer(), s: text() }, rules(rule)));
  const at = "$.properties[spec].x-kubernetes-validations[0]";
  assert.deepEqual(await refuse("self.i = 1"), [
    `${at}.rule: compilation failed: ERROR: <input>:1:8: Syntax error: token recognition error at: '= '\n | self.i = 1\n | .......^\n` +
      "ERROR: <input>:1:10: Syntax error: extraneous input '1' expecting <EOF>\n | self.i = 1\n | .........^",
  ]);
  assert.deepEqual(await refuse("self.s > 1"), [
    `${at}.rule: compilation failed: ERROR: <input>:1:8: found no matching overload for '_>_' applied to '(string, int)'\n | self.s > 1\n | .......^`,
  ]);
  assert.deepEqual(await refuse("self.i"), [`${at}.rule: cel expression must evaluate to a bool`]);
  assert.deepEqual(await refuse("self.s.find('(?=a)') == ''"), [
    `${at}.rule: program instantiation failed: error parsing regexp: invalid or unsupported Perl syntax: \`(?=\``,
  ]);
  assert.deepEqual(await refuse({ rule: "true", messageExpression: "self.i" }), [
    `${at}.messageExpression: messageExpression must evaluate to a string`,
  ]);
  assert.deepEqual(await refuse({ rule: "self.i > 0", optionalOldSelf: false }), [
    `${at}.optionalOldSelf: Invalid value: false: may not be set if oldSelf is not used in rule`,
  ]);
});

inBothDomains("a rule is not looked at below or beside what is wrong with its schema", async (api) => {
  const schema = spec({ a: text({ ...rules("self.nope"), "x-kubernetes-list-type": "other" }) }, rules("self.nope"));
  assert.deepEqual(
    (await refusal(api, schema)).filter((cause) => cause.includes("nope")),
    [],
  );
});

inBothDomains("oldSelf is refused where old and new values cannot be paired", async (api) => {
  const schema = spec({ l: list(text(rules("self == oldSelf")), { maxItems: 5 }) });
  assert.deepEqual(await refusal(api, schema), [
    '$.properties[spec].properties[l].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within $.properties[spec].properties[l]',
  ]);
});

inBothDomains(
  "a rule whose estimate is too high is refused, and so are many together [ERR-07] [LIMIT-06]",
  async (api) => {
    const once = rules("self.all(a, self.all(b, a + b >= 0))");
    assert.deepEqual(await refusal(api, spec({ l: list(integer(), { maxItems: 2000, ...once }) })), [
      `$.properties[spec].properties[l].x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of 2.8x ${advice}`,
    ]);
    const group = "grown.example.com";
    await install(api, group, spec({ l: list(integer(), { maxItems: 200, ...once }) }));
    const schema = spec({ l: list(integer(), { maxItems: 2000, ...once }) });
    const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }];
    const answer = await api.patch(`${crds}/widgets.${group}`, { spec: { versions } }, patchTypes.merge);
    answer.expectFailure(422, "Invalid", /estimated rule cost exceeds budget by factor of 2\.8x/);
    const many = rules(...Array.from({ length: 12 }, () => "self.all(a, self.all(b, a + b >= 0))"));
    const causes = await refusal(api, spec({ l: list(integer(), { maxItems: 1150, ...many }) }));
    const part = "Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
    assert.deepEqual(causes, [
      ...[0, 1, 2, 3].map((at) => `$.properties[spec].properties[l].x-kubernetes-validations[${at}].rule: ${part}`),
      `$: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of 1.111590x ${advice}`,
    ]);
  },
);

inBothDomains(
  "rules see objects at every place of the schema, and answer with their message and reason",
  async (api) => {
    const group = "places.example.com";
    await install(
      api,
      group,
      object({
        spec: object(
          {
            min: integer(),
            max: integer(rules({ rule: "self < 100", reason: "FieldValueForbidden", message: "too much" })),
            l: list(text(rules("self.size() < 3")), { maxItems: 9 }),
            m: { type: "object", maxProperties: 9, additionalProperties: integer(rules("self > 0")) },
            o: object({ c: text() }),
          },
          rules(
            { rule: "!has(self.min) || self.min <= self.max", messageExpression: "string(self.min)" },
            {
              rule: "!has(self.o) || has(self.o.c)",
              fieldPath: ".o.c",
              reason: "FieldValueRequired",
              message: "needed",
            },
          ),
        ),
      }),
    );
    const expectRefusal = async (given: object, wanted: readonly string[]): Promise<void> => {
      assert.deepEqual(
        causes((await api.post(widgets(group), custom(group, "a", { spec: given }))).expect(422)),
        wanted,
      );
    };
    await expectRefusal({ min: 2, max: 1 }, ['spec: Invalid value: "object": 2']);
    await expectRefusal({ min: 2 }, [
      'spec: Invalid value: "object": no such key: max evaluating rule: !has(self.min) || self.min <= self.max',
    ]);
    await expectRefusal({ max: 100 }, ["spec.max: Forbidden: too much"]);
    await expectRefusal({ l: ["ok", "long"] }, ['spec.l[1]: Invalid value: "string": failed rule: self.size() < 3']);
    await expectRefusal({ m: { a: 0 } }, ['spec.m[a]: Invalid value: "integer": failed rule: self > 0']);
    await expectRefusal({ o: {} }, ["spec.o.c: Required value: needed"]);
    await expectRefusal({ max: "1" }, [
      'spec.max: Invalid value: "string": spec.max in body must be of type integer: "string"',
      '<nil>: Invalid value: "null": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    ]);
    (await api.post(widgets(group), custom(group, "a", { spec: { min: 1, max: 2, l: ["a"], m: { a: 1 } } }))).expect(
      201,
    );
  },
);

inBothDomains("a field of an unknown type is asked for with has() [EXPR-59]", async (api) => {
  const group = "has.example.com";
  const open = { "x-kubernetes-int-or-string": true };
  await install(api, group, spec({ x: open }, rules("has(self.x) && self.x == 1")));
  (await api.post(widgets(group), custom(group, "a", { spec: {} }))).expectFailure(422, "Invalid", /failed rule/);
  (await api.post(widgets(group), custom(group, "a", { spec: { x: "1" } }))).expectFailure(
    422,
    "Invalid",
    /failed rule/,
  );
  (await api.post(widgets(group), custom(group, "a", { spec: { x: 1 } }))).expect(201);
});

inBothDomains("rules compare with the object before, by the keys of lists and maps", async (api) => {
  const group = "before.example.com";
  const grows = integer(rules({ rule: "self >= oldSelf", message: "grows" }));
  const keyed = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], maxItems: 9 };
  await install(
    api,
    group,
    spec({
      items: list(object({ name: text(), v: grows }, { required: ["name"] }), keyed),
      once: text(rules({ rule: "!oldSelf.hasValue()", optionalOldSelf: true, message: "set once" })),
    }),
  );
  const both = [
    { name: "a", v: 5 },
    { name: "b", v: 1 },
  ];
  (await api.post(widgets(group), custom(group, "w", { spec: { items: both } }))).expect(201);
  const change = (given: object) => api.patch(`${widgets(group)}/w`, { spec: given }, patchTypes.merge);
  (await change({ items: both.toReversed() })).expect(200);
  const less = (
    await change({
      items: [
        { name: "b", v: 1 },
        { name: "a", v: 4 },
      ],
    })
  ).expect(422);
  assert.deepEqual(causes(less), ['spec.items[1].v: Invalid value: "integer": grows']);
  (await change({ once: "a" })).expect(200);
  assert.deepEqual(causes((await change({ once: "b" })).expect(422)), ['spec.once: Invalid value: "string": set once']);
});

inBothDomains("an optional old value is read without its schema, as in 1.32", async (api) => {
  const group = "untyped.example.com";
  const dynRule = (rule: string): Rule => ({
    rule: `!oldSelf.hasValue() || ${rule}`,
    optionalOldSelf: true,
    message: rule,
  });
  const day = text({ format: "date" });
  const names = list(text({ maxLength: 9 }), { "x-kubernetes-list-type": "set", maxItems: 9 });
  const given = [
    // Names are not escaped, whether they are absent or not.
    "oldSelf.value().dash__dash__ed == 'a'",
    "has(oldSelf.value().dash__dash__ed)",
    "oldSelf.value().plain == 'a'",
    // A date is a text, and a set is a list in its order.
    "self.day == oldSelf.value().day",
    "oldSelf.value().names == ['b', 'a']",
    "oldSelf.value().names == ['a', 'b']",
    "self.names == oldSelf.value().names",
    // An absent value and null differ.
    "has(oldSelf.value().none)",
  ];
  const fields = { "dash-ed": text(), plain: text(), day, names, none: text({ nullable: true }) };
  await install(api, group, spec(fields, rules(...given.map(dynRule))));
  const old = { "dash-ed": "a", plain: "a", day: "2024-01-02", names: ["a", "b"], none: null };
  (await api.post(widgets(group), custom(group, "w", { spec: old }))).expect(201);
  const change = { spec: { names: ["b", "a"] } };
  const at = 'spec: Invalid value: "object"';
  assert.deepEqual(causes((await api.patch(`${widgets(group)}/w`, change, patchTypes.merge)).expect(422)), [
    `${at}: no such key: dash__dash__ed evaluating rule: ${given[0]}`,
    ...[1, 3, 4].map((index) => `${at}: ${given[index]}`),
  ]);
});

const rangeSchema = (...given: readonly string[]): Schema =>
  object({ spec: object({ min: integer(), max: integer() }, rules(...given)), status: object({ phase: text() }) });

async function changeRules(api: Api, group: string, ...given: readonly string[]) {
  const schema = { openAPIV3Schema: rangeSchema(...given) };
  const versions = [{ name: "v1", served: true, storage: true, subresources: { status: {} }, schema }];
  return await api.patch(`${crds}/widgets.${group}`, { spec: { versions } }, patchTypes.merge);
}

inBothDomains("a rule that came later is a warning until what it is about changes", async (api) => {
  const group = "later.example.com";
  await install(api, group, rangeSchema(), { subresources: { status: {} } });
  (await api.post(widgets(group), custom(group, "w", { spec: { min: 5, max: 1 } }))).expect(201);
  (await changeRules(api, group, "self.min <= self.max")).expect(200);
  const change = (given: object) => api.patch(`${widgets(group)}/w`, given, patchTypes.merge);
  await eventually(async () => (await change({ spec: { min: 6 } })).expect(422));
  const warning = 'spec: Invalid value: "object": failed rule: self.min <= self.max';
  const labelled = (await change({ metadata: { labels: { a: "b" } } })).expect(200);
  assert.deepEqual(labelled.warnings, [warning]);
  // Rules without a value, and writes of the status, tolerate nothing.
  (await changeRules(api, group, "self.min <= self.max", "self.min / 0 == 1")).expect(200);
  const failed = 'spec: Invalid value: "object": division by zero evaluating rule: self.min / 0 == 1';
  await eventually(async () => (await change({ metadata: { labels: { a: "c" } } })).expect(422));
  assert.deepEqual(causes((await change({ metadata: { labels: { a: "c" } } })).expect(422)), [failed]);
  (await changeRules(api, group, "self.min <= self.max")).expect(200);
  await eventually(async () => (await change({ metadata: { labels: { a: "d" } } })).expect(200));
  const status = await api.patch(`${widgets(group)}/w/status`, { status: { phase: "x" } }, patchTypes.merge);
  assert.deepEqual(causes(status.expect(422)), [warning]);
});

inBothDomains("a default has to keep the rules of its schema", async (api) => {
  const refuse = (field: Schema) => refusal(api, spec({ n: integer({ default: 1, ...field }) }));
  const at = '$.properties[spec].properties[n].default: Invalid value: "integer"';
  assert.deepEqual(await refuse(rules("self > 3")), [`${at}: failed rule: self > 3`]);
  assert.deepEqual(await refuse(rules("self > oldSelf")), [`${at}: failed rule: self > oldSelf`]);
  const absent = { rule: "oldSelf.hasValue()", optionalOldSelf: true };
  assert.deepEqual(await refuse(rules(absent)), [`${at}: failed rule: oldSelf.hasValue()`]);
});

inBothDomains("a literal format that cannot print its arguments is refused", async (api) => {
  const refuse = (rule: string) => refusal(api, spec({ s: text() }, rules(rule)));
  const at = "$.properties[spec].x-kubernetes-validations[0].rule: compilation failed: ERROR: <input>";
  const source = "'%d'.format([self.s]) == ''";
  const clause = "error during formatting: decimal clause can only be used on integers, was given string";
  assert.deepEqual(await refuse(source), [`${at}:1:18: ${clause}\n | ${source}\n | .................^`]);
  assert.match(
    (await refuse("'%s'.format([1, 2]) == ''")).join(),
    /too many arguments supplied to string.format \(expected 1, got 2\)/,
  );
  assert.match((await refuse("'%s'.format([]) == ''")).join(), /1:12: index 0 out of range/);
  assert.match(
    (await refuse("'%z'.format([1]) == ''")).join(),
    /could not parse formatting clause: unrecognized formatting clause "z"/,
  );
});

inBothDomains("a literal of which no time or duration can be made is refused", async (api) => {
  const refuse = async (rule: string): Promise<string> => (await refusal(api, spec({ s: text() }, rules(rule)))).join();
  for (const literal of ["'x'", "1", "-1", "null"])
    assert.match(await refuse(`duration(${literal}) > duration('1s')`), /1:10: invalid duration argument/, literal);
  for (const literal of ["'x'", "253402300800", "-62135596801", "null"])
    assert.match(await refuse(`timestamp(${literal}) > timestamp(0)`), /1:11: invalid timestamp argument/, literal);
});

inBothDomains("a dry run of a create shows the default of the status", async (api) => {
  const group = "default.example.com";
  const status = object({ phase: text() }, { default: { phase: "New" } });
  await install(api, group, object({ status }), { subresources: { status: {} } });
  const answer = await api.post(`${widgets(group)}?dryRun=All`, custom(group, "w"));
  answer.expect(201, { "status.phase": "New" });
});

inBothDomains("rules hold for the status as well", async (api) => {
  const group = "status.example.com";
  const done = rules({ rule: "oldSelf.phase != 'Done' || self.phase == 'Done'", message: "Done is final" });
  const schema = object({ status: object({ phase: text() }, { required: ["phase"], ...done }) });
  await install(api, group, schema, { subresources: { status: {} } });
  (await api.post(widgets(group), custom(group, "w"))).expect(201);
  const change = (phase: string) => api.patch(`${widgets(group)}/w/status`, { status: { phase } }, patchTypes.merge);
  (await change("Done")).expect(200);
  assert.deepEqual(causes((await change("Again")).expect(422)), ['status: Invalid value: "object": Done is final']);
});

inBothDomains("an evaluation beyond its budget is refused, others go on [LIMIT-05]", async (api) => {
  const group = "budget.example.com";
  const pairs = { rule: "self.all(a, self.all(b, a + b >= 0))", message: "pairs" };
  await install(api, group, spec({ l: list(integer(), { maxItems: 1000, ...rules(pairs, "self.size() < 2000") }) }));
  const l = Array.from({ length: 900 }, (_, at) => at);
  const answer = (await api.post(widgets(group), custom(group, "a", { spec: { l } }))).expect(422);
  assert.deepEqual(causes(answer), [
    "spec.l: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: pairs",
  ]);
  (await api.post(widgets(group), custom(group, "a", { spec: { l: [1, 2, 3] } }))).expect(201);
});

inBothDomains("large objects have to keep the same rules", async (api) => {
  const group = "large.example.com";
  const l = list(text({ maxLength: 100, ...rules("self != 'bad'") }), { maxItems: 20_000 });
  await install(api, group, spec({ l }, rules({ rule: "self.l.size() >= oldSelf.l.size()", message: "grows" })));
  const many = Array.from({ length: 3000 }, (_, at) => `${at} of thirty hundred that are there`);
  const answer = await api.post(widgets(group), custom(group, "w", { spec: { l: [...many, "bad"] } }));
  assert.deepEqual(causes(answer.expect(422)), [`spec.l[3000]: Invalid value: "string": failed rule: self != 'bad'`]);
  (await api.post(widgets(group), custom(group, "w", { spec: { l: many } }))).expect(201);
  const shorter = await api.patch(`${widgets(group)}/w`, { spec: { l: many.slice(1) } }, patchTypes.merge);
  assert.deepEqual(causes(shorter.expect(422)), ['spec: Invalid value: "object": grows']);
});

inBothDomains(
  "definitions with rules made to hurt get a clear answer while others are served",
  async (api) => {
    const group = "hurt.example.com";
    const longRule = (at: number): string => `optional.of(${at})${".optMap(x, x)".repeat(12)}.hasValue()`;
    const hostile = [
      Array.from({ length: 10_000 }, (_, at) => `self.size() != ${at + 10}`),
      Array.from({ length: 250 }, (_, at) => longRule(at)),
      Array.from({ length: 1000 }, (_, at) => `'a'.matches('(a|b|c){1,1000}x${at}')`),
      Array.from({ length: 100 }, () => `${"self.all(a, ".repeat(40)}true${")".repeat(40)}`),
      ["(".repeat(20_000)],
      Array.from({ length: 2000 }, (_, at) => `self.nope${at}`),
    ];
    for (const given of hostile) {
      const posted = api.post(
        crds,
        definition(group, { schema: spec({ l: list(integer(), { maxItems: 9, ...rules(...given) }) }) }),
      );
      (await api.get("/api/v1/namespaces/default")).expect(200);
      const answer = await posted;
      assert.ok([201, 422].includes(answer.status), answer.title);
      if (answer.status !== 201) continue;
      (await api.post(widgets(group), custom(group, "x", { spec: { l: [1, 2] } }))).expect([201, 422]);
      (await api.delete(`${crds}/widgets.${group}`)).expect(200);
      await eventually(async () => (await api.get(`${crds}/widgets.${group}`)).expect(404));
    }
  },
  { differs: "1.32 has no bound for some of them" },
);

inBothDomains("all rules of an object share a budget [LIMIT-06]", async (api) => {
  const group = "shared.example.com";
  const pairs = Array.from({ length: 14 }, (_, at) => `self.all(a, self.all(b, a + b + ${at} >= 0))`);
  await install(api, group, spec({ l: list(integer(), { maxItems: 450, ...rules(...pairs) }) }));
  const l = Array.from({ length: 340 }, (_, at) => at);
  const answer = (await api.post(widgets(group), custom(group, "a", { spec: { l } }))).expect(422);
  assert.deepEqual(causes(answer), [
    'spec.l: Invalid value: "array": validation failed due to running out of cost budget, no further validation rules will be run',
  ]);
});
