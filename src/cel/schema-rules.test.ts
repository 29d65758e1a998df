/** Rules of schemas: limits of costs, and of work that costs do not count. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FieldPath } from "#meta/field-path.ts";
import { checkStructural, type JsonSchemaProps, StructuralSchema, type ValidationRule } from "#schema/structural.ts";
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
  const found = await new SchemaRules(new StructuralSchema(props)).check(value, { old });
  return found.errors.map(({ field, message }) => `${field}: ${message}`);
};

/** `work` must end within a time far above what it needs. */
async function within(ms: number, work: () => unknown): Promise<void> {
  const began = performance.now();
  await work();
  assert.ok(performance.now() - began < ms, `took ${performance.now() - began} ms`);
}

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

test("10,000 rules are checked and evaluated in bounded time", async () => {
  const texts = Array.from({ length: 10_000 }, (_, at) => `self.size() != ${at + 10}`);
  const props = integers({ maxItems: 20_000, ...rules(...texts) });
  await within(5000, () => assert.deepEqual(findings(props), []));
  await within(5000, async () => assert.deepEqual(await errors(props, { l: [1] }), []));
});

test("rules that cost nothing end at the bound of work, however many values there are", async () => {
  const items: JsonSchemaProps = { type: "integer", ...rules(...Array.from({ length: 200 }, () => "true")) };
  const props: JsonSchemaProps = { type: "object", properties: { l: { type: "array", items } } };
  const l = Array.from({ length: 1_000_000 }, () => 1);
  await within(5000, async () => {
    const found = await errors(props, { l });
    assert.equal(found.length, 1);
    assert.match(
      found[0]!,
      /validation failed due to running out of cost budget, no further validation rules will be run/,
    );
  });
});

test("macros and regular expressions that grow are bounded for all rules of a schema together", async () => {
  const grown = rules(
    ...Array.from({ length: 300 }, (_, at) => `optional.of(${at})${".optMap(x, x)".repeat(12)}.hasValue()`),
  );
  const patterns = rules(...Array.from({ length: 500 }, (_, at) => `'a'.matches('(a|b|c){1,1000}x${at}')`));
  await within(5000, () => {
    assert.match(findings(integers(grown)).join(), /optMap\(\) is nested too deeply/);
    assert.match(
      findings(integers(patterns)).join(),
      /regular expressions of all rules must not have more than 500000 instructions/,
    );
  });
});

test("a regular expression that is a large program is refused", () => {
  const found = findings(
    integers(
      rules(
        "'a'.matches('(abcdefghijklmnopqrstuvwxyz){1000}')",
        "'a'.find('(abcdefghijklmnopqrstuvwxyz){1000}') == ''",
      ),
    ),
  );
  assert.match(found[0]!, /invalid matches argument/);
  assert.match(found[1]!, /program instantiation failed: error parsing regexp: expression too large/);
});

test("searches in long texts, and comparisons of large maps, end at the bound of work", async () => {
  const props: JsonSchemaProps = {
    type: "object",
    properties: { s: { type: "string" }, m: { type: "object", additionalProperties: { type: "integer" } } },
    ...rules(...Array.from({ length: 100 }, (_, at) => `self.s.findAll('a').size() > ${at} && self.m == self.m`)),
  };
  const m = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, at]));
  await within(5000, async () =>
    assert.match((await errors(props, { s: "a".repeat(150_000), m })).join(), /budget|cost limit/),
  );
});

test("many values that break a rule end with a list of bounded length", async () => {
  const items: JsonSchemaProps = { type: "integer", ...rules("self > 1") };
  const props: JsonSchemaProps = { type: "object", properties: { l: { type: "array", items } } };
  assert.equal((await errors(props, { l: Array.from({ length: 100_000 }, () => 1) })).length, 500);
});

test("rules at every level of a deep and wide schema are declared once", async () => {
  const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`field${at}`, { type: "string" }]));
  let props: JsonSchemaProps = { type: "object", properties: wide };
  for (let depth = 0; depth < 300; depth++)
    props = { type: "object", properties: { o: props }, ...rules("has(self.o)") };
  await within(5000, () => assert.deepEqual(findings(props), []));
});
