/**
 * RBAC: allows what the roles of a user or of the user's groups allow. It never denies. Source of reasons: upstream's
 * `plugin/pkg/auth/authorizer/rbac`.
 */
import type { PolicyRule } from "#api/rbac/v1.ts";
import { aggregate } from "#meta/field-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { Clock } from "#std/clock.ts";
import { Yielder } from "#std/cooperative.ts";
import { type Attributes, type Authorizer, noOpinion, type Rules, type Verdict } from "./authorizer.ts";
import { explainRbac } from "./explain.ts";
import type { IndexedBinding, RbacIndex } from "./rbac-index.ts";
import { allows, type PreparedRule, listsOf, ruleResource } from "./rules.ts";

/** The number of rules, bindings and groups that a decision examines without a pause. */
const looksMax = 1000;

/** The number that may still be examined. */
interface Looks {
  left: number;
}

export function rbac(index: RbacIndex, clock: Clock): Required<Authorizer> {
  return {
    authorize(attributes) {
      const { user, namespace } = attributes;
      const looks: Looks = { left: looksMax - user.groups.length };
      const resource = ruleResource(attributes);
      const verdict =
        inScope(index, attributes, resource, "", looks) ??
        (namespace === "" ? undefined : inScope(index, attributes, resource, namespace, looks));
      if (verdict !== undefined) return verdict;
      return looks.left < 0 ? decideInPieces(index, attributes, resource, clock) : noOpinionVerdict(index, attributes);
    },
    rulesFor: (user, namespace) => rulesFor(index, user, namespace, { wordsMax: shownWordsMax }),
    explain: (attributes) => explainRbac(index, attributes),
  };
}

function inScope(
  index: RbacIndex,
  attributes: Attributes,
  resource: string,
  scope: string,
  looks: Looks,
): Verdict | undefined {
  const { user } = attributes;
  const allowing = firstAllowing(index, index.ofUser(user.name, scope), attributes, resource, looks);
  if (allowing !== undefined) return index.allowance(allowing, user);
  for (const group of user.groups) {
    if (looks.left < 0) return undefined;
    const binding = firstAllowing(index, index.ofGroup(group, scope), attributes, resource, looks);
    if (binding !== undefined) return index.allowance(binding, user);
  }
  return undefined;
}

/** Finds the first binding that allows. If none does, `looks` tells whether all were examined. */
function firstAllowing(
  index: RbacIndex,
  bindings: Iterable<IndexedBinding> | undefined,
  attributes: Attributes,
  resource: string,
  looks: Looks,
): IndexedBinding | undefined {
  if (bindings === undefined) return undefined;
  for (const binding of bindings) {
    const rules = index.rulesOf(binding);
    if (--looks.left < 0) return undefined;
    if (rules === undefined) continue;
    for (const rule of rules) {
      looks.left -= looksOf(rule, attributes);
      if (looks.left < 0) return undefined;
      if (allows(rule, attributes, resource)) return binding;
    }
  }
  return undefined;
}

/** The cost of examining a rule: URLs are searched, other lists are looked up. */
const looksOf = ({ urls }: PreparedRule, { isResourceRequest }: Attributes): number =>
  isResourceRequest ? 1 : 1 + urls.length;

/** Decides for a user with very many rules, bindings or groups: others have turns in between. */
async function decideInPieces(
  index: RbacIndex,
  attributes: Attributes,
  resource: string,
  clock: Clock,
): Promise<Verdict> {
  const { user, namespace } = attributes;
  const yielder = new Yielder(clock);
  await yielder.pause();
  const seen = new Set<readonly PreparedRule[]>();
  let looks = 0;
  for (const binding of index.bindingsOf(user, namespace)) {
    const rules = index.rulesOf(binding) ?? [];
    looks++;
    // Many bindings may name the same role.
    for (const rule of seen.has(rules) ? [] : rules) {
      looks += looksOf(rule, attributes);
      if (looks > looksMax) {
        looks = 0;
        if (yielder.isDue) await yielder.pause();
      }
      if (allows(rule, attributes, resource)) return index.allowance(binding, user);
    }
    seen.add(rules);
  }
  return noOpinionVerdict(index, attributes);
}

/** The verdict without an opinion; its reason names missing roles. */
function noOpinionVerdict(index: RbacIndex, { user, namespace }: Attributes): Verdict {
  const errors = new Set<string>();
  for (const binding of index.bindingsOf(user, namespace)) {
    if (index.rulesOf(binding) !== undefined) continue;
    errors.add(index.missing(binding.roleRef));
    if (errors.size >= missingMax) break;
  }
  return errors.size === 0 ? noOpinion : { decision: "noOpinion", reason: `RBAC: ${aggregate(errors)}` };
}

/** The maximum number of missing roles that one answer names. */
const missingMax = 100;
/** The maximum number of words of rules in one answer; a role may be as large as an object. */
const shownWordsMax = 100_000;

interface RulesOptions {
  /** The name of the resource in messages about missing roles, if it is another one. */
  readonly resource?: string;
  /** The limit of words of all rules together; beyond it rules are left out and reported. No limit by default. */
  readonly wordsMax?: number;
}

/** Returns all rules that apply to a user in a namespace (empty: at the cluster scope). */
export function rulesFor(
  index: RbacIndex,
  user: UserInfo,
  namespace: string,
  { resource, wordsMax = Number.POSITIVE_INFINITY }: RulesOptions = {},
): Rules {
  const resourceRules: PolicyRule[] = [];
  const nonResourceRules: PolicyRule[] = [];
  const errors = new Set<string>();
  let words = 0;
  for (const binding of index.bindingsOf(user, namespace)) {
    const rules = index.rulesOf(binding);
    if (rules === undefined) errors.add(index.missing(binding.roleRef, resource));
    for (const { rule } of rules ?? []) {
      words += wordsOf(rule);
      if (words > wordsMax) {
        errors.add(`the rules have more than ${wordsMax} words: not all are shown`);
        return { resourceRules, nonResourceRules, incomplete: true, errors: [...errors] };
      }
      if ((rule.resources ?? []).length > 0) resourceRules.push(rule);
      if ((rule.nonResourceURLs ?? []).length > 0) nonResourceRules.push(rule);
    }
  }
  return { resourceRules, nonResourceRules, incomplete: false, errors: [...errors] };
}

function wordsOf(rule: PolicyRule): number {
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = listsOf(rule);
  return 1 + verbs.length + apiGroups.length + resources.length + resourceNames.length + nonResourceURLs.length;
}
