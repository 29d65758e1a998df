/** Indexes of quotas, limit ranges and priority classes, in step with the store. */
import { NamespaceIndex } from "#admission/namespace-index.ts";
import { Quotas } from "#admission/quota.ts";
import type { LimitRange, ResourceQuota } from "#api/core/v1.ts";
import type { FeatureGates } from "#api/feature-gates.ts";
import type { PriorityClass } from "#api/scheduling/v1.ts";
import type { StoreInformers } from "#registry/store-informers.ts";
import type { WatchCache } from "#storage/watch-cache.ts";
import type { ServerParts } from "../server-parts.ts";
import type { HandlersByResource } from "../index-handlers.ts";

interface LimitParts extends Pick<ServerParts, "domain" | "clock" | "random"> {
  readonly gates: Pick<FeatureGates, "isOn">;
  readonly cache: Pick<WatchCache, "revision" | "isShared">;
  readonly informers: Pick<StoreInformers, "caughtUp">;
}

export interface Limits {
  readonly quotas: Quotas;
  readonly limitRanges: NamespaceIndex<LimitRange>;
  /** Priority classes, under the empty namespace. */
  readonly priorityClasses: NamespaceIndex<PriorityClass>;
}

/** The longest time for which a server leaves quotas to others, after it has charged some. */
const giveWayMs = 4;

export function openLimits({ domain, clock, random, gates, cache, informers }: LimitParts): Limits {
  const giveWay = (): Promise<void> =>
    new Promise((resolve) => void clock.after(random.next() * giveWayMs, () => resolve()));
  const quotas = new Quotas({
    domain,
    clock,
    hasDevices: gates.isOn("DynamicResourceAllocation"),
    revision: () => cache.revision,
    caughtUp: (namespace, name) => informers.caughtUp({ group: "", resource: "resourcequotas" }, namespace, name),
    giveWay: cache.isShared ? giveWay : undefined,
  });
  return { quotas, limitRanges: new NamespaceIndex(), priorityClasses: new NamespaceIndex() };
}

export const limitHandlers = ({ quotas, limitRanges, priorityClasses }: Limits): HandlersByResource => ({
  "priorityclasses.scheduling.k8s.io": {
    cleared: () => priorityClasses.clear(),
    changed: (_namespace, name, one: PriorityClass | undefined) => priorityClasses.set("", name, one),
  },
  resourcequotas: {
    cleared: () => quotas.clear(),
    changed: (namespace, name, quota: ResourceQuota | undefined) => quotas.set(namespace, name, quota),
  },
  limitranges: {
    cleared: () => limitRanges.clear(),
    changed: (namespace, name, range: LimitRange | undefined) => limitRanges.set(namespace, name, range),
  },
});
