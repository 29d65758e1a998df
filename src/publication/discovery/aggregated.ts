/**
 * Makes aggregated discovery: all groups, versions and resources in one document. Source: upstream's `apidiscovery`
 * types.
 */
import type { GroupVersionKind } from "#meta/group-version.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import { servingRulesOf } from "#registry/serving-rules.ts";
import { compareTexts } from "#meta/version-order.ts";
import type { ServedGroup, ServedVersion } from "./groups.ts";
import type { RemoteDiscovery, ResourceDiscovery } from "./resource-discovery.ts";

export type GroupDiscovery = ReturnType<typeof groupDiscoveryList>["items"][number];

/** Returns the document. `apiVersion` is its own version: both versions of the document have the same fields. */
export function groupDiscoveryList(groups: readonly ServedGroup[], apiVersion: string) {
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion,
    metadata: {},
    items: groups.map(({ name, versions }) => ({
      metadata: { ...(name === "" ? {} : { name }), creationTimestamp: null },
      versions: versions.map((version) => versionDiscovery(name, version)),
    })),
  } as const;
}

function versionDiscovery(group: string, { version, definitions, remote }: ServedVersion) {
  if (remote !== undefined) return remoteDiscovery(version, remote);
  const resources = definitions.map((definition) => resourceDiscovery(group, version, definition));
  return { version, resources, freshness: "Current" as const };
}

/**
 * Returns a version of another server. Upstream: a version whose discovery was never fetched has no list of resources.
 */
function remoteDiscovery(version: string, { resources, freshness }: RemoteDiscovery) {
  return { version, ...(resources.length === 0 ? {} : { resources }), freshness };
}

function resourceDiscovery(group: string, version: string, definition: ResourceDefinition): ResourceDiscovery {
  const { resource, kind, namespaced, singular, verbs, shortNames, categories } = definition;
  // Upstream: descriptions of routes omit group and version if they are those of the resource.
  const describesRoutes = servingRulesOf(definition).hasRoutes;
  const kindOf = (of: GroupVersionKind): GroupVersionKind =>
    describesRoutes && of.group === group && of.version === version
      ? { group: "", version: "", kind: of.kind }
      : { group: of.group, version: of.version, kind: of.kind };
  const subresources = definition.subresources.map((part) => ({
    subresource: part.name,
    responseKind: kindOf(part),
    verbs: part.verbs,
  }));
  if (describesRoutes) subresources.sort((a, b) => compareTexts(a.subresource, b.subresource));
  return {
    resource,
    responseKind: kindOf({ group, version, kind }),
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: singular,
    verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}
