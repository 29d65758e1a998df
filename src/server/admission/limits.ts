/** Indexes of quotas, limit ranges and priority classes, in step with the store. */
import { NamespaceIndex } from "#admission/namespace-index.ts";
import { Quotas } from "#admission/quota.ts";
import type { LimitRange, ResourceQuota } from "#api/core/v1.ts";
import type { FeatureGates } from "#api/feature-gates.ts";
import type { PriorityClass } from "#api/scheduling/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { ObjectHandlers } from "#registry/informer.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { StoreInformers } from "#registry/store-informers.ts";
import type { WatchCache } from "#storage/watch-cache.ts";
import type { ServerParts } from "../server-parts.ts";

interface LimitParts extends Pick<ServerParts, "domain" | "clock"> {
  readonly gates: Pick<FeatureGates, "isOn">;
  readonly cache: Pick<WatchCache, "revision">;
  readonly informers: Pick<StoreInformers, "caughtUp">;
}

export interface Limits {
  readonly quotas: Quotas;
  readonly limitRanges: NamespaceIndex<LimitRange>;
  /** Priority classes, under the empty namespace. */
  readonly priorityClasses: NamespaceIndex<PriorityClass>;
}

export function openLimits({ domain, clock, gates, cache, informers }: LimitParts): Limits {
  const quotas = new Quotas({
    domain,
    clock,
    hasDevices: gates.isOn("DynamicResourceAllocation"),
    revision: () => cache.revision,
    caughtUp: (namespace, name) => informers.caughtUp({ group: "", resource: "resourcequotas" }, namespace, name),
  });
  return { quotas, limitRanges: new NamespaceIndex(), priorityClasses: new NamespaceIndex() };
}

/** Returns the handlers of a resource's objects; `undefined` for resources without an index. */
export function limitHandlers(
  { quotas, limitRanges, priorityClasses }: Limits,
  domain: ApiDomain,
  { group, resource }: ResourceDefinition,
): ObjectHandlers<ApiObject> | undefined {
  if (resource === "priorityclasses" && group === domain.rename("scheduling.k8s.io")) {
    return {
      cleared: () => priorityClasses.clear(),
      changed: (_, name, one) => priorityClasses.set("", name, one as PriorityClass | undefined), // by its schema
    };
  }
  if (group !== "") return undefined;
  if (resource === "resourcequotas") {
    return {
      cleared: () => quotas.clear(),
      changed: (namespace, name, quota) => quotas.set(namespace, name, quota as ResourceQuota | undefined), // by its schema
    };
  }
  if (resource === "limitranges") {
    return {
      cleared: () => limitRanges.clear(),
      changed: (namespace, name, range) => limitRanges.set(namespace, name, range as LimitRange | undefined), // by its schema
    };
  }
  return undefined;
}
