/**
 * Orders groups and versions for discovery, which decides the version that clients use by default. Source: upstream's
 * priorities of API services, and its order of version names.
 */
import { groupPriorities } from "#api/group-priorities.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { compareTexts, compareVersions } from "#meta/version-order.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { RemoteDiscovery } from "./resource-discovery.ts";

interface RemoteGroupVersion extends RemoteDiscovery {
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
}

export interface ServedVersion {
  readonly version: string;
  /** The resources of a version of another server, which has no definitions here. */
  readonly remote?: RemoteDiscovery;
  /**
   * The definitions, sorted by resource name, which is the order of discovery. Upstream's order of custom resources is
   * random.
   */
  readonly definitions: readonly ResourceDefinition[];
}

export interface ServedGroup {
  /** The name of the group; empty for the core group. */
  readonly name: string;
  /** The versions, the preferred one first. */
  readonly versions: readonly ServedVersion[];
  /** Whether any of its kinds is built in. Such a group answers with a Status for versions that it does not have. */
  readonly builtin: boolean;
}

/** A version with the properties that decide its rank in its group. */
interface Candidate extends ServedVersion {
  readonly priority: number;
}

/** The priority of groups of custom resources; `customVersionPriority` is that of their versions. */
const customPriority = 1000;
const customVersionPriority = 100;

/**
 * Returns the groups of the table and of other servers, the core group first. A version of another server hides that of
 * the table.
 */
export function servedGroups(
  definitions: readonly ResourceDefinition[],
  domain: ApiDomain,
  remote: readonly RemoteGroupVersion[] = [],
): ServedGroup[] {
  const builtIn = new Map(groupPriorities.map((row) => [domain.rename(row[0]), row] as const));
  const local = Map.groupBy(definitions, ({ group }) => group);
  const elsewhere = Map.groupBy(remote, ({ group }) => group);
  const priority = (name: string): number => {
    if (name === "") return Number.POSITIVE_INFINITY;
    const own = local.has(name) ? (builtIn.get(name)?.[1] ?? customPriority) : 0;
    // The group of the APIServices themselves is the first one after the core group.
    if (name === domain.rename("apiregistration.k8s.io")) return Number.MAX_SAFE_INTEGER;
    return Math.max(own, ...(elsewhere.get(name) ?? []).map(({ groupPriority }) => groupPriority));
  };
  return [...new Set([...local.keys(), ...elsewhere.keys()])]
    .map((name) => {
      const ofGroup = local.get(name) ?? [];
      const builtin = ofGroup.some(({ custom }) => custom === undefined);
      const versions = versionsOf(ofGroup, elsewhere.get(name) ?? [], builtIn.get(name)?.[2] ?? {});
      return { name, versions, builtin, priority: priority(name) };
    })
    .sort((a, b) => compareNumbers(b.priority, a.priority) || compareTexts(a.name, b.name))
    .map(({ name, versions, builtin }) => ({ name, versions, builtin }));
}

/** Compares numbers, including infinite ones. */
const compareNumbers = (a: number, b: number): number => (a === b ? 0 : a < b ? -1 : 1);

function versionsOf(
  definitions: readonly ResourceDefinition[],
  remote: readonly RemoteGroupVersion[],
  priorities: Readonly<Record<string, number>>,
): readonly ServedVersion[] {
  const hidden = new Set(remote.map(({ version }) => version));
  const candidates: Candidate[] = [...Map.groupBy(definitions, ({ version }) => version)]
    .filter(([version]) => !hidden.has(version))
    .map(([version, list]) => {
      // Without aggregated versions, only the names of versions decide the order.
      const priority = remote.length === 0 ? 0 : (priorities[version] ?? customVersionPriority);
      return { version, definitions: sortDefinitions(list), priority };
    });
  for (const { version, versionPriority, resources, freshness } of remote) {
    candidates.push({ version, definitions: [], priority: versionPriority, remote: { resources, freshness } });
  }
  return candidates
    .sort((a, b) => b.priority - a.priority || compareVersions(a.version, b.version))
    .map(({ priority: _priority, ...version }) => version);
}

function sortDefinitions(definitions: readonly ResourceDefinition[]): ResourceDefinition[] {
  return definitions.toSorted((a, b) => compareTexts(a.resource, b.resource));
}
