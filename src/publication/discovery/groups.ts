/**
 * The order of groups and versions in discovery, which decides the version that clients use by default. Source:
 * upstream's priorities of API services, and its order of version names.
 */
import type { ApiDomain } from "#meta/api-domain.ts";
import { compareTexts, compareVersions } from "#meta/version-order.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";

export interface ServedVersion {
  readonly version: string;
  /** By name, the order of discovery. Upstream's order of custom ones is random. */
  readonly definitions: readonly ResourceDefinition[];
}

export interface ServedGroup {
  /** Empty for the core group. */
  readonly name: string;
  /** Preferred version first. */
  readonly versions: readonly ServedVersion[];
  /** Whether any of its kinds is built in; such a group answers for versions it does not have. */
  readonly builtin: boolean;
}

/** Groups of the table, the core group first. */
export function servedGroups(definitions: readonly ResourceDefinition[], domain: ApiDomain): ServedGroup[] {
  const ranks = new Map(
    groupOrder.map((names, rank) => names.map((name) => [domain.rename(name), rank] as const)).flat(),
  );
  const rank = (name: string): number => ranks.get(name) ?? groupOrder.length;
  return [...Map.groupBy(definitions, ({ group }) => group)]
    .map(([name, ofGroup]) => ({
      name,
      versions: [...Map.groupBy(ofGroup, ({ version }) => version)]
        .sort(([a], [b]) => compareVersions(a, b))
        .map(([version, list]) => ({ version, definitions: sorted(list) })),
      builtin: ofGroup.some(({ routes }) => routes === "installed"),
    }))
    .sort((a, b) => rank(a.name) - rank(b.name) || compareTexts(a.name, b.name));
}

function sorted(definitions: readonly ResourceDefinition[]): ResourceDefinition[] {
  return definitions.toSorted((a, b) => compareTexts(a.resource, b.resource));
}

/** The order of built-in groups; those in one row are sorted by name. Other groups follow. */
const groupOrder: readonly (readonly string[])[] = [
  [""],
  ["apiregistration.k8s.io"],
  ["apps"],
  ["events.k8s.io"],
  ["authentication.k8s.io"],
  ["authorization.k8s.io"],
  ["autoscaling"],
  ["batch"],
  ["certificates.k8s.io"],
  ["networking.k8s.io"],
  ["policy"],
  ["rbac.authorization.k8s.io"],
  ["storage.k8s.io"],
  ["admissionregistration.k8s.io", "apiextensions.k8s.io"],
  ["scheduling.k8s.io"],
  ["coordination.k8s.io"],
  ["node.k8s.io"],
  ["discovery.k8s.io"],
  ["flowcontrol.apiserver.k8s.io"],
  ["internal.apiserver.k8s.io"],
  ["resource.k8s.io"],
  ["storagemigration.k8s.io"],
];
