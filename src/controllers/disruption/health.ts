/** The healthy pods of a budget, and the evicted pods that still exist. Pure functions. */
import type { Pod } from "#api/core/v1.ts";
import { timestampOf, timeToMs } from "#meta/time.ts";
import { isReady } from "../pods.ts";

export interface PodHealth {
  readonly currentHealthy: number;
  /** Pods whose eviction was allowed and which still exist, with the time of the eviction. */
  readonly disruptedPods: Readonly<Record<string, string>>;
  /** Pods that should have been deleted long ago; they count again. */
  readonly overdue: readonly Pod[];
  /** The time in milliseconds until one of the disrupted pods is overdue; `undefined` when there are none. */
  readonly nextMs: number | undefined;
}

/** The maximum time between the eviction of a pod and its deletion. */
const deletionMaxMs = 120_000;

/** Counts the pods. `disrupted` are the names and times in the status of the budget. */
export function countHealth(pods: readonly Pod[], disrupted: Readonly<Record<string, string>>, now: number): PodHealth {
  const disruptedPods: Record<string, string> = {};
  const overdue: Pod[] = [];
  let currentHealthy = 0;
  let nextMs: number | undefined;
  for (const pod of pods) {
    const { name = "", deletionTimestamp } = pod.metadata;
    // The deletion of the pod has begun: it has gone, as far as the budget is concerned.
    if (deletionTimestamp !== undefined) continue;
    const takenMs = Object.hasOwn(disrupted, name) ? timeToMs(disrupted[name] ?? "") : undefined;
    const leftMs = takenMs === undefined ? 0 : takenMs + deletionMaxMs - now;
    if (takenMs !== undefined && leftMs > 0) {
      disruptedPods[name] = timestampOf(takenMs);
      nextMs = Math.min(nextMs ?? leftMs, leftMs);
      continue;
    }
    if (takenMs !== undefined) overdue.push(pod);
    if (isReady(pod)) currentHealthy++;
  }
  return { currentHealthy, disruptedPods, overdue, nextMs };
}
