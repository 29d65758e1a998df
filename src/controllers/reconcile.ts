/** Building blocks of controllers: work queues, informers, followed collections, and the usual loop of both. */
import { Informer, type InformerOptions, keyOf } from "#client/informer.ts";
import { reflect, type ReflectorOptions } from "#client/reflector.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import { WorkQueue, type WorkQueueOptions } from "#client/work-queue.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { pageBytes } from "./pages.ts";
import { objectPath } from "./paths.ts";
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
  pageBytes,
  failed: (err: unknown): void => log.warn({ err }, `a list, a watch or a change of ${what} failed; the others follow`),
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
  extends Pick<Followed<T>, "fieldSelector" | "what">,
    Omit<QueueOptions, "work"> {
  /** The path of the collection. */
  readonly path: string;
  /** Whether an object has to be reconciled. */
  matters(object: T): boolean;
  /** Works on an object as it is now, as `work` of the queue does. `later` has it reconciled again after some time. */
  work(object: T, later: (ms: number) => void): ReturnType<WorkQueueOptions["work"]>;
  /** Works on what an object that is gone has left; by default nothing does. */
  gone?(key: string): Promise<void>;
  /** Reads an object by its key; by default the client of the controller gets it. */
  read?(key: string): Promise<T | undefined>;
}

/** Reconciles all objects that matter, and each again when it changes, until the environment's signal is aborted. */
export function reconcile<T extends ApiObject>(
  environment: ControllerEnvironment,
  { path, fieldSelector, what, matters, work, gone, read, ...options }: Reconciled<NoInfer<T>>,
): Promise<void> {
  const { client } = environment;
  const get = read ?? ((key: string) => ignoreNotFound(client.get<T>(objectPath(path, key))));
  const queue = workQueue(environment, {
    ...options,
    async work(key) {
      const object = await get(key);
      if (object === undefined) return gone?.(key);
      return matters(object) ? work(object, (ms) => queue.addAfter(key, ms)) : undefined;
    },
  });
  /** The keys of the objects that exist, where it matters that one goes. */
  const present = new Set<string>();
  const look = (object: T): void => {
    if (gone !== undefined) present.add(keyOf(object));
    if (matters(object)) queue.add(keyOf(object));
  };
  return follow<T>(environment, {
    path,
    what,
    fieldSelector,
    replaced: (objects) => {
      const before = [...present];
      present.clear();
      objects.forEach(look);
      for (const key of before) if (!present.has(key)) queue.add(key);
    },
    changed: (type, object) => {
      if (type !== "DELETED") return look(object);
      if (present.delete(keyOf(object))) queue.add(keyOf(object));
    },
  });
}
