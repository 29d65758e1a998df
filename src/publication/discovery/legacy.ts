/** Unaggregated discovery documents: versions of the core group, groups, one group, resources of one version. */
import { apiVersionOf } from "#meta/group-version.ts";
import { compareTexts } from "#meta/version-order.ts";
import type { ServedGroup, ServedVersion } from "./groups.ts";

export interface ApiVersions {
  readonly kind: "APIVersions";
  readonly versions: readonly string[];
  readonly serverAddressByClientCIDRs: readonly { readonly clientCIDR: string; readonly serverAddress: string }[];
}

export interface GroupVersionName {
  readonly groupVersion: string;
  readonly version: string;
}

export interface ApiGroup {
  readonly kind?: "APIGroup";
  readonly apiVersion?: "v1";
  readonly name: string;
  readonly versions: readonly GroupVersionName[];
  readonly preferredVersion: GroupVersionName;
}

export interface ApiGroupList {
  readonly kind: "APIGroupList";
  readonly apiVersion: "v1";
  readonly groups: readonly ApiGroup[];
}

export interface ApiResource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  /** Only where they are not those of the list. */
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly storageVersionHash?: string;
}

export interface ApiResourceList {
  readonly kind: "APIResourceList";
  readonly apiVersion?: "v1";
  readonly groupVersion: string;
  readonly resources: readonly ApiResource[];
}

/** `/api`. Upstream: without `apiVersion`, as all that belongs to the core group. */
export function apiVersions(core: ServedGroup | undefined, serverAddress: string): ApiVersions {
  return {
    kind: "APIVersions",
    versions: core?.versions.map(({ version }) => version) ?? [],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress }],
  };
}

/** `/apis`; the core group is not in it. */
export function apiGroupList(groups: readonly ServedGroup[]): ApiGroupList {
  const named = groups.filter(({ name }) => name !== "");
  return { kind: "APIGroupList", apiVersion: "v1", groups: named.map(describeGroup) };
}

/** `/apis/<group>`. */
export function apiGroup(group: ServedGroup): ApiGroup {
  return { kind: "APIGroup", apiVersion: "v1", ...describeGroup(group) };
}

function describeGroup({ name, versions }: ServedGroup): ApiGroup {
  const names = versions.map(({ version }) => ({ groupVersion: apiVersionOf({ group: name, version }), version }));
  return { name, versions: names, preferredVersion: names[0]! }; // a group has a version or is not served
}

/** `/api/v1`, `/apis/<group>/<version>`. */
export function apiResourceList(group: string, { version, definitions }: ServedVersion): ApiResourceList {
  const resources = definitions.flatMap((definition): ApiResource[] => {
    const { resource, namespaced, kind, verbs, shortNames, categories, storageVersionHash } = definition;
    const main: ApiResource = {
      name: resource,
      singularName: definition.singular,
      namespaced,
      kind,
      verbs,
      ...(shortNames.length === 0 ? {} : { shortNames }),
      ...(categories.length === 0 ? {} : { categories }),
      ...(storageVersionHash === "" ? {} : { storageVersionHash }),
    };
    const parts = definition.subresources.map((part): ApiResource => {
      const elsewhere = part.group !== group || part.version !== version;
      return {
        name: `${resource}/${part.name}`,
        singularName: "",
        namespaced,
        ...(elsewhere ? { group: part.group, version: part.version } : {}),
        kind: part.kind,
        verbs: part.verbs,
      };
    });
    if (definition.routes === "installed") parts.sort((a, b) => compareTexts(a.name, b.name));
    return [main, ...parts];
  });
  const groupVersion = apiVersionOf({ group, version });
  return { kind: "APIResourceList", ...(group === "" ? {} : { apiVersion: "v1" }), groupVersion, resources };
}
