/**
 * Rules of roles, and the decision whether one allows an action. Source: upstream's `pkg/apis/rbac/v1` evaluation
 * helpers. Hot path: a decision reads only rules of the caller's roles and allocates nothing; see `rbac-index.ts`.
 */
import type { PolicyRule } from "#api/rbac/v1.ts";
import type { Attributes } from "./authorizer.ts";

/** A rule prepared for decisions. */
export interface PreparedRule {
  readonly rule: PolicyRule;
  readonly verbs: Words;
  readonly groups: Words;
  readonly resources: Words;
  /** The names of objects; `undefined` for any name. */
  readonly names: Words | undefined;
  readonly urls: readonly string[];
}

/** A list of words as a set. */
export interface Words {
  /** Whether the list contains the word for all. */
  readonly all: boolean;
  has(word: string): boolean;
}

/** The length above which lists are looked up by hash. */
const listLengthMax = 8;

function words(list: readonly string[]): Words {
  const all = list.includes("*");
  if (list.length > listLengthMax) {
    const set = new Set(list);
    return { all, has: (word) => set.has(word) };
  }
  return { all, has: (word) => list.includes(word) };
}

const none: readonly string[] = [];

/** Returns all lists of a rule; decoded rules may lack lists, or have null in their place. */
export function listsOf(rule: PolicyRule): Readonly<Record<keyof PolicyRule, readonly string[]>> {
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = rule;
  return {
    verbs: verbs ?? none,
    apiGroups: apiGroups ?? none,
    resources: resources ?? none,
    resourceNames: resourceNames ?? none,
    nonResourceURLs: nonResourceURLs ?? none,
  };
}

export function compileRule(rule: PolicyRule): PreparedRule {
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = listsOf(rule);
  return {
    rule,
    verbs: words(verbs),
    groups: words(apiGroups),
    resources: words(resources),
    names: resourceNames.length === 0 ? undefined : words(resourceNames),
    urls: nonResourceURLs,
  };
}

/** Returns `compileRule` for indexes that share rules: each rule is compiled once. */
export function sharedCompiler(): typeof compileRule {
  const compiled = new WeakMap<PolicyRule, PreparedRule>();
  return (rule) => {
    const known = compiled.get(rule) ?? compileRule(rule);
    compiled.set(rule, known);
    return known;
  };
}

/** Returns the resource of an action as rules write it, with its subresource. */
export function ruleResource({ resource, subresource }: Attributes): string {
  return subresource === "" ? resource : `${resource}/${subresource}`;
}

/** Whether a rule allows the action. `resource` is `ruleResource(attributes)`, made once per decision. */
export function allows(rule: PreparedRule, attributes: Attributes, resource: string): boolean {
  const { verbs, groups, resources, names } = rule;
  if (!verbs.all && !verbs.has(attributes.verb)) return false;
  if (!attributes.isResourceRequest) return matchesUrl(rule.urls, attributes.path);
  if (!groups.all && !groups.has(attributes.group)) return false;
  if (!resources.all && !resources.has(resource)) {
    if (attributes.subresource === "" || !resources.has(`*/${attributes.subresource}`)) return false;
  }
  return names === undefined || names.has(attributes.name);
}

/** Whether one of the URLs of a rule is this path, or ends with `*` and is a prefix of it. */
export function matchesUrl(urls: readonly string[], path: string): boolean {
  for (const url of urls) {
    if (url === path || url === "*") return true;
    if (url.endsWith("*") && path.startsWith(withoutStars(url))) return true;
  }
  return false;
}

/** Removes the stars at the end. Upstream: all of them, not only the last. */
function withoutStars(url: string): string {
  let end = url.length;
  while (end > 0 && url[end - 1] === "*") end--;
  return url.slice(0, end);
}
