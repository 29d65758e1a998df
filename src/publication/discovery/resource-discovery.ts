/** The types of resources in aggregated discovery, for this server and others. */
import type { GroupVersionKind } from "#meta/group-version.ts";

/** A resource of a version. */
export interface ResourceDiscovery {
  readonly resource: string;
  readonly responseKind: GroupVersionKind;
  readonly scope: "Namespaced" | "Cluster";
  readonly singularResource: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly SubresourceDiscovery[];
}

interface SubresourceDiscovery {
  readonly subresource: string;
  readonly responseKind: GroupVersionKind;
  readonly verbs: readonly string[];
}

/** The resources of a version of another server. */
export interface RemoteDiscovery {
  readonly resources: readonly ResourceDiscovery[];
  readonly freshness: "Current" | "Stale";
}
