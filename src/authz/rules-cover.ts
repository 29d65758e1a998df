/**
 * Tells whether the rules of a user cover the rules to be granted, and which rights are missing. This prevents
 * privilege escalation. Source of wording: upstream's `component-helpers/auth/rbac/validation` and
 * `pkg/registry/rbac/validation`.
 *
 * Rules are products of lists, so a small role can name very many single rights. A rule that no single held rule covers
 * is compared right by right, up to a bound.
 */
import type { PolicyRule } from "#api/rbac/v1.ts";
import { goQuote } from "#meta/field-error.ts";
import { type PreparedRule, compileRule, listsOf, matchesUrl, type Words } from "./rules.ts";

/**
 * The maximum number of single rights that are compared one by one; a role with all rights of a large cluster has some
 * thousands.
 */
const rightsMax = 50_000;
/** The limit of comparisons of a right with a rule for one answer, about a tenth of a second. */
const comparisonsMax = 5_000_000;
/** The maximum number of missing rights that are collected, and of lines about them in a message. */
const missingMax = 5000;
const linesMax = 500;

type Coverage =
  | { readonly covered: true }
  /** Sentences, one per line, about the missing rights. */
  | { readonly covered: false; readonly missing: string };

/** Whether `rules` cover all of `wanted`. */
export function covers(rules: readonly PolicyRule[], wanted: readonly PolicyRule[]): Coverage {
  const index = new HeldRules(rules);
  const missing: PolicyRule[] = [];
  let rightsLeft = rightsMax;
  for (const rule of wanted) {
    if (index.comparisons > comparisonsMax) return tooDear;
    if (index.coversWhole(rule)) continue;
    rightsLeft -= countRights(rule);
    if (rightsLeft < 0) return tooMany;
    for (const right of rightsOf(rule)) {
      if (!index.coversRight(right)) missing.push(right);
      if (missing.length > missingMax) return { covered: false, missing: describe(compact(missing), "at least ") };
      if (index.comparisons > comparisonsMax) return tooDear;
    }
  }
  return missing.length === 0 ? { covered: true } : { covered: false, missing: describe(compact(missing)) };
}

const tooMany: Coverage = {
  covered: false,
  missing: `more than ${rightsMax} combinations of group, resource, verb and name, which no single rule covers`,
};
const tooDear: Coverage = {
  covered: false,
  missing: "more combinations of group, resource, verb and name than can be compared with all rules that are held",
};

/**
 * Returns the rights of `wanted` that `rules` lack, one per rule, for reconciliation. Their number has no bound: it is
 * for rules of this server.
 */
export function missingRights(rules: readonly PolicyRule[], wanted: readonly PolicyRule[]): readonly PolicyRule[] {
  const index = new HeldRules(rules);
  return wanted.flatMap((rule) =>
    index.coversWhole(rule) ? [] : [...rightsOf(rule)].filter((right) => !index.coversRight(right)),
  );
}

function countRights(rule: PolicyRule): number {
  const { apiGroups, resources, verbs, resourceNames, nonResourceURLs } = listsOf(rule);
  return (
    (apiGroups.length * resources.length * Math.max(1, resourceNames.length) + nonResourceURLs.length) * verbs.length
  );
}

