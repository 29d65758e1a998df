/** Tests the evaluation of rules in pieces, between which others have a turn. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonSchemaProps, StructuralSchema } from "#schema/structural.ts";
import { runToEnd } from "#std/cooperative.ts";
import { CompiledRules, RuleRun } from "./evaluate.ts";

/** Returns the number of pauses of a run over a value. */
function pauses(rules: CompiledRules, props: JsonSchemaProps, value: unknown): number {
  const run = new RuleRun(rules);
  const pieces = run.object(new StructuralSchema(props).node, value, {});
  let count = 0;
  while (pieces.next().done !== true) count++;
  assert.deepEqual(run.errors, []);
  return count;
}

test("rules are compiled and evaluated in different pieces", () => {
  const rules = new CompiledRules(runToEnd);
  const part: JsonSchemaProps = { type: "string", "x-kubernetes-validations": [{ rule: "self != 'a'" }] };
  const props: JsonSchemaProps = {
    type: "object",
    properties: { one: part, list: { type: "array", items: { ...part } } },
    "x-kubernetes-validations": [{ rule: "true" }],
  };
  assert.equal(pauses(rules, props, { one: "b" }), 2);
  assert.equal(pauses(rules, props, { one: "b", list: ["b", "c", "d"] }), 1);
  assert.equal(pauses(rules, props, { one: "c", list: ["e", "f"] }), 0);
});

test("others have a turn before a rule that was costly, until it has been cheap for long", () => {
  const rules = new CompiledRules(runToEnd);
  const rule = "self.size() < 100 || self.all(a, self.all(b, a == b))";
  const props: JsonSchemaProps = {
    type: "array",
    items: { type: "string" },
    "x-kubernetes-validations": [{ rule }],
  };
  const cheap = ["a"];
  const costly = Array.from({ length: 300 }, () => "a");
  pauses(rules, props, cheap);
  assert.equal(pauses(rules, props, cheap), 0);
  assert.equal(pauses(rules, props, costly), 0);
  assert.equal(pauses(rules, props, costly), 1);
  assert.equal(pauses(rules, props, cheap), 1);
  // A run that is alone in its turn may evaluate many cheap rules without a pause.
  const lists: JsonSchemaProps = { type: "array", items: props };
  assert.equal(
    pauses(
      rules,
      lists,
      Array.from({ length: 50 }, () => cheap),
    ),
    1,
  );
  pauses(rules, props, costly);
  let later = 0;
  while (pauses(rules, props, cheap) > 0) later++;
  assert.ok(later > 0 && later < 100, `${later} times`);
});
