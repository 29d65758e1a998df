/** The parts of an action that a rule does not allow. They tell which rule comes nearest to allowing it. */
import { goQuote } from "#meta/field-error.ts";
import type { Attributes } from "./authorizer.ts";
import { matchesUrl, type PreparedRule } from "./rules.ts";

// The bits say which parts keep a rule from allowing an action. They cost little: most examined rules of a refusal are
// never shown.
const verbBit = 1;
const groupBit = 2;
const resourceBit = 4;
const nameBit = 8;
const pathBit = 16;
/** Marks a rule for resources if the action is for a path, or the other way round. */
export const otherKind = -1;

/** Returns the parts that a rule lacks as bits; 0 for a rule that allows the action. `resource` is `ruleResource(attributes)`. */
export function shortfall(rule: PreparedRule, attributes: Attributes, resource: string): number {
  const verb = rule.verbs.all || rule.verbs.has(attributes.verb) ? 0 : verbBit;
  if (!attributes.isResourceRequest) {
    if (rule.urls.length === 0) return otherKind;
    return verb | (matchesUrl(rule.urls, attributes.path) ? 0 : pathBit);
  }
  const { groups, resources, names, urls } = rule;
  if (urls.length > 0) return otherKind;
  const { subresource } = attributes;
  const isNamed = resources.all || resources.has(resource) || (subresource !== "" && resources.has(`*/${subresource}`));
  return (
    verb |
    (groups.all || groups.has(attributes.group) ? 0 : groupBit) |
    (isNamed ? 0 : resourceBit) |
    (names === undefined || names.has(attributes.name) ? 0 : nameBit)
  );
}

/** Returns the number of parts that are lacking. */
export const countOf = (lacks: number): number =>
  (lacks & 1) + ((lacks >> 1) & 1) + ((lacks >> 2) & 1) + ((lacks >> 3) & 1) + ((lacks >> 4) & 1);

/** Whether the rule is about other resources than the action. */
export const isElsewhere = (lacks: number): boolean => (lacks & (groupBit | resourceBit)) !== 0;

/** Names the parts that are lacking. */
export function shortfallWords(lacks: number, { verb, path, group, name }: Attributes, resource: string): string[] {
  const words = new Map([
    [verbBit, `verb ${goQuote(verb)}`],
    [pathBit, `path ${goQuote(path)}`],
    [groupBit, `API group ${goQuote(group)}`],
    [resourceBit, `resource ${goQuote(resource)}`],
    [nameBit, name === "" ? "a request by name (it is for some names only)" : `name ${goQuote(name)}`],
  ]);
  return [...words].flatMap(([bit, text]) => ((lacks & bit) === 0 ? [] : text));
}
