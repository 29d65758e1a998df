/**
 * Flow schemas compiled for matching. Source: upstream's `util/flowcontrol/rule`. Hot path: subjects are matched once
 * per user (see `classifier.ts`); a request then needs a few string comparisons without allocation.
 */
import type { FlowSchema, Subject } from "#api/flowcontrol/v1.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { RequestAttributes } from "#meta/request-attributes.ts";

/** A flow schema compiled for matching. */
export interface CompiledSchema {
  readonly name: string;
  readonly uid: string;
  readonly level: string;
  readonly precedence: number;
  /** The property that distinguishes the flows of the schema; empty when all its requests are one flow. */
  readonly distinguisher: "" | "ByUser" | "ByNamespace";
  readonly rules: readonly FlowRule[];
}

interface FlowRule {
  readonly subjects: readonly Subject[];
  readonly resourceRules: readonly ResourceRule[];
  readonly nonResourceRules: readonly NonResourceRule[];
}

/** A list of accepted values; `undefined` accepts any. */
type Choice = readonly string[] | undefined;

interface ResourceRule {
  readonly verbs: Choice;
  readonly groups: Choice;
  readonly resources: Choice;
  readonly namespaces: Choice;
  readonly clusterScope: boolean;
}

interface NonResourceRule {
  readonly verbs: Choice;
  readonly urls: readonly string[];
}

const choice = (list: readonly string[] | null | undefined): Choice =>
  list?.length === 1 && list[0] === "*" ? undefined : (list ?? []);

export function compileFlowSchema({ metadata, spec }: FlowSchema): CompiledSchema {
  const method = spec.distinguisherMethod?.type;
  return {
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    level: spec.priorityLevelConfiguration.name,
    precedence: spec.matchingPrecedence,
    distinguisher: method === "ByUser" || method === "ByNamespace" ? method : "",
    rules: (spec.rules ?? []).map((rule) => ({
      subjects: rule.subjects ?? [],
      resourceRules: (rule.resourceRules ?? []).map((one) => ({
        verbs: choice(one.verbs),
        groups: choice(one.apiGroups),
        resources: choice(one.resources),
        namespaces: choice(one.namespaces),
        clusterScope: one.clusterScope === true,
      })),
      nonResourceRules: (rule.nonResourceRules ?? []).map((one) => ({
        verbs: choice(one.verbs),
        urls: one.nonResourceURLs ?? [],
      })),
    })),
  };
}

/** Returns the rules of the schema that apply to this user. */
export function rulesFor(schema: CompiledSchema, user: UserInfo): readonly FlowRule[] {
  return schema.rules.filter(({ subjects }) => subjects.some((subject) => isMeant(subject, user)));
}

function isMeant(subject: Subject, { name, groups }: UserInfo): boolean {
  switch (subject.kind) {
    case "User":
      return subject.user?.name === "*" || subject.user?.name === name;
    case "Group": {
      const group = subject.group?.name;
      return group !== undefined && (group === "*" || groups.includes(group));
    }
    case "ServiceAccount": {
      const account = subject.serviceAccount;
      if (account === undefined) return false;
      const prefix = `system:serviceaccount:${account.namespace}:`;
      return account.name === "*" ? name.startsWith(prefix) : name === prefix + account.name;
    }
    default:
      return false;
  }
}

export function matches(rules: readonly FlowRule[], target: RequestAttributes): boolean {
  for (const rule of rules) {
    if (target.isResourceRequest) {
      for (const one of rule.resourceRules) if (matchesResource(one, target)) return true;
    } else {
      for (const one of rule.nonResourceRules) {
        if (has(one.verbs, target.verb) && matchesUrl(one.urls, target.path)) return true;
      }
    }
  }
  return false;
}

const has = (choice: Choice, word: string): boolean => choice === undefined || choice.includes(word);

function matchesResource(rule: ResourceRule, target: RequestAttributes): boolean {
  if (!has(rule.verbs, target.verb) || !has(rule.groups, target.group)) return false;
  if (rule.resources !== undefined) {
    const { resource, subresource } = target;
    if (!rule.resources.includes(subresource === "" ? resource : `${resource}/${subresource}`)) return false;
  }
  return target.namespace === "" ? rule.clusterScope : has(rule.namespaces, target.namespace);
}

/** Whether the path matches. As upstream, a path also matches everything below it, with or without a star. */
function matchesUrl(urls: readonly string[], path: string): boolean {
  for (const url of urls) {
    if (url === "*" || url === path) return true;
    const folder = url.endsWith("*") ? url.slice(0, -1) : url;
    if (path.startsWith(folder.endsWith("/") ? folder : `${folder}/`)) return true;
  }
  return false;
}
