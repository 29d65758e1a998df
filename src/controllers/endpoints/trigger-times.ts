/**
 * The time of the change that caused an update of endpoints; kube-proxy measures the network programming latency from
 * it. It is the creation time of the service, or the earliest time since the last update at which a pod became ready or
 * unready.
 */
import type { Pod, Service } from "#api/core/v1.ts";
import { timestampOf, timeToMs } from "#meta/time.ts";

interface Seen {
  readonly serviceMs: number;
  readonly podMs: ReadonlyMap<string, number>;
}

export class TriggerTimes {
  /** The times by key of the service. */
  readonly #seen = new Map<string, Seen>();

  /**
   * Returns the time of the change since the last call for this service; `undefined` when nothing with a time changed.
   */
  since(key: string, { metadata }: Service, pods: readonly Pod[]): string | undefined {
    const serviceMs = timeToMs(metadata.creationTimestamp ?? "") ?? 0;
    const podMs = new Map(pods.map((pod) => [pod.metadata.uid ?? "", readinessMs(pod)]));
    const before = this.#seen.get(key);
    this.#seen.set(key, { serviceMs, podMs });
    if (before === undefined || before.serviceMs !== serviceMs) return timestampOf(serviceMs);
    let firstMs = Number.POSITIVE_INFINITY;
    for (const [uid, ms] of podMs) {
      if (ms > (before.podMs.get(uid) ?? 0)) firstMs = Math.min(firstMs, ms);
    }
    return firstMs === Number.POSITIVE_INFINITY ? undefined : timestampOf(firstMs);
  }

  forget(key: string): void {
    this.#seen.delete(key);
  }
}

/** Returns the time at which the pod became ready or unready; 0 when it never did. */
function readinessMs({ status }: Pod): number {
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  return timeToMs(ready?.lastTransitionTime ?? "") ?? 0;
}
