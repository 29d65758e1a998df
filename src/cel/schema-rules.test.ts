/** Tests rules of schemas: limits of costs, and limits of work that costs do not count. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FieldPath } from "#meta/field-path.ts";
import { checkStructural, type JsonSchemaProps, StructuralSchema, type ValidationRule } from "#schema/structural.ts";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { ruleChecks, SchemaRules } from "./schema-rules.ts";

const none = { isRule: () => false, isMessage: () => false };
const all = { isRule: () => true, isMessage: () => true };
const rules = (...texts: readonly string[]): { "x-kubernetes-validations": readonly ValidationRule[] } => ({
  "x-kubernetes-validations": texts.map((rule) => ({ rule })),
});
const integers = (more: JsonSchemaProps): JsonSchemaProps => ({
  type: "object",
  properties: { l: { type: "array", items: { type: "integer" }, ...more } },
});

const findings = (props: JsonSchemaProps, stored = none): readonly string[] =>
  checkStructural(props, FieldPath.root, { rules: ruleChecks(stored) }).map(
    ({ field, message }) => `${field}: ${message}`,
  );

const errors = async (props: JsonSchemaProps, value: unknown, old?: unknown): Promise<readonly string[]> => {
  const result = await new SchemaRules(new StructuralSchema(props)).check(value, { old });
  return result.errors.map(({ field, message }) => `${field}: ${message}`);
};

test("a macro of two variables is for rules that were stored before", () => {
  const props = integers({ maxItems: 3, ...rules("self.all(i, v, v > i)") });
  assert.match(findings(props).join(), /undeclared reference|found no matching overload|invalid/);
  assert.deepEqual(findings(props, all), []);
});

test("durations are read in every form that their format takes [EXPR-50]", async () => {
  const u: JsonSchemaProps = { type: "string", format: "duration" };
  const props: JsonSchemaProps = { type: "object", properties: { u }, ...rules("self.u == duration('48h')") };
  for (const text of ["48h", "2d", "2 days", "1d 24 hours"])
    assert.deepEqual(await errors(props, { u: text }), [], text);
  assert.equal((await errors(props, { u: "3d" })).length, 1);
});

test("thousands of rules cost as many times what one costs, to check and to evaluate", async () => {
  const many = (length: number): JsonSchemaProps =>
    integers({ maxItems: 20_000, ...rules(...Array.from({ length }, (_, at) => `self.size() != ${at + 10}`)) });
  await growsInProportion(2000, (length) => assert.deepEqual(findings(many(length)), []));
  await growsInProportion(2000, async (length) => assert.deepEqual(await errors(many(length), { l: [1] }), []));
});

test("rules that cost nothing end at the bound of work, however many values there are", async () => {
  const items: JsonSchemaProps = { type: "integer", ...rules(...Array.from({ length: 200 }, () => "true")) };
  const props: JsonSchemaProps = { type: "object", properties: { l: { type: "array", items } } };
  await growsInProportion(50_000, async (length) => {
    const findings = await errors(props, { l: Array.from({ length }, () => 1) });
    assert.equal(findings.length, 1);
    assert.match(
      findings[0]!,
      /validation failed due to running out of cost budget, no further validation rules will be run/,
    );
  });
});

test("macros and regular expressions that grow are bounded for all rules of a schema together", async () => {
  const longRule = (at: number): string => `optional.of(${at})${".optMap(x, x)".repeat(12)}.hasValue()`;
  const pattern = (at: number): string => `'a'.matches('(a|b|c){1,1000}x${at}')`;
  const ruleErrors = (length: number, text: (at: number) => string): string =>
    findings(integers(rules(...Array.from({ length }, (_, at) => text(at))))).join();
  await growsInProportion(150, (length) =>
    assert.match(ruleErrors(length, longRule), /optMap\(\) is nested too deeply/),
  );
  await growsInProportion(250, (length) =>
    assert.match(
      ruleErrors(length, pattern),
      /regular expressions of all rules must not have more than 500000 instructions/,
    ),
  );
});

test("a regular expression that is a large program is refused", () => {
  const errors = findings(
    integers(
      rules("'a'.matches('(abcdefghijklmnopqrstuvwxyz){500}')", "'a'.find('(abcdefghijklmnopqrstuvwxyz){500}') == ''"),
    ),
  );
  assert.match(errors[0]!, /invalid matches argument/);
  assert.match(errors[1]!, /program instantiation failed: error parsing regexp: expression too large/);
});

test("searches in long texts, and comparisons of large maps, end at the bound of work", async () => {
  const props: JsonSchemaProps = {
    type: "object",
    properties: { s: { type: "string" }, m: { type: "object", additionalProperties: { type: "integer" } } },
    ...rules(...Array.from({ length: 100 }, (_, at) => `self.s.findAll('a').size() > ${at} && self.m == self.m`)),
  };
  await growsInProportion(10_000, async (length) => {
    const m = Object.fromEntries(Array.from({ length }, (_, at) => [`k${at}`, at]));
    assert.match((await errors(props, { s: "a".repeat(15 * length), m })).join(), /budget|cost limit/);
  });
});

test("many values that break a rule end with a list of bounded length", async () => {
  const items: JsonSchemaProps = { type: "integer", ...rules("self > 1") };
  const props: JsonSchemaProps = { type: "object", properties: { l: { type: "array", items } } };
  assert.equal((await errors(props, { l: Array.from({ length: 100_000 }, () => 1) })).length, 500);
});

test("rules at every level of a deep and wide schema are declared once", async () => {
  const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`field${at}`, { type: "string" }]));
  await growsInProportion(150, (levels) => {
    let props: JsonSchemaProps = { type: "object", properties: wide };
    for (let depth = 0; depth < levels; depth++)
      props = { type: "object", properties: { o: props }, ...rules("has(self.o)") };
    assert.deepEqual(findings(props), []);
  });
});

test("declared members count as often as there may be others, where those are mentioned", () => {
  const text: JsonSchemaProps = { type: "string", maxLength: 20_000, ...rules("self.contains(self)") };
  const schema = (more: JsonSchemaProps): JsonSchemaProps => ({
    type: "object",
    properties: { s: { type: "object", properties: { a: text }, maxProperties: 5, ...more } },
  });
  const factor = (more: JsonSchemaProps): string =>
    /rule cost exceeds budget by factor of ([0-9.]+)x/.exec(findings(schema(more)).join())?.[1] ?? "none";
  assert.equal(factor({}), "6.4");
  assert.equal(factor({ additionalProperties: true }), "32.0");
  assert.equal(factor({ additionalProperties: { type: "string" } }), "32.0");
});

test("bytes with a character that base64 of URLs does not have cannot be read", async () => {
  const raw: JsonSchemaProps = { type: "string", format: "byte" };
  const props: JsonSchemaProps = {
    type: "object",
    properties: { raw, n: { type: "integer" } },
    "x-kubernetes-validations": [
      { rule: "self.raw.size() == 3" },
      { rule: "self.n > 1", messageExpression: "string(self.raw.size())" },
    ],
  };
  const errorsFor = (text: string) => errors(props, { raw: text, n: 1 });
  assert.deepEqual(await errorsFor("aGkg"), [`: Invalid value: "object": 3`]);
  assert.deepEqual(await errorsFor("aG/+"), [
    `: Invalid value: "object": Invalid byte formatted string aG/+: illegal base64 data at input byte 2 evaluating rule: self.raw.size() == 3`,
    `: Invalid value: "object": failed rule: self.n > 1`,
  ]);
});
