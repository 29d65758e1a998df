/**
 * Whether rules somebody holds cover rules he wants to give away, and what is missing: what stops people from giving
 * themselves or others more than they have. Source: upstream's `component-helpers/auth/rbac/validation` and
 * `pkg/registry/rbac/validation`, whose words clients see.
 *
 * Rules are products of lists, so that a small role can name a great many single rights. Those that one held rule does
 * not cover as a whole are looked at one by one, up to a bound.
 */
import type { PolicyRule } from "#api/bootstrap-policy.ts";
import { goQuote } from "#meta/field-error.ts";
import { matchesUrl, type Words, words } from "./rules.ts";

/** Most single rights that are compared one by one; a role with all of a large cluster's rights has some thousands. */
const rightsMax = 50_000;
/** Most lines of missing rights in a message. */
const linesMax = 500;

export type Coverage =
  | { readonly covered: true }
  /** Sentences, one a line, that describe what is missing. */
  | { readonly covered: false; readonly missing: string };

/** Whether `held` covers all of `wanted`. */
export function covers(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): Coverage {
  const index = new HeldRules(held);
  const missing: PolicyRule[] = [];
  let left = rightsMax;
  for (const rule of wanted) {
    if (index.coversWhole(rule)) continue;
    left -= countRights(rule);
    if (left < 0) {
      const text = `more than ${rightsMax} combinations of group, resource, verb and name, which no single rule covers`;
      return { covered: false, missing: text };
    }
    for (const right of rightsOf(rule)) if (!index.coversRight(right)) missing.push(right);
  }
  return missing.length === 0 ? { covered: true } : { covered: false, missing: describe(compact(missing)) };
}

/** Rights of a reconciliation: those of `wanted` that `held` lacks, one a rule. Not bounded: for rules of our own. */
export function missingRights(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): readonly PolicyRule[] {
  const index = new HeldRules(held);
  return wanted.flatMap((rule) =>
    index.coversWhole(rule) ? [] : [...rightsOf(rule)].filter((right) => !index.coversRight(right)),
  );
}

function countRights({
  apiGroups = [],
  resources = [],
  verbs = [],
  resourceNames = [],
  nonResourceURLs = [],
}: PolicyRule): number {
  return (
    (apiGroups.length * resources.length * Math.max(1, resourceNames.length) + nonResourceURLs.length) * verbs.length
  );
}

/** A rule as rules of one group, resource, verb and name, or of one path and verb. */
function* rightsOf(rule: PolicyRule): Iterable<PolicyRule> {
  const { apiGroups = [], resources = [], verbs = [], resourceNames = [], nonResourceURLs = [] } = rule;
  for (const group of apiGroups) {
    for (const resource of resources) {
      for (const verb of verbs) {
        const right = { apiGroups: [group], resources: [resource], verbs: [verb] };
        if (resourceNames.length === 0) yield right;
        for (const name of resourceNames) yield { ...right, resourceNames: [name] };
      }
    }
  }
  for (const url of nonResourceURLs) for (const verb of verbs) yield { nonResourceURLs: [url], verbs: [verb] };
}

interface HeldRule {
  readonly verbs: Words;
  readonly groups: Words;
  readonly resources: Words;
  /** `undefined` for any name. */
  readonly names: Words | undefined;
  readonly urls: readonly string[];
}

/** Rules somebody holds, found by the resources they name. */
class HeldRules {
  readonly #all: readonly HeldRule[];
  readonly #byResource = new Map<string, HeldRule[]>();
  readonly #urls: readonly HeldRule[];

