/**
 * Explains an RBAC decision in one sentence: the rule that allowed, or the closest rule and its missing part. It
 * examines a bounded number of rules. Only users with permission see it.
 */
import { goQuote } from "#meta/field-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { Attributes } from "./authorizer.ts";
import { type IndexedBinding, describeBinding, type RbacIndex } from "./rbac-index.ts";
import { type PreparedRule, allows, matchesUrl, ruleResource } from "./rules.ts";
import { quotedList, ruleText } from "./rules-cover.ts";

/** The maximum number of rules and bindings that are examined for one explanation. */
const looksMax = 5000;
/** The maximum number of characters of a rule that are shown, and of groups of a user. */
const ruleTextMax = 400;
const groupsMax = 20;

interface Near {
  readonly binding: IndexedBinding;
  readonly at: number;
  readonly rule: PreparedRule;
  readonly lacks: number;
}

export function explainRbac(index: RbacIndex, attributes: Attributes): string {
  const { user } = attributes;
  const resource = ruleResource(attributes);
  const bindings = index.bindingsOf(user, attributes.namespace);
  const missing: string[] = [];
  let looks = 0;
  let nearest: Near | undefined;
  for (const binding of bindings) {
    if (++looks > looksMax) break;
    const rules = index.rulesOf(binding);
    if (rules === undefined) missing.push(`${describeBinding(binding, user)}: ${index.missing(binding.roleRef)}`);
    for (const [at, rule] of (rules ?? []).entries()) {
      if (allows(rule, attributes, resource)) {
        return `RBAC: allowed by ${describeBinding(binding, user)}, rule ${at} ${short(rule)}`;
      }
      if (++looks > looksMax) break;
      const lacks = lacking(rule, attributes, resource);
      if (lacks !== otherKind && (nearest === undefined || count(lacks) < count(nearest.lacks))) {
        nearest = { binding, at, rule, lacks };
      }
    }
  }
  const who = `user ${goQuote(user.name)} (groups=${groupsOf(user)})`;
  const where =
    attributes.namespace === "" ? "in the cluster" : `in the cluster or namespace ${goQuote(attributes.namespace)}`;
  const parts = [
    bindings.size === 0
      ? `RBAC: no binding ${where} names ${who}`
      : `RBAC: ${bindings.size} ${bindings.size === 1 ? "binding" : "bindings"} ${where} for ${who}, no rule allows it`,
  ];
  if (nearest !== undefined) {
    const { binding, at, rule, lacks } = nearest;
    const which = `nearest is rule ${at} ${short(rule)} of ${describeBinding(binding, user)}`;
    parts.push(`${which}, which lacks ${inWords(lacks, attributes, resource).join(", ")}`);
  }
  if (looks > looksMax) parts.push(`the first ${looksMax} bindings and rules were looked at`);
  return [...parts, ...missing.slice(0, 10)].join("; ");
}

function groupsOf({ groups }: UserInfo): string {
  const shown = quotedList(groups.slice(0, groupsMax));
  return groups.length <= groupsMax ? shown : `${shown} and ${groups.length - groupsMax} more`;
}

function short({ rule }: PreparedRule): string {
  const text = ruleText(rule);
  return text.length <= ruleTextMax ? text : `${text.slice(0, ruleTextMax)}…`;
}

// The bits say which parts keep a rule from allowing an action. They cost little: most examined rules of a refusal are
// never shown.
const verbBit = 1;
const groupBit = 2;
const resourceBit = 4;
const nameBit = 8;
const pathBit = 16;
/** Marks a rule for resources if the action is for a path, or the other way round. */
const otherKind = -1;

function lacking(rule: PreparedRule, attributes: Attributes, resource: string): number {
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

const count = (bits: number): number =>
  (bits & 1) + ((bits >> 1) & 1) + ((bits >> 2) & 1) + ((bits >> 3) & 1) + ((bits >> 4) & 1);

function inWords(lacks: number, { verb, path, group, name }: Attributes, resource: string): string[] {
  const words = new Map([
    [verbBit, `verb ${goQuote(verb)}`],
    [pathBit, `path ${goQuote(path)}`],
    [groupBit, `API group ${goQuote(group)}`],
    [resourceBit, `resource ${goQuote(resource)}`],
    [nameBit, name === "" ? "a request by name (it is for some names only)" : `name ${goQuote(name)}`],
  ]);
  return [...words].flatMap(([bit, text]) => ((lacks & bit) === 0 ? [] : text));
}
