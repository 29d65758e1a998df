/** Evaluation of rules in pieces, between which others have a turn. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonSchemaProps, StructuralSchema } from "#schema/structural.ts";
import { atOnce } from "#std/turn.ts";
import { CompiledRules, RuleRun } from "./evaluate.ts";

/** The pauses of a run over a value. */
function pauses(rules: CompiledRules, props: JsonSchemaProps, value: unknown): number {
  const run = new RuleRun(rules);
  const pieces = run.object(new StructuralSchema(props).node, value, {});
  let count = 0;
  while (pieces.next().done !== true) count++;
  assert.deepEqual(run.errors, []);
  return count;
}

test("rules are compiled and evaluated in different pieces", () => {
  const rules = new CompiledRules(atOnce);
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
