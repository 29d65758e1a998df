/** The loop of controllers that look at each object of one collection by itself. */
import { reflect } from "#client/reflector.ts";
import { WorkQueue, type WorkQueueOptions } from "#client/work-queue.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { ControllerEnvironment } from "./controller.ts";

/** `T` is the type of the objects. */
export interface Reconciled<T extends ApiObject> extends Pick<WorkQueueOptions, "workersMax" | "pauses"> {
  /** Path of the collection. */
  readonly path: string;
  readonly fieldSelector?: string;
  /** The objects, for logs: `claims`. */
  readonly what: string;
  /** Key of one of them in logs: `claim`. */
  readonly logKey: string;
  /** What is logged when the work fails. */
  readonly failure: string;
  /** The key of an object that there is something to do about; `undefined` for others. */
  keyOf(object: T): string | undefined;
  /** As of the queue; `queue` takes keys that are to be looked at later. */
  work(key: string, queue: WorkQueue): ReturnType<WorkQueueOptions["work"]>;
}

/** Looks at all objects, and at each again when it changes, until the environment's signal is aborted. */
export async function reconcile<T extends ApiObject = ApiObject>(
  { reader, clock, signal, log }: ControllerEnvironment,
  { path, fieldSelector, what, logKey, failure, keyOf, work, ...limits }: Reconciled<NoInfer<T>>,
): Promise<void> {
  const queue = new WorkQueue({
    clock,
    ...limits,
    work: (key) => work(key, queue),
    failed: (key, err) => log.warn({ [logKey]: key, err }, failure),
  });
  signal.addEventListener("abort", () => queue.close(), { once: true });
  const look = (object: T): void => {
    const key = keyOf(object);
    if (key !== undefined) queue.add(key);
  };
  await reflect<T>({
    client: reader,
    clock,
    signal,
    path,
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
    replaced: (objects) => objects.forEach(look),
    changed: (type, object) => {
      if (type !== "DELETED") look(object);
    },
    failed: (err) => log.warn({ err }, `could not follow ${what}; starting over`),
  });
}