/** Splits a rule into rules of one group, resource, verb and name, or of one path and verb. */
function* rightsOf(rule: PolicyRule): Iterable<PolicyRule> {
  const { apiGroups, resources, verbs, resourceNames, nonResourceURLs } = listsOf(rule);
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

/** The rules that a user has, indexed by resource. */
class HeldRules {
  readonly #byResource = new Map<string, PreparedRule[]>();
  readonly #ofUrls: readonly PreparedRule[];
  /** The number of comparisons so far. */
  comparisons = 0;

  constructor(rules: readonly PolicyRule[]) {
    // A role may be bound many times.
    const all = [...new Set(rules)].map(compileRule);
    for (const compiled of all) {
      for (const resource of new Set(compiled.rule.resources)) {
        const list = this.#byResource.get(resource);
        if (list === undefined) this.#byResource.set(resource, [compiled]);
        else list.push(compiled);
      }
    }
    this.#ofUrls = all.filter(({ urls }) => urls.length > 0);
  }

  /** Whether one rule alone covers all rights of another. */
  coversWhole(wanted: PolicyRule): boolean {
    const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = listsOf(wanted);
    const covering = (rule: PreparedRule): boolean =>
      hasAll(rule.verbs, verbs) &&
      hasAll(rule.groups, apiGroups) &&
      resources.every((resource) => hasResource(rule.resources, resource)) &&
      (rule.names === undefined ||
        (resourceNames.length > 0 && resourceNames.every((name) => rule.names!.has(name)))) &&
      nonResourceURLs.every((url) => matchesUrl(rule.urls, url));
    const [resource] = resources;
    return resource === undefined ? this.#some(this.#ofUrls, covering) : this.#someOf(resource, covering);
  }

  /** Whether one rule covers a rule of one group, resource, verb and name, or of one path. */
  coversRight(right: PolicyRule): boolean {
    const verb = right.verbs![0]!;
    const url = right.nonResourceURLs?.[0];
    if (url !== undefined) {
      return this.#some(
        this.#ofUrls,
        (rule) => rule.names === undefined && hasWord(rule.verbs, verb) && matchesUrl(rule.urls, url),
      );
    }
    const group = right.apiGroups![0]!;
    const name = right.resourceNames?.[0];
    return this.#someOf(
      right.resources![0]!,
      (rule) =>
        hasWord(rule.verbs, verb) &&
        hasWord(rule.groups, group) &&
        (rule.names === undefined || (name !== undefined && rule.names.has(name))),
    );
  }

  /** Whether `fits` holds for a rule that names the resource, or all resources, or all with its subresource. */
  #someOf(resource: string, fits: (rule: PreparedRule) => boolean): boolean {
    if (this.#some(this.#byResource.get(resource), fits) || this.#some(this.#byResource.get("*"), fits)) return true;
    const slash = resource.indexOf("/");
    return slash >= 0 && this.#some(this.#byResource.get(`*${resource.slice(slash)}`), fits);
  }

  #some(rules: readonly PreparedRule[] = [], fits: (rule: PreparedRule) => boolean): boolean {
    this.comparisons += rules.length;
    return rules.some(fits);
  }
}

const hasWord = (words: Words, word: string): boolean => words.all || words.has(word);
const hasAll = (words: Words, list: readonly string[]): boolean => words.all || list.every((word) => words.has(word));

function hasResource(words: Words, resource: string): boolean {
  if (words.all || words.has(resource)) return true;
  const slash = resource.indexOf("/");
  return slash >= 0 && words.has(`*${resource.slice(slash)}`);
}

/** Joins the verbs of rules about the same single resource. */
function compact(rules: readonly PolicyRule[]): PolicyRule[] {
  const other: PolicyRule[] = [];
  const simple = new Map<string, { rule: PolicyRule; verbs: Set<string> }>();
  for (const rule of rules) {
    if (rule.nonResourceURLs !== undefined) {
      other.push(rule);
      continue;
    }
    const { apiGroups = [], resources = [], resourceNames = [] } = rule; // at most one of each
    const key = [...apiGroups, ...resources, ...resourceNames].join("\0");
    const entry = simple.get(key);
    if (entry === undefined) simple.set(key, { rule, verbs: new Set(rule.verbs) });
    else for (const verb of rule.verbs ?? []) entry.verbs.add(verb);
  }
  return [...other, ...[...simple.values()].map(({ rule, verbs }) => ({ ...rule, verbs: [...verbs] }))];
}

/** Describes rules, one per line. `atLeast` precedes the number of omitted lines. */
function describe(rules: readonly PolicyRule[], atLeast = ""): string {
  const lines = [...new Set(rules.map(ruleText))].sort((a, b) => (a < b ? -1 : 1));
  if (lines.length <= linesMax) return lines.join("\n");
  return [...lines.slice(0, linesMax), `and ${atLeast}${lines.length - linesMax} more`].join("\n");
}

/** Prints a rule in one line: `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`. */
export function ruleText(rule: PolicyRule): string {
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = listsOf(rule);
  const parts = [
    ["APIGroups", apiGroups],
    ["Resources", resources],
    ["NonResourceURLs", nonResourceURLs],
    ["ResourceNames", resourceNames],
    ["Verbs", verbs],
  ] as const;
  const texts = parts.flatMap(([name, list]) => (list.length === 0 ? [] : [`${name}:${quotedList(list)}`]));
  return `{${texts.join(", ")}}`;
}

/** Prints a list of texts as Go does: `["a" "b"]`. */
export const quotedList = (list: readonly string[]): string => `[${list.map(goQuote).join(" ")}]`;
