/** Cases of `npm run differ -- --rules`: the same seed gives the same cases, and most definitions are valid. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ruleChecks } from "#cel/schema-rules.ts";
import { FieldPath } from "#meta/field-path.ts";
import { checkStructural, type JsonSchemaProps } from "#schema/structural.ts";
import { ruleCase } from "./rules.ts";

const rules = ruleChecks({ isRule: () => false, isMessage: () => false });

void test("a seed gives the same case each time", () => {
  assert.deepEqual(ruleCase(7), ruleCase(7));
  assert.notDeepEqual(ruleCase(7), ruleCase(8));
});

void test("every schema is structural, and many have no rule that is refused", () => {
  let accepted = 0;
  for (let seed = 0; seed < 40; seed++) {
    const schema = ruleCase(seed).schema as JsonSchemaProps; // each case has a schema
    assert.deepEqual(checkStructural(schema, FieldPath.root), [], `seed ${seed}`);
    if (checkStructural(schema, FieldPath.root, { rules }).length === 0) accepted++;
  }
  assert.ok(accepted >= 15, `${accepted} of 40`);
});
