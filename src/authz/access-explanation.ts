/** Explains by roles and bindings why somebody may do something or may not, and what would allow it. */
import type { Unstructured } from "#meta/object-meta.ts";
import { groupAuthenticated, type UserInfo } from "#meta/user-info.ts";
import type { Attributes } from "./authorizer.ts";
import { type Grant, names, reaches } from "./grants.ts";
import { allows, type PreparedRule, ruleResource } from "./rules.ts";
import { countOf, isElsewhere, otherKind, shortfall } from "./shortfall.ts";

/** The number of rules that are shown as nearest. */
const nearestMax = 3;

/** A rule of a role that a binding gives to the user. */
export interface HeldRule {
  readonly grant: Grant;
  readonly rule: PreparedRule;
}

interface NearRule extends HeldRule {
  readonly lacks: number;
}

/** Returns the groups of a user who is asked about, with those that every server adds. */
export function withImplied(name: string, groups: readonly string[]): readonly string[] {
  const [, namespace] = /^system:serviceaccount:([^:]+):[^:]+$/.exec(name) ?? [];
  const ofAccount = namespace === undefined ? [] : ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
  return [...new Set([...groups, ...ofAccount, ...(name === "system:anonymous" ? [] : [groupAuthenticated])])];
}

/** The rules of roles that are about an action of a user. */
export interface AccessExplanation {
  /** The rules that allow it. */
  readonly allowing: readonly HeldRule[];
  /** The rules that come nearest to it, the nearest first; those that lack everything are left out. */
  readonly nearest: readonly NearRule[];
  /** The number of bindings of the user that count for the action. */
  readonly bindings: number;
  /** Bindings of the user whose role does not exist. */
  readonly dangling: readonly Grant[];
}

/** Explains a decision of the server by the roles of the cluster. */
export function explainAccess(grants: readonly Grant[], attributes: Attributes, allowed: boolean): AccessExplanation {
  const own = grants.filter(
    (grant) =>
      reaches(grant, attributes) && grant.subjects.some((subject) => names(subject, grant.namespace, attributes)),
  );
  const resource = ruleResource(attributes);
  const held = own.flatMap((grant) => (grant.rules ?? []).map((rule) => ({ grant, rule })));
  const allowing = held.filter(({ grant, rule }) => counts(grant, attributes) && allows(rule, attributes, resource));
  const worst = attributes.isResourceRequest ? 3 : 2;
  const near = held
    .map((one): NearRule => ({ ...one, lacks: shortfall(one.rule, attributes, resource) }))
    .filter(({ lacks }) => lacks !== otherKind && lacks !== 0 && countOf(lacks) < worst)
    .sort((one, other) => distance(one) - distance(other));
  return {
    allowing,
    nearest: allowed || allowing.length > 0 ? [] : near.slice(0, nearestMax),
    bindings: own.length,
    dangling: own.filter(({ rules }) => rules === undefined),
  };
}

/** Returns how far a rule is from allowing the action: a rule for the same resource is nearer. */
const distance = ({ lacks }: NearRule): number => countOf(lacks) * 2 + (isElsewhere(lacks) ? 1 : 0);

/** Whether rules of a binding count: those for paths do in cluster bindings alone. */
const counts = ({ namespace }: Grant, { isResourceRequest }: Attributes): boolean =>
  isResourceRequest || namespace === "";

/** Returns the role and the binding that would allow exactly the action. */
export function wouldAllow(attributes: Attributes, group: string): readonly Unstructured[] {
  const { user, isResourceRequest, verb, path, name, namespace } = attributes;
  const rule = isResourceRequest
    ? {
        apiGroups: [attributes.group],
        resources: [ruleResource(attributes)],
        // The name of an object that is not there yet is not known when the server decides.
        ...(name === "" || verb === "create" ? {} : { resourceNames: [name] }),
        verbs: [verb],
      }
    : { nonResourceURLs: [path], verbs: [verb] };
  const isLocal = namespace !== "";
  const thing = isResourceRequest ? ruleResource(attributes).replaceAll("/", "-") : "path";
  const roleName = `${verb}-${thing}`.replaceAll("*", "all");
  const metadata = { name: roleName, ...(isLocal ? { namespace } : {}) };
  const kind = isLocal ? "Role" : "ClusterRole";
  const apiVersion = `${group}/v1`;
  return [
    { apiVersion, kind, metadata, rules: [rule] },
    {
      apiVersion,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup: group, kind, name: roleName },
      subjects: [subjectOf(user, group)],
    },
  ];
}

function subjectOf({ name }: UserInfo, apiGroup: string): object {
  const [, namespace, account] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name) ?? [];
  return account === undefined
    ? { apiGroup, kind: "User", name }
    : { kind: "ServiceAccount", namespace, name: account };
}

/** Returns an action in words: `list pods in namespace shop`. */
export function actionWords({
  isResourceRequest,
  verb,
  path,
  resource,
  subresource,
  name,
  namespace,
  group,
}: Attributes): string {
  if (!isResourceRequest) return `${verb} ${path}`;
  const kind = `${resource}${group === "" ? "" : `.${group}`}`;
  const what = `${kind}${subresource === "" ? "" : `/${subresource}`}${name === "" ? "" : ` ${JSON.stringify(name)}`}`;
  return `${verb} ${what}${namespace === "" ? " in the whole cluster" : ` in namespace ${namespace}`}`;
}
