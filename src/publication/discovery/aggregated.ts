/** Aggregated discovery: all groups, versions and resources in one document. Source: upstream's `apidiscovery` types. */
import type { GroupVersionKind } from "#meta/group-version.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import { compareTexts } from "#meta/version-order.ts";
import type { ServedGroup, ServedVersion } from "./groups.ts";

export interface SubresourceDiscovery {
  readonly subresource: string;
  readonly responseKind: GroupVersionKind;
  readonly verbs: readonly string[];
}

export interface ResourceDiscovery {
  readonly resource: string;
  readonly responseKind: GroupVersionKind;
  readonly scope: "Cluster" | "Namespaced";
  readonly singularResource: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly SubresourceDiscovery[];
}

export interface VersionDiscovery {
  readonly version: string;
  readonly resources: readonly ResourceDiscovery[];
  readonly freshness: "Current";
}

export interface GroupDiscovery {
  readonly metadata: { readonly name?: string; readonly creationTimestamp: null };
  readonly versions: readonly VersionDiscovery[];
}

export interface GroupDiscoveryList {
  readonly kind: "APIGroupDiscoveryList";
  readonly apiVersion: string;
  readonly metadata: Readonly<Record<string, never>>;
  readonly items: readonly GroupDiscovery[];
}

/** `apiVersion` is that of the document: both versions of it have the same fields. */
export function groupDiscoveryList(groups: readonly ServedGroup[], apiVersion: string): GroupDiscoveryList {
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion,
    metadata: {},
    items: groups.map(({ name, versions }) => ({
      metadata: { ...(name === "" ? {} : { name }), creationTimestamp: null },
      versions: versions.map((version) => versionDiscovery(name, version)),
    })),
  };
}

function versionDiscovery(group: string, { version, definitions }: ServedVersion): VersionDiscovery {
  const resources = definitions.map((definition) => resourceDiscovery(group, version, definition));
  return { version, resources, freshness: "Current" };
}

function resourceDiscovery(group: string, version: string, definition: ResourceDefinition): ResourceDiscovery {
  const { resource, kind, namespaced, singular, verbs, shortNames, categories } = definition;
  // Upstream: a description of routes leaves out a group and version that are those around it.
  const describesRoutes = definition.routes === "installed";
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
