/**
 * Makes discovery documents that are not aggregated: versions of the core group, all groups, one group, and the
 * resources of one version.
 */
import type { APIGroup, APIGroupList, APIResource, APIResourceList, APIVersions } from "#api/meta/v1.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import { compareTexts } from "#meta/version-order.ts";
import { servingRulesOf } from "#registry/serving-rules.ts";
import type { ServedGroup, ServedVersion } from "./groups.ts";

/** A group without its type, as in a list. */
export type ApiGroup = ReturnType<typeof describeGroup>;
/** A resource whose verbs are always present. */
export type ApiResource = APIResource & { readonly verbs: readonly string[] };

/** Returns the document of `/api`. Upstream: it has no `apiVersion`, like all documents of the core group. */
export function apiVersions(core: ServedGroup | undefined, serverAddress: string) {
  return {
    kind: "APIVersions",
    versions: core?.versions.map(({ version }) => version) ?? [],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress }],
  } as const satisfies APIVersions;
}

/** Returns the document of `/apis`, which does not include the core group. */
export function apiGroupList(groups: readonly ServedGroup[]) {
  const named = groups.filter(({ name }) => name !== "");
  return { kind: "APIGroupList", apiVersion: "v1", groups: named.map(describeGroup) } as const satisfies APIGroupList;
}

/** Returns the document of `/apis/<group>`. */
export function apiGroup(group: ServedGroup) {
  return { kind: "APIGroup", apiVersion: "v1", ...describeGroup(group) } as const satisfies APIGroup;
}

function describeGroup({ name, versions }: ServedGroup) {
  const names = versions.map(({ version }) => ({ groupVersion: apiVersionOf({ group: name, version }), version }));
  return { name, versions: names, preferredVersion: names[0]! }; // a group has a version or is not served
}

/** Returns the document of `/api/v1` or `/apis/<group>/<version>`. `hashes`: built-in kinds have storage hashes. */
export function apiResourceList(group: string, { version, definitions }: ServedVersion, hashes = true) {
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
      ...(storageVersionHash === "" || (!hashes && definition.custom === undefined) ? {} : { storageVersionHash }),
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
    if (servingRulesOf(definition).hasRoutes) parts.sort((a, b) => compareTexts(a.name, b.name));
    return [main, ...parts];
  });
  const groupVersion = apiVersionOf({ group, version });
  const ownVersion = group === "" ? {} : { apiVersion: "v1" };
  return { kind: "APIResourceList", ...ownVersion, groupVersion, resources } as const satisfies APIResourceList;
}
