/**
 * LabelSelector objects in the specs of kinds: validation, compiled form and text. Source: upstream's
 * `apis/meta/v1/validation` and `FormatLabelSelector`.
 */
import { addAll } from "#std/add-all.ts";
import { type FieldError, forbidden, goQuote, goStruct, goTexts, invalid, required } from "./field-error.ts";
import type { FieldPath } from "./field-path.ts";
import { labelValue, qualifiedName } from "./names.ts";
import { compileLabels, type LabelOperator, type LabelRequirement, type LabelSelector } from "./selector.ts";
import { validateLabels } from "./validate-object-meta.ts";

export interface LabelSelectorRequirement {
  readonly key?: string;
  readonly operator?: string;
  readonly values?: readonly string[] | null;
}

export interface LabelSelectorObject {
  readonly matchLabels?: Readonly<Record<string, string>> | null;
  readonly matchExpressions?: readonly LabelSelectorRequirement[] | null;
}

const operators: ReadonlyMap<string, LabelOperator> = new Map([
  ["In", "in"],
  ["NotIn", "notin"],
  ["Exists", "exists"],
  ["DoesNotExist", "!"],
]);

/** Returns the errors below `field`. Invalid label values may be tolerated, for objects stored before. */
export function validateLabelSelector(
  selector: LabelSelectorObject,
  field: FieldPath,
  options: { readonly allowInvalidValues?: boolean } = {},
): FieldError[] {
  const errors = validateLabels(selector.matchLabels ?? undefined, field.child("matchLabels"));
  const expressions = field.child("matchExpressions");
  for (const [index, expression] of (selector.matchExpressions ?? []).entries()) {
    const path = expressions.index(index);
    const { operator = "" } = expression;
    addAll(errors, validateSelectorValues(expression, path));
    if (!operators.has(operator)) {
      errors.push(invalid(path.child("operator"), operator, "not a valid selector operator"));
    }
    addAll(errors, validateLabelRequirement(expression, path, options));
  }
  return errors;
}

/** Returns an error when values are missing or present against the operator's rule. Unknown operators have no rule. */
export function validateSelectorValues(
  { operator, values }: LabelSelectorRequirement,
  path: FieldPath,
): readonly FieldError[] {
  const count = (values ?? []).length;
  if ((operator === "In" || operator === "NotIn") && count === 0) {
    return [required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'")];
  }
  if ((operator === "Exists" || operator === "DoesNotExist") && count > 0) {
    const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
    return [forbidden(path.child("values"), detail)];
  }
  return [];
}

/** Returns the errors of a key and values that cannot be those of a label. */
export function validateLabelRequirement(
  { key = "", values }: LabelSelectorRequirement,
  path: FieldPath,
  options: { readonly allowInvalidValues?: boolean } = {},
): readonly FieldError[] {
  const errors = qualifiedName(key).map((message) => invalid(path.child("key"), key, message));
  if (options.allowInvalidValues === true) return errors;
  for (const [at, value] of (values ?? []).entries()) {
    for (const message of labelValue(value)) errors.push(invalid(path.child("values").index(at), value, message));
  }
  return errors;
}

/**
 * Returns the compiled selector; `undefined` when it is invalid. A selector without requirements selects everything;
 * callers handle an absent one, which selects nothing.
 */
export function compileLabelSelector(selector: LabelSelectorObject): LabelSelector | undefined {
  const requirements: LabelRequirement[] = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => ({
    key,
    operator: "=",
    values: [value],
  }));
  for (const { key = "", operator = "", values } of selector.matchExpressions ?? []) {
    const compiled = operators.get(operator);
    if (compiled === undefined) return undefined;
    requirements.push({ key, operator: compiled, values: [...new Set(values ?? [])].sort() });
  }
  return compileLabels(requirements);
}

/** Returns the text of a selector in tables: `<none>` when it is empty or absent, `<error>` when it is invalid. */
export function formatLabelSelector(selector: LabelSelectorObject | null | undefined): string {
  if (selector === null || selector === undefined) return "<none>";
  const compiled = compileLabelSelector(selector);
  if (compiled === undefined) return "<error>";
  return compiled.empty ? "<none>" : compiled.text;
}

/** Returns labels as Go prints the map in field errors. */
export function printLabels(labels: Readonly<Record<string, string>> | null | undefined): string {
  if (labels === undefined || labels === null) return "map[string]string(nil)";
  const pairs = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[string]string{${pairs.map(([key, value]) => `${goQuote(key)}:${goQuote(value)}`).join(", ")}}`;
}

/** Returns a selector as Go prints the struct in field errors. */
export function printLabelSelector(selector: LabelSelectorObject): string {
  const expressions =
    selector.matchExpressions === undefined || selector.matchExpressions === null
      ? "[]v1.LabelSelectorRequirement(nil)"
      : `[]v1.LabelSelectorRequirement{${selector.matchExpressions.map(printExpression).join(", ")}}`;
  return `v1.LabelSelector{MatchLabels:${printLabels(selector.matchLabels)}, MatchExpressions:${expressions}}`;
}

function printExpression({ key = "", operator = "", values }: LabelSelectorRequirement): string {
  return goStruct("v1.LabelSelectorRequirement", { Key: key, Operator: operator, Values: goTexts(values) }).text;
}
