/** LabelSelector objects: validation, matching, text form. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { printFieldError } from "./field-error.ts";
import { FieldPath } from "./field-path.ts";
import {
  compileLabelSelector,
  formatLabelSelector,
  type LabelSelectorObject,
  printLabelSelector,
  validateLabelSelector,
} from "./label-selector.ts";

const check = (selector: LabelSelectorObject, ...expected: string[]) =>
  assert.deepEqual(validateLabelSelector(selector, FieldPath.of("spec", "selector")).map(printFieldError), expected);

test("operators, keys and values of a selector are checked", () => {
  check({});
  check({ matchLabels: { a: "b" }, matchExpressions: [{ key: "c", operator: "In", values: ["d"] }] });
  const at = "spec.selector.matchExpressions[0]";
  check(
    { matchExpressions: [{ key: "a", operator: "In" }] },
    `${at}.values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
  );
  check(
    { matchExpressions: [{ key: "a", operator: "Exists", values: ["b"] }] },
    `${at}.values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`,
  );
  check(
    { matchExpressions: [{ key: "a", operator: "Near" }] },
    `${at}.operator: Invalid value: "Near": not a valid selector operator`,
  );
  assert.equal(validateLabelSelector({ matchLabels: { "bad key": "-" } }, FieldPath.of("s")).length, 2);
  const odd = { matchExpressions: [{ key: "a", operator: "In", values: ["-"] }] };
  assert.match(
    printFieldError(validateLabelSelector(odd, FieldPath.of("s"))[0]!),
    /^s.matchExpressions\[0\].values\[0\]: Invalid/,
  );
  assert.deepEqual(validateLabelSelector(odd, FieldPath.of("s"), { allowInvalidValues: true }), []);
});

test("a selector object means what its parts say", () => {
  const compiled = compileLabelSelector({
    matchLabels: { a: "1" },
    matchExpressions: [
      { key: "b", operator: "NotIn", values: ["x"] },
      { key: "c", operator: "DoesNotExist" },
    ],
  });
  assert.equal(compiled?.matches({ a: "1", b: "y" }), true);
  assert.equal(compiled?.matches({ a: "1", b: "x" }), false);
  assert.equal(compiled?.matches({ a: "1", c: "" }), false);
  assert.equal(compileLabelSelector({})?.matches(undefined), true);
  assert.equal(compileLabelSelector({ matchExpressions: [{ key: "a", operator: "Near" }] }), undefined);
});

test("a selector is shown as text, and as Go prints it in errors", () => {
  assert.equal(formatLabelSelector(undefined), "<none>");
  assert.equal(formatLabelSelector({}), "<none>");
  assert.equal(formatLabelSelector({ matchExpressions: [{ operator: "Near" }] }), "<error>");
  const both = { matchLabels: { b: "1" }, matchExpressions: [{ key: "a", operator: "In", values: ["y", "x"] }] };
  assert.equal(formatLabelSelector(both), "a in (x,y),b=1");
  assert.equal(
    printLabelSelector({}),
    "v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement(nil)}",
  );
  assert.equal(
    printLabelSelector(both),
    'v1.LabelSelector{MatchLabels:map[string]string{"b":"1"}, MatchExpressions:[]v1.LabelSelectorRequirement{v1.LabelSelectorRequirement{Key:"a", Operator:"In", Values:[]string{"y", "x"}}}}',
  );
});
