/**
 * Roles and bindings that have at least what a file says, made of those that exist: missing rules and subjects are added,
 * and others removed only when that is asked for. Source of the outcomes: upstream's `kubectl auth reconcile`.
 */
import { isDeepStrictEqual } from "node:util";
import type { ClusterRole, PolicyRule, RoleBinding, Subject } from "#api/rbac/v1.ts";
import { missingRights } from "#authz/rules-cover.ts";

/** A change of an object, and lines that say what it consists of. Without lines, nothing changes. */
export interface Change<T> {
  readonly object: T;
  /** Whether the object is deleted and made anew, since the field that changes is immutable. */
  readonly isAnew: boolean;
  readonly lines: readonly string[];
}

/** A role of either kind; those in namespaces have no aggregation. */
export type AnyRole = ClusterRole;

/** Returns a role that grants the rights of `existing` and `wanted`, or without extras those of `wanted` alone. */
export function reconciledRole(existing: AnyRole, wanted: AnyRole, removesExtra: boolean): Change<AnyRole> {
  const { aggregationRule } = wanted;
  const { metadata, lines: metadataLines } = mergedMetadata(existing, wanted);
  if (aggregationRule !== undefined) {
    const present = existing.aggregationRule?.clusterRoleSelectors ?? [];
    const asked = aggregationRule.clusterRoleSelectors ?? [];
    const selectors = merged(present, asked, removesExtra, "aggregation selector");
    const lines = [...metadataLines, ...selectors.lines];
    return {
      object: { ...existing, metadata, aggregationRule: { clusterRoleSelectors: selectors.items } },
      isAnew: false,
      lines,
    };
  }
  const present = existing.rules ?? [];
  const asked = wanted.rules ?? [];
  const missing = asked.filter((rule) => missingRights(present, [rule]).length > 0);
  const extra = removesExtra ? present.filter((rule) => missingRights(asked, [rule]).length > 0) : [];
  const rules = missing.length + extra.length === 0 ? present : removesExtra ? asked : [...present, ...missing];
  const lines = [
    ...metadataLines,
    ...missing.map((rule) => `rule added: ${shownRule(rule)}`),
    ...extra.map((rule) => `rule removed: ${shownRule(rule)}`),
  ];
  return { object: { ...existing, metadata, rules }, isAnew: false, lines };
}

/** Returns a binding to the role of `wanted` with the subjects of both, or without extras those of `wanted` alone. */
export function reconciledBinding(
  existing: RoleBinding,
  wanted: RoleBinding,
  removesExtra: boolean,
): Change<RoleBinding> {
  const subjects = merged(
    (existing.subjects ?? []).map(completeSubject),
    (wanted.subjects ?? []).map(completeSubject),
    removesExtra,
    "subject",
  );
  const { metadata, lines } = mergedMetadata(existing, wanted);
  const isAnew =
    existing.roleRef.kind !== wanted.roleRef.kind ||
    existing.roleRef.name !== wanted.roleRef.name ||
    existing.roleRef.apiGroup !== wanted.roleRef.apiGroup;
  const change = `made anew: the role changes from ${existing.roleRef.kind} ${existing.roleRef.name} to ${wanted.roleRef.kind} ${wanted.roleRef.name}`;
  return {
    object: { ...existing, metadata, roleRef: wanted.roleRef, subjects: subjects.items },
    isAnew,
    lines: [...(isAnew ? [change] : []), ...lines, ...subjects.lines],
  };
}

/** Returns the items of both lists, or of the second alone, and a line for each difference. */
function merged<T>(
  present: readonly T[],
  wanted: readonly T[],
  removesExtra: boolean,
  what: string,
): { readonly items: readonly T[]; readonly lines: readonly string[] } {
  const isIn = (list: readonly T[], item: T): boolean => list.some((one) => isDeepStrictEqual(one, item));
  const missing = wanted.filter((item) => !isIn(present, item));
  const extra = removesExtra ? present.filter((item) => !isIn(wanted, item)) : [];
  return {
    items: [...present.filter((item) => !extra.includes(item)), ...missing],
    lines: [
      ...missing.map((item) => `${what} added: ${JSON.stringify(item)}`),
      ...extra.map((item) => `${what} removed: ${JSON.stringify(item)}`),
    ],
  };
}

/** Returns a subject with the fields that say who it is, in one order. */
function completeSubject({ kind, apiGroup = "", name, namespace = "" }: Subject): Subject {
  return {
    kind,
    ...(apiGroup === "" ? {} : { apiGroup }),
    name,
    ...(namespace === "" ? {} : { namespace }),
  };
}

/** Returns the metadata of `existing` with the labels and annotations of `wanted`. */
function mergedMetadata(
  existing: AnyRole | RoleBinding,
  wanted: AnyRole | RoleBinding,
): { readonly metadata: AnyRole["metadata"]; readonly lines: readonly string[] } {
  const lines: string[] = [];
  const metadata = { ...existing.metadata };
  for (const field of ["labels", "annotations"] as const) {
    const [present = {}, asked = {}] = [existing.metadata[field], wanted.metadata[field]];
    const added = Object.entries(asked).filter(([key, value]) => present[key] !== value);
    if (added.length === 0) continue;
    Object.assign(metadata, { [field]: { ...present, ...asked } });
    lines.push(...added.map(([key, value]) => `${field.slice(0, -1)} set: ${key}=${value}`));
  }
  return { metadata, lines };
}

function shownRule({ verbs, apiGroups, resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule): string {
  const groups = apiGroups === undefined ? "" : ` in ${apiGroups.map((group) => JSON.stringify(group)).join(", ")}`;
  const names = resourceNames.length === 0 ? "" : ` named ${resourceNames.join(", ")}`;
  const urls = nonResourceURLs.length === 0 ? "" : ` ${nonResourceURLs.join(", ")}`;
  return `${(verbs ?? []).join(", ")} ${resources.join(", ")}${groups}${names}${urls}`.replaceAll(/ {2,}/g, " ");
}
