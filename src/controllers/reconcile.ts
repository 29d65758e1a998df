/** Building blocks of controllers: work queues, informers, followed collections, and the usual loop of both. */
import { Informer, type InformerOptions } from "#client/informer.ts";
import { reflect, type ReflectorOptions } from "#client/reflector.ts";
import { WorkQueue, type WorkQueueOptions } from "#client/work-queue.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { ControllerEnvironment } from "./controller.ts";

export interface QueueOptions extends Omit<WorkQueueOptions, "clock" | "failed" | "measured"> {
  /** The name of the queue in metrics, which is that of upstream's controller. */
  readonly name: string;
  /** The name of a key in logs: `claim`. */
  readonly logKey: string;
  /** The message of the log when the work fails. */
  readonly failure: string;
}

/** Makes a queue that is closed when the environment's signal is aborted. */
export function workQueue(
  { clock, signal, log, queueMetrics }: Omit<ControllerEnvironment, "reader">,
  { name, logKey, failure, ...options }: QueueOptions,
): WorkQueue {
  const queue = new WorkQueue({
    ...options,
    clock,
    measured: queueMetrics === undefined ? undefined : { name, metrics: queueMetrics },
    failed: (key, err) => log.warn({ [logKey]: key, err }, failure),
  });
  signal.addEventListener("abort", () => queue.close(), { once: true });
  return queue;
}

interface Named {
  /** The objects, for logs: `claims`. */
  readonly what: string;
}

/** Returns the parts of the environment with which objects are followed. */
const sourceOf = ({ reader, clock, signal, log }: Omit<ControllerEnvironment, "client">, { what }: Named) => ({
  client: reader,
  clock,
  signal,
  failed: (err: unknown): void => log.warn({ err }, `could not follow ${what}; starting over`),
});

/** `T` is the type of the objects. */
type Followed<T extends ApiObject> = Named & Omit<ReflectorOptions<T>, "client" | "clock" | "signal">;

/** Delivers all objects of a collection, and each change, until the environment's signal is aborted. */
export function follow<T extends ApiObject = ApiObject>(
  environment: Omit<ControllerEnvironment, "client">,
  options: Followed<NoInfer<T>>,
): Promise<void> {
  return reflect<T>({ ...sourceOf(environment, options), ...options });
}

/** Starts a copy of a collection, which follows it until the environment's signal is aborted. */
export function openInformer<T extends ApiObject>(
  environment: Omit<ControllerEnvironment, "client">,
  options: Named & Omit<InformerOptions<NoInfer<T>>, "client" | "clock" | "signal">,
): Informer<T> {
  return new Informer<T>({ ...sourceOf(environment, options), ...options });
}

/** `T` is the type of the objects. */
interface Reconciled<T extends ApiObject>
  extends Pick<Followed<T>, "path" | "fieldSelector" | "what">,
    Omit<QueueOptions, "work"> {
  /** Returns the key of an object that has to be reconciled; `undefined` for others. */
  keyOf(object: T): string | undefined;
  /** Works on a key, as `work` of the queue does; `queue` takes keys to reconcile later. */
  work(key: string, queue: WorkQueue): ReturnType<WorkQueueOptions["work"]>;
}

/** Reconciles all objects, and each again when it changes, until the environment's signal is aborted. */
export function reconcile<T extends ApiObject = ApiObject>(
  environment: ControllerEnvironment,
  { path, fieldSelector, what, keyOf, work, ...options }: Reconciled<NoInfer<T>>,
): Promise<void> {
  const queue = workQueue(environment, { ...options, work: (key) => work(key, queue) });
  const look = (object: T): void => {
    const key = keyOf(object);
    if (key !== undefined) queue.add(key);
  };
  return follow<T>(environment, {
    path,
    what,
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
    replaced: (objects) => objects.forEach(look),
    changed: (type, object) => {
      if (type !== "DELETED") look(object);
    },
  });
}
