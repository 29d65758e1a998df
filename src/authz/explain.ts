/**
 * Why RBAC allows an action or does not, in a sentence for those who may know: the rule that allowed it, or the rule
 * that came nearest and what it lacks. Looks at a bounded number of rules.
 */
import { goQuote } from "#meta/field-error.ts";
import type { Attributes } from "./authorizer.ts";
import { type Binding, describeBinding, type RbacIndex } from "./rbac-index.ts";
import { type CompiledRule, allows, matchesUrl, ruleResource } from "./rules.ts";
import { quotedList, ruleText } from "./rules-cover.ts";

/** Rules looked at for one explanation. */
const rulesMax = 5000;
/** Characters of a rule that are shown. */
const ruleTextMax = 400;

interface Near {
  readonly binding: Binding;
  readonly at: number;
  readonly rule: CompiledRule;
  readonly lacks: readonly string[];
}

export function explainRbac(index: RbacIndex, attributes: Attributes): string {
  const { user } = attributes;
  const resource = ruleResource(attributes);
  const bindings = index.bindingsOf(user, attributes.namespace);
  const missing: string[] = [];
  let looked = 0;
  let nearest: Near | undefined;
  for (const binding of bindings) {
    const rules = index.rulesOf(binding);
    if (rules === undefined) missing.push(`${describeBinding(binding, user)}: ${index.missing(binding.roleRef)}`);
    for (const [at, rule] of (rules ?? []).entries()) {
      if (allows(rule, attributes, resource)) {
        return `RBAC: allowed by ${describeBinding(binding, user)}, rule ${at} ${short(rule)}`;
      }
      if (++looked > rulesMax) break;
      const lacks = lacking(rule, attributes, resource);
      if (nearest === undefined || lacks.length < nearest.lacks.length) nearest = { binding, at, rule, lacks };
    }
  }
  const who = `user ${goQuote(user.name)} (groups=${quotedList(user.groups)})`;
  const where =
    attributes.namespace === "" ? "in the cluster" : `in the cluster or namespace ${goQuote(attributes.namespace)}`;
  const parts = [
    bindings.size === 0
      ? `RBAC: no binding ${where} names ${who}`
      : `RBAC: ${count(bindings.size, "binding")} ${where} for ${who}, no rule allows it`,
  ];
  if (nearest !== undefined) {
    const { binding, at, rule, lacks } = nearest;
    parts.push(
      `nearest is rule ${at} ${short(rule)} of ${describeBinding(binding, user)}, which lacks ${lacks.join(", ")}`,
    );
  }
  return [...parts, ...missing.slice(0, 10)].join("; ");
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

function short({ rule }: CompiledRule): string {
  const text = ruleText(rule);
  return text.length <= ruleTextMax ? text : `${text.slice(0, ruleTextMax)}…`;
}

/** What keeps a rule from allowing the action, in words. */
function lacking(rule: CompiledRule, attributes: Attributes, resource: string): string[] {
  const { verb, group, name } = attributes;
  const lacks: string[] = [];
  if (!rule.verbs.all && !rule.verbs.has(verb)) lacks.push(`verb ${goQuote(verb)}`);
  if (!attributes.isResourceRequest) {
    if (!matchesUrl(rule.urls, attributes.path)) lacks.push(`path ${goQuote(attributes.path)}`);
    return lacks;
  }
  if (!rule.groups.all && !rule.groups.has(group)) lacks.push(`API group ${goQuote(group)}`);
  const part = attributes.subresource === "" ? undefined : `*/${attributes.subresource}`;
  const isNamed =
    rule.resources.all || rule.resources.has(resource) || (part !== undefined && rule.resources.has(part));
  if (!isNamed) lacks.push(`resource ${goQuote(resource)}`);
  if (rule.names !== undefined && !rule.names.has(name)) {
    lacks.push(name === "" ? "a request by name (it is for some names only)" : `name ${goQuote(name)}`);
  }
  return lacks;
}
