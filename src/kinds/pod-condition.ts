/** Conditions of pods that the server itself sets. Source: `UpdatePodCondition` in upstream's `pkg/api/pod`. */
import type { Unstructured } from "#meta/object-meta.ts";
import { listField, noFields, objectField } from "./json-edit.ts";

export interface PodCondition {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason?: string;
  readonly message?: string;
}

/** The pod with the condition instead of another of its type; the time of the change stays while the status does. */
export function withCondition(pod: Unstructured, condition: PodCondition, now: string): Unstructured {
  const status = objectField(pod, "status") ?? noFields;
  const conditions = listField(status, "conditions");
  const at = conditions.findIndex(({ type }) => type === condition.type);
  const before = conditions[at];
  const lastTransitionTime = before?.["status"] === condition.status ? before["lastTransitionTime"] : now;
  const next = { ...condition, lastProbeTime: null, lastTransitionTime };
  const all = at < 0 ? [...conditions, next] : conditions.with(at, next);
  return { ...pod, status: { ...status, conditions: all } };
}
