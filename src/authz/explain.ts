/**
 * Explains an RBAC decision in one sentence: the rule that allowed, or the closest rule and its missing part. It
 * examines a bounded number of rules. Only users with permission see it.
 */
import { goQuote } from "#meta/field-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { Attributes } from "./authorizer.ts";
import { type IndexedBinding, describeBinding, type RbacIndex } from "./rbac-index.ts";
import { type PreparedRule, allows, ruleResource } from "./rules.ts";
import { quotedList, ruleText } from "./rules-cover.ts";
import { countOf, otherKind, shortfall, shortfallWords } from "./shortfall.ts";

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
      const lacks = shortfall(rule, attributes, resource);
      if (lacks !== otherKind && (nearest === undefined || countOf(lacks) < countOf(nearest.lacks))) {
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
    parts.push(`${which}, which lacks ${shortfallWords(lacks, attributes, resource).join(", ")}`);
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
