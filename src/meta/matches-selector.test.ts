/** Labels that match LabelSelector objects, in agreement with compiled selectors. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { compileLabelSelector, type LabelSelectorObject } from "./label-selector.ts";
import { matchesSelector } from "./matches-selector.ts";

const expression = (operator: string, values?: readonly string[]): LabelSelectorObject => ({
  matchExpressions: [{ key: "rig", operator, ...(values === undefined ? {} : { values }) }],
});

const selectors: readonly LabelSelectorObject[] = [
  {},
  { matchLabels: { rig: "gaff" } },
  { matchLabels: { rig: "gaff", hull: "wood" } },
  { matchLabels: { toString: "gaff" } },
  expression("In", ["gaff", "lug"]),
  expression("NotIn", ["gaff"]),
  expression("Exists"),
  expression("DoesNotExist"),
  { ...expression("In", ["gaff"]), matchLabels: { hull: "wood" } },
];

const labels = [undefined, {}, { rig: "gaff" }, { rig: "sprit" }, { rig: "gaff", hull: "wood" }];

for (const selector of selectors) {
  test(`${JSON.stringify(selector)} matches what its compiled form matches`, () => {
    for (const one of labels)
      assert.equal(matchesSelector(selector, one), compileLabelSelector(selector)?.matches(one), JSON.stringify(one));
  });
}

test("an operator that is unknown matches nothing, nor does a name that all objects inherit", () => {
  assert.equal(matchesSelector(expression("Near"), { rig: "gaff" }), false);
  assert.equal(matchesSelector({ matchExpressions: [{ key: "toString", operator: "Exists" }] }, {}), false);
});