  constructor(rules: readonly PolicyRule[]) {
    this.#all = rules.map((rule) => ({
      verbs: words(rule.verbs),
      groups: words(rule.apiGroups),
      resources: words(rule.resources),
      names: (rule.resourceNames ?? []).length === 0 ? undefined : words(rule.resourceNames),
      urls: rule.nonResourceURLs ?? [],
    }));
    for (const [i, rule] of rules.entries()) {
      for (const resource of new Set(rule.resources)) {
        const list = this.#byResource.get(resource);
        if (list === undefined) this.#byResource.set(resource, [this.#all[i]!]);
        else list.push(this.#all[i]!);
      }
    }
    this.#urls = this.#all.filter(({ urls }) => urls.length > 0);
  }

  /** Whether one rule alone covers all rights of another. */
  coversWhole(wanted: PolicyRule): boolean {
    const { verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = wanted;
    return this.#all.some(
      (held) =>
        hasAll(held.verbs, verbs) &&
        hasAll(held.groups, apiGroups) &&
        resources.every((resource) => hasResource(held.resources, resource)) &&
        (held.names === undefined ||
          (resourceNames.length > 0 && resourceNames.every((name) => held.names!.has(name)))) &&
        nonResourceURLs.every((url) => matchesUrl(held.urls, url)),
    );
  }

  /** Whether one rule covers a rule of one group, resource, verb and name, or of one path. */
  coversRight(right: PolicyRule): boolean {
    const verb = right.verbs![0]!;
    const url = right.nonResourceURLs?.[0];
    if (url !== undefined) {
      return this.#urls.some(
        (held) => held.names === undefined && hasWord(held.verbs, verb) && matchesUrl(held.urls, url),
      );
    }
    const group = right.apiGroups![0]!;
    const resource = right.resources![0]!;
    const name = right.resourceNames?.[0];
    const covering = (held: HeldRule): boolean =>
      hasWord(held.verbs, verb) &&
      hasWord(held.groups, group) &&
      (held.names === undefined || (name !== undefined && held.names.has(name)));
    if (this.#byResource.get(resource)?.some(covering) === true) return true;
    if (this.#byResource.get("*")?.some(covering) === true) return true;
    const slash = resource.indexOf("/");
    return slash >= 0 && this.#byResource.get(`*${resource.slice(slash)}`)?.some(covering) === true;
  }
}

const hasWord = (held: Words, word: string): boolean => held.all || held.has(word);
const hasAll = (held: Words, list: readonly string[]): boolean => held.all || list.every((word) => held.has(word));

function hasResource(held: Words, resource: string): boolean {
  if (held.all || held.has(resource)) return true;
  const slash = resource.indexOf("/");
  return slash >= 0 && held.has(`*${resource.slice(slash)}`);
}

/** Puts the verbs of rules on the same single resource together. */
function compact(rules: readonly PolicyRule[]): PolicyRule[] {
  const other: PolicyRule[] = [];
  const simple = new Map<string, { rule: PolicyRule; verbs: Set<string> }>();
  for (const rule of rules) {
    if (rule.nonResourceURLs !== undefined) {
      other.push(rule);
      continue;
    }
    const key = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames]);
    const found = simple.get(key);
    if (found === undefined) simple.set(key, { rule, verbs: new Set(rule.verbs) });
    else for (const verb of rule.verbs ?? []) found.verbs.add(verb);
  }
  return [...other, ...[...simple.values()].map(({ rule, verbs }) => ({ ...rule, verbs: [...verbs] }))];
}

function describe(rules: readonly PolicyRule[]): string {
  const lines = [...new Set(rules.map(ruleText))].sort((a, b) => (a < b ? -1 : 1));
  if (lines.length <= linesMax) return lines.join("\n");
  return [...lines.slice(0, linesMax), `and ${lines.length - linesMax} more`].join("\n");
}

/** A rule in one line: `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`. */
export function ruleText(rule: PolicyRule): string {
  const parts = [
    ["APIGroups", rule.apiGroups],
    ["Resources", rule.resources],
    ["NonResourceURLs", rule.nonResourceURLs],
    ["ResourceNames", rule.resourceNames],
    ["Verbs", rule.verbs],
  ] as const;
  const given = parts.flatMap(([name, list]) =>
    list === undefined || list.length === 0 ? [] : [`${name}:${quotedList(list)}`],
  );
  return `{${given.join(", ")}}`;
}

/** A list of texts as Go prints it: `["a" "b"]`. */
export const quotedList = (list: readonly string[]): string => `[${list.map(goQuote).join(" ")}]`;
