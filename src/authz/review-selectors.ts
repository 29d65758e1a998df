/**
 * Reads selectors in access reviews. Requirements that cannot be parsed are dropped, which widens the question, and the
 * answer reports them. Source: upstream's `registry/authorization/util`.
 */
import type { FieldSelectorAttributes, LabelSelectorAttributes } from "#api/authorization/v1.ts";
import type { FieldSelectorRequirement, LabelSelectorRequirement } from "#api/meta/v1.ts";
import { compileLabelSelector } from "#meta/label-selector.ts";
import {
  type FieldRequirement,
  type LabelRequirement,
  parseFieldRequirements,
  parseLabelSelector,
} from "#meta/selector.ts";

export type SelectorAttributes = FieldSelectorAttributes | LabelSelectorAttributes;
export type SelectorRequirement = FieldSelectorRequirement | LabelSelectorRequirement;

export interface ReviewSelectors {
  readonly fieldSelector?: readonly FieldRequirement[];
  readonly labelSelector?: readonly LabelRequirement[];
}

/** Returns the parsed selectors, and the errors to report. */
export function reviewSelectors(
  fields: SelectorAttributes | undefined,
  labels: SelectorAttributes | undefined,
): { readonly selectors: ReviewSelectors; readonly errors: readonly string[] } {
  const field = read(fields, parseFieldRequirements, fieldRequirement);
  const label = read(labels, (text) => parseLabelSelector(text).requirements, labelRequirement);
  const ignored = (name: string, { requirements, isWhole }: Reading<unknown>): string[] => {
    if (isWhole) return [];
    const part = requirements.length === 0 ? "" : "partially ";
    return [`spec.resourceAttributes.${name} ${part}ignored due to parse error`];
  };
  return {
    selectors: {
      ...(field.requirements.length === 0 ? {} : { fieldSelector: field.requirements }),
      ...(label.requirements.length === 0 ? {} : { labelSelector: label.requirements }),
    },
    errors: [...ignored("fieldSelector", field), ...ignored("labelSelector", label)],
  };
}

interface Reading<T> {
  readonly requirements: readonly T[];
  readonly isWhole: boolean;
}

function read<T>(
  selector: SelectorAttributes | undefined,
  parse: (text: string) => readonly T[],
  convert: (requirement: SelectorRequirement) => T | undefined,
): Reading<T> {
  const { rawSelector = "", requirements } = selector ?? {};
  if (rawSelector !== "") {
    try {
      return { requirements: parse(rawSelector), isWhole: true };
    } catch {
      return { requirements: [], isWhole: false };
    }
  }
  const converted = (requirements ?? []).map(convert);
  const parsed = converted.filter((one) => one !== undefined);
  return { requirements: parsed, isWhole: parsed.length === converted.length };
}

/** Parses a requirement of a field selector. Upstream: it has one value, equal or not. */
function fieldRequirement({ key, operator, values }: SelectorRequirement): FieldRequirement | undefined {
  const [value, ...more] = values ?? [];
  if (value === undefined || more.length > 0 || (operator !== "In" && operator !== "NotIn")) return undefined;
  return { field: key, operator: operator === "In" ? "=" : "!=", value };
}

function labelRequirement(requirement: SelectorRequirement): LabelRequirement | undefined {
  try {
    return compileLabelSelector({ matchExpressions: [requirement] })?.requirements[0];
  } catch {
    return undefined;
  }
}
