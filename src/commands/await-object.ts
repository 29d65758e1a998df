/** Waits until an object is as somebody wants it. */
import type { Unstructured } from "#meta/object-meta.ts";
import { waitingClock } from "#client/clock.ts";
import { follow } from "#client/follow.ts";
import { systemRandom } from "#std/random.ts";
import { collectionPath } from "./discovery.ts";
import type { ObjectAddress, OpenCluster } from "./open-cluster.ts";

/** Whether the object is as it is wanted; it is `undefined` while there is none. */
export type ObjectTest = (object: Unstructured | undefined) => boolean;

/**
 * Follows an object until it passes the test, and resolves with its state then; `isOver` is true if the time was over
 * first. A time of `undefined` has no end.
 */
export async function awaitObject(
  cluster: OpenCluster,
  { resource, namespace, name }: ObjectAddress,
  test: ObjectTest,
  timeoutMs: number | undefined,
): Promise<{ readonly isOver: boolean; readonly object: Unstructured | undefined }> {
  const stop = new AbortController();
  const cancel = timeoutMs === undefined ? () => undefined : waitingClock.after(timeoutMs, () => stop.abort());
  const path = `${collectionPath(resource, namespace)}?fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`;
  const source = { client: cluster.rest, clock: waitingClock, random: systemRandom };
  let object: Unstructured | undefined;
  try {
    for await (const step of follow<Unstructured>({ ...source, path, signal: stop.signal })) {
      object = step.type === "LISTED" ? step.objects[0] : step.type === "DELETED" ? undefined : step.object;
      if (test(object)) return { isOver: false, object };
    }
    return { isOver: true, object };
  } finally {
    cancel();
    stop.abort();
  }
}
