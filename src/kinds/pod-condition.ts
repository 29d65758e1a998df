/** Conditions of pods that the server itself writes. Source: `UpdatePodCondition` in upstream's `pkg/api/pod`. */
import type { Pod, PodCondition } from "#api/core/v1.ts";

/**
 * Returns the pod with the condition in place of the one of its type. The transition time changes only with the status
 * of the condition.
 */
export function withPodCondition(
  pod: Pod,
  condition: Omit<PodCondition, "lastProbeTime" | "lastTransitionTime">,
  now: string,
): Pod {
  const { conditions = [] } = pod.status;
  const at = conditions.findIndex(({ type }) => type === condition.type);
  const before = conditions[at];
  const lastTransitionTime = before?.status === condition.status ? before.lastTransitionTime : now;
  const next = { ...condition, lastProbeTime: null, lastTransitionTime };
  const all = at < 0 ? [...conditions, next] : conditions.with(at, next);
  return { ...pod, status: { ...pod.status, conditions: all } };
}
