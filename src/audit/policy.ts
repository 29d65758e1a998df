/**
 * The audit policy: the first matching rule sets the level and the stages of a request's events. `configuration.ts`
 * validates policies. Source: upstream's `audit/policy`.
 */
import type { GroupResources, Policy, PolicyRule } from "#api/audit/v1.ts";
import type { RequestAttributes } from "#meta/request-attributes.ts";
import type { UserInfo } from "#meta/user-info.ts";

export const levels = ["None", "Metadata", "Request", "RequestResponse"] as const;
export type Level = (typeof levels)[number];

export const stages = ["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"] as const;
export type Stage = (typeof stages)[number];

/** A policy as parsed from its file. */
export type PolicyDocument = Partial<Omit<Policy, "rules" | "metadata">> & { readonly rules?: readonly RuleDocument[] };
export type RuleDocument = Partial<PolicyRule>;

/** A request, in the form that rules match. */
export interface AuditedAction extends Omit<RequestAttributes, "version"> {
  readonly user: UserInfo;
}

/** The parts of a request to record. There is one object for each rule, which requests share. */
export interface AuditDecision {
  readonly level: Level;
  readonly omitStages: ReadonlySet<Stage>;
  readonly omitManagedFields: boolean;
}

/** A compiled policy. */
export class AuditPolicy {
  readonly #rules: readonly { readonly rule: RuleDocument; readonly decision: AuditDecision }[];
  readonly #none: AuditDecision;

  /** `document` must have been checked. */
  constructor({ rules = [], omitStages = [], omitManagedFields = false }: PolicyDocument) {
    // Safe: the checks ensure that every name is a level or stage.
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

  /** Returns the decision of the first matching rule; its level is `None` when no rule matches. */
  decide(action: AuditedAction): AuditDecision {
    for (const { rule, decision } of this.#rules) if (fits(rule, action)) return decision;
    return this.#none;
  }
}

const lists = (list: readonly string[] | undefined, text: string): boolean => list === undefined || list.includes(text);

const unlessEmpty = <T>(list: readonly T[] | undefined): readonly T[] | undefined =>
  list?.length === 0 ? undefined : list;

function fits(rule: RuleDocument, action: AuditedAction): boolean {
  const { user } = action;
  if (!lists(unlessEmpty(rule.users), user.name) || !lists(unlessEmpty(rule.verbs), action.verb)) return false;
  const groups = unlessEmpty(rule.userGroups);
  if (groups !== undefined && !user.groups.some((group) => groups.includes(group))) return false;
  const namespaces = unlessEmpty(rule.namespaces);
  const resources = unlessEmpty(rule.resources);
  if (namespaces !== undefined || resources !== undefined) {
    if (!action.isResourceRequest || !lists(namespaces, action.namespace)) return false;
    return resources === undefined || resources.some((entry) => fitsResource(entry, action));
  }
  const urls = unlessEmpty(rule.nonResourceURLs);
  return urls === undefined || (!action.isResourceRequest && urls.some((url) => fitsPath(url, action.path)));
}

function fitsResource({ group = "", resources, resourceNames }: GroupResources, action: AuditedAction): boolean {
  const { resource, subresource, name } = action;
  if (group !== action.group) return false;
  const names = unlessEmpty(resources);
  if (names === undefined) return true;
  if (!lists(unlessEmpty(resourceNames), name)) return false;
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
