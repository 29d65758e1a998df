/**
 * The audit policy: rules in order, the first that fits says how much is recorded of a request and at which stages.
 * Source: upstream's `audit/policy` and the validation of `audit.k8s.io/v1`.
 */
import { type FieldError, goTexts, invalid, notSupported, required } from "#meta/field-error.ts";
import { dns1123Subdomain } from "#meta/names.ts";
import type { UserInfo } from "#meta/user-info.ts";

export const levels = ["None", "Metadata", "Request", "RequestResponse"] as const;
export type Level = (typeof levels)[number];

export const stages = ["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"] as const;
export type Stage = (typeof stages)[number];

/** A policy as its file says it; not checked. */
export interface PolicyDocument {
  readonly rules?: readonly RuleDocument[];
  readonly omitStages?: readonly string[];
  readonly omitManagedFields?: boolean;
}

interface RuleDocument {
  readonly level?: string;
  readonly users?: readonly string[];
  readonly userGroups?: readonly string[];
  readonly verbs?: readonly string[];
  readonly resources?: readonly GroupResources[];
  readonly namespaces?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly omitStages?: readonly string[];
  readonly omitManagedFields?: boolean;
}

interface GroupResources {
  readonly group?: string;
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** A request, as rules see it. */
export interface AuditedAction {
  readonly user: UserInfo;
  readonly verb: string;
  readonly isResourceRequest: boolean;
  readonly path: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** What is recorded of a request. One per rule; shared. */
export interface AuditDecision {
  readonly level: Level;
  readonly omitStages: ReadonlySet<Stage>;
  readonly omitManagedFields: boolean;
}

/** Everything that is wrong with a policy, by path. */
export function policyErrors({ rules = [], omitStages = [] }: PolicyDocument): FieldError[] {
  const errors = stageErrors(omitStages, "omitStages");
  if (rules.length === 0) errors.push(required("rules", "a policy needs at least one rule"));
  for (const [at, rule] of rules.entries()) errors.push(...ruleErrors(rule, `rules[${at}]`));
  return errors;
}

function ruleErrors(rule: RuleDocument, path: string): FieldError[] {
  const { level = "", resources = [], namespaces = [], nonResourceURLs = [] } = rule;
  const errors: FieldError[] = [];
  if (level === "") errors.push(required(`${path}.level`));
  else if (!(levels as readonly string[]).includes(level)) errors.push(notSupported(`${path}.level`, level, levels));
  for (const [at, url] of nonResourceURLs.entries()) {
    const field = `${path}.nonResourceURLs[${at}]`;
    if (url === "*") continue;
    if (!url.startsWith("/")) {
      errors.push(invalid(field, url, "non-resource URL rules must begin with a '/' character"));
    }
    if (url.slice(0, -1).includes("*")) {
      errors.push(invalid(field, url, "non-resource URL wildcards '*' must be the final character of the rule"));
    }
  }
  for (const [at, { group = "", resources: names = [], resourceNames = [] }] of resources.entries()) {
    const field = `${path}.resources[${at}]`;
    if (group !== "") {
      for (const message of dns1123Subdomain(group)) errors.push(invalid(`${field}.group`, group, message));
    }
    if (resourceNames.length > 0 && names.length === 0) {
      const message = "using resourceNames requires at least one resource";
      errors.push(invalid(`${field}.resourceNames`, goTexts(resourceNames), message));
    }
  }
  errors.push(...stageErrors(rule.omitStages ?? [], `${path}.omitStages`));
  if (nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0)) {
    const message = "rules cannot apply to both regular resources and non-resource URLs";
    errors.push(invalid(`${path}.nonResourceURLs`, goTexts(nonResourceURLs), message));
  }
  return errors;
}

function stageErrors(given: readonly string[], path: string): FieldError[] {
  return given.flatMap((stage, at) =>
    (stages as readonly string[]).includes(stage)
      ? []
      : [invalid(`${path}[${at}]`, stage, `allowed stages are ${stages.join(",")}`)],
  );
}

/** A policy ready to be asked. */
export class AuditPolicy {
  readonly #rules: readonly { readonly rule: RuleDocument; readonly decision: AuditDecision }[];
  readonly #none: AuditDecision;

  /** `document` has no errors. */
  constructor({ rules = [], omitStages = [], omitManagedFields = false }: PolicyDocument) {
    // Checked: every name is a level or stage.
    const decision = (level: string, own: readonly string[], omits: boolean): AuditDecision => ({
      level: level as Level,
      omitStages: new Set([...omitStages, ...own] as Stage[]),
      omitManagedFields: omits,
    });
    this.#none = decision("None", [], omitManagedFields);
    this.#rules = rules.map((rule) => ({
      rule,
      decision: decision(rule.level ?? "None", rule.omitStages ?? [], rule.omitManagedFields ?? omitManagedFields),
    }));
  }

  /** The first fitting rule's; `None` when no rule fits. */
  decide(action: AuditedAction): AuditDecision {
    for (const { rule, decision } of this.#rules) if (fits(rule, action)) return decision;
    return this.#none;
  }
}

const lists = (list: readonly string[] | undefined, text: string): boolean => list === undefined || list.includes(text);

const given = <T>(list: readonly T[] | undefined): readonly T[] | undefined => (list?.length === 0 ? undefined : list);

function fits(rule: RuleDocument, action: AuditedAction): boolean {
  const { user } = action;
  if (!lists(given(rule.users), user.name) || !lists(given(rule.verbs), action.verb)) return false;
  const groups = given(rule.userGroups);
  if (groups !== undefined && !user.groups.some((group) => groups.includes(group))) return false;
  const namespaces = given(rule.namespaces);
  const resources = given(rule.resources);
  if (namespaces !== undefined || resources !== undefined) {
    if (!action.isResourceRequest || !lists(namespaces, action.namespace)) return false;
    return resources === undefined || resources.some((entry) => fitsResource(entry, action));
  }
  const urls = given(rule.nonResourceURLs);
  return urls === undefined || (!action.isResourceRequest && urls.some((url) => fitsPath(url, action.path)));
}

function fitsResource({ group = "", resources, resourceNames }: GroupResources, action: AuditedAction): boolean {
  const { resource, subresource, name } = action;
  if (group !== action.group) return false;
  const names = given(resources);
  if (names === undefined) return true;
  if (!lists(given(resourceNames), name)) return false;
  const whole = subresource === "" ? resource : `${resource}/${subresource}`;
  return names.some(
    (one) =>
      one === "*" ||
      one === whole ||
      one === `${resource}/*` ||
      (subresource !== "" && one.startsWith("*/") && one.slice(2) === subresource),
  );
}

function fitsPath(url: string, path: string): boolean {
  return url === path || (url.endsWith("*") && path.startsWith(url.slice(0, -1)));
}
