/** Facts about pods and their templates that the controllers of all workloads need. */
import { createHash } from "node:crypto";
import { after, isConditionTrue } from "#client/controllers.ts";
import type { ObjectMeta, Pod, PodTemplateSpec } from "#client/kinds.ts";
import { timeToMs } from "#meta/time.ts";
import { isObject } from "#std/is-object.ts";

/** The pods that one call makes or deletes at most. */
export const burstMax = 500;

export const hasEnded = ({ status: { phase } }: Pod): boolean => phase === "Succeeded" || phase === "Failed";

/** Whether a pod counts: it has not ended and is not being deleted. */
export const isActive = (pod: Pod): boolean => !hasEnded(pod) && pod.metadata.deletionTimestamp === undefined;

export const isReady = ({ status }: Pod): boolean => isConditionTrue(status.conditions, "Ready");

/** Returns the time since which a pod is Ready; `Infinity` when it is not. */
export function readySince({ status: { conditions = [] } }: Pod): number {
  const ready = conditions.find(({ type, status }) => type === "Ready" && status === "True");
  return timeToMs(ready?.lastTransitionTime ?? "") ?? Infinity;
}

/** Whether a pod has been Ready for some seconds. */
export const isAvailable = (pod: Pod, minReadySeconds: number, nowMs: number): boolean =>
  isReady(pod) && (minReadySeconds === 0 || readySince(pod) + minReadySeconds * 1000 <= nowMs);

/** Returns how many pods are Ready and available, and when to look again at those that are not Ready for long enough. */
export function availability(pods: readonly Pod[], minReadySeconds: number, nowMs: number) {
  const ready = pods.filter(isReady).length;
  const available = pods.filter((pod) => isAvailable(pod, minReadySeconds, nowMs)).length;
  return { ready, available, again: available < ready ? after(minReadySeconds * 1000) : undefined };
}

/** Removes the first of some objects, which are the oldest, and keeps a number of them. */
export async function keepLast<K>(objects: readonly K[], count: number, remove: (one: K) => Promise<void>) {
  for (const one of objects.slice(0, Math.max(0, objects.length - count))) await remove(one);
}

/** Returns a pod of a template, with metadata and fields of the spec that its owner adds. */
export const podOf = <M extends Partial<ObjectMeta>>(
  template: PodTemplateSpec,
  metadata: M,
  spec: Partial<PodTemplateSpec["spec"]>,
) => ({
  metadata: {
    ...metadata,
    labels: { ...template.metadata?.labels, ...metadata.labels },
    annotations: { ...template.metadata?.annotations, ...metadata.annotations },
    finalizers: template.metadata?.finalizers,
  },
  spec: { ...template.spec, ...spec },
});

/** Returns the hash of a template, for names: so long that no two have the same. The order of fields does not matter. */
export const hashOf = (template: unknown): string =>
  createHash("sha256").update(JSON.stringify(template, sortFields)).digest("hex").slice(0, 16);

const sortFields = (_key: string, value: unknown): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))) : value;
