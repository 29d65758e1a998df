/** A running controller: it queues the objects that changed, and reconciles them. */
import type { ApiObject } from "#meta/object-meta.ts";
import { parseApiVersion } from "#meta/group-version.ts";
import type { Informer, InformerEvent } from "../informer.ts";
import { keyOf, statesOf } from "../informer.ts";
import type { Kind } from "../kind.ts";
import { controllerOf } from "../owner.ts";
import { TokenBucket } from "../token-bucket.ts";
import { WorkQueue } from "../work-queue.ts";
import { type ContextParts, keyIn, listerOf, reconcileContext } from "./context.ts";
import type { ObjectKey, Requeue } from "./definition.ts";
import { addFinalizer, hasFinalizer, removeFinalizer } from "./finalizers.ts";
import type { ControllerMetrics, ReconcileObserver } from "./metrics.ts";
import { isSelected } from "./owned-objects.ts";

/** The pauses before an object is tried again, and the rate of all of them, as controller-runtime. */
const pauses = { minMs: 5, maxMs: 1_000_000 };
const retryRate = { perSecond: 10, burst: 100 };

interface WorkerOptions extends Omit<ContextParts, "queue"> {
  readonly metrics: ControllerMetrics;
  /** Called for each failed reconcile, except conflicts. */
  readonly failed: (error: unknown, key: string) => void;
}

export class ControllerWorker {
  readonly #options: WorkerOptions;
  readonly #parts: ContextParts;
  readonly #queue: WorkQueue;
  readonly #objects: Informer<ApiObject>;
  readonly #observer: ReconcileObserver;
  /** Objects as they were written here, until the informer has that version. */
  readonly #written = new Map<string, ApiObject>();
  readonly #ends: (() => void)[] = [];

  constructor(options: WorkerOptions) {
    const { controller, client, informers, metrics, failed } = options;
    const { name, kind, options: own } = controller;
    const { concurrency = 1 } = own;
    this.#options = options;
    this.#observer = metrics.observe(name, concurrency);
    this.#queue = new WorkQueue({
      work: (key) => this.#work(key),
      clock: client.clock,
      workersMax: concurrency,
      pauses,
      retries: new TokenBucket(retryRate, client.clock),
      measured: { name, metrics: metrics.queues },
      failed: (key, error) => failed(error, key),
    });
    this.#parts = {
      ...options,
      queue: (key, afterMs) => (afterMs === 0 ? this.#queue.add(key) : this.#queue.addAfter(key, afterMs)),
    };
    this.#objects = informers.open(kind, this.#namespaceOf(kind));
    for (const other of [...(own.owns ?? []), ...(own.watches ?? []).map(([watched]) => watched)])
      informers.open(other, this.#namespaceOf(other));
  }

  /** Begins to reconcile. All informers have their objects. */
  start(): void {
    const { controller, informers } = this.#options;
    const { predicates = [], owns = [], watches = [] } = controller.options;
    this.#ends.push(
      this.#objects.subscribe((event) => {
        const key = keyOf(event.object);
        const written = this.#written.get(key);
        if (written !== undefined && (event.type === "deleted" || !isNewer(written, event.object)))
          this.#written.delete(key);
        if (predicates.every((matters) => matters(event))) this.#queue.add(key);
      }),
    );
    for (const kind of owns)
      this.#follow(informers.open(kind, this.#namespaceOf(kind)), (object) => this.#owner(object));
    const lister = listerOf(informers);
    for (const [kind, keys] of watches)
      this.#follow(informers.open(kind, this.#namespaceOf(kind)), (object) => this.#keys(object, keys(object, lister)));
  }

  /** Drops what waits. What is running goes on. */
  close(): void {
    for (const end of this.#ends) end();
    this.#queue.close();
  }

  get drained(): Promise<void> {
    return this.#queue.drained;
  }

  /** The keys of objects that are being reconciled. */
  get running(): readonly string[] {
    return this.#queue.running;
  }

  #namespaceOf(kind: Kind): string | undefined {
    return kind.namespaced ? this.#options.controller.options.in : undefined;
  }

  /** Queues what an object names when it changes, before and after the change. */
  #follow(informer: Informer<ApiObject>, keys: (object: ApiObject) => readonly string[]): void {
    const look = (event: InformerEvent<ApiObject>): void => {
      for (const key of new Set(statesOf(event).flatMap(keys))) this.#queue.add(key);
    };
    this.#ends.push(informer.subscribe(look));
  }

  #owner(object: ApiObject): readonly string[] {
    const { kind } = this.#options.controller;
    const reference = controllerOf(object);
    if (reference === undefined) return this.#adopters(object);
    if (reference.kind !== kind.kind) return [];
    const group = parseApiVersion(reference.apiVersion)?.group ?? "";
    return isSameGroup(group, kind.group) ? [keyIn(kind, { name: reference.name }, object)] : [];
  }

  /** Returns the objects that may adopt an object. */
  #adopters(object: ApiObject): readonly string[] {
    const { controller } = this.#options;
    if (controller.options.selector === undefined) return [];
    const { namespace = "" } = object.metadata;
    const present = controller.kind.namespaced ? this.#objects.in(namespace) : this.#objects.list();
    return present.filter((one) => isSelected(controller, one, object)).map(keyOf);
  }

  #keys(object: ApiObject, keys: ObjectKey | undefined | readonly ObjectKey[]): readonly string[] {
    const { kind } = this.#options.controller;
    if (keys === undefined) return [];
    return (Array.isArray(keys) ? keys : [keys]).map((key: ObjectKey) => keyIn(kind, key, object));
  }

  async #work(key: string): Promise<void> {
    // Listeners and predicates have seen all objects when the first reconcile begins.
    await Promise.resolve();
    const { clock } = this.#options.client;
    const startMs = clock.monotonic();
    let result: "success" | "requeue_after" | "error" = "error";
    this.#observer.started();
    try {
      const requeue = await this.#reconcile(key);
      result = requeue === undefined ? "success" : "requeue_after";
      if (requeue !== undefined) this.#queue.addAfter(key, requeue.afterMs);
    } finally {
      this.#observer.done(result, clock.monotonic() - startMs);
    }
  }

  async #reconcile(key: string): Promise<Requeue | undefined> {
    const { client, controller, signal } = this.#options;
    const { finalizer, includesDeleted = false, reconcile } = controller.options;
    const object = this.#current(key);
    if (object === undefined) return undefined;
    const written = (next: ApiObject): void => void this.#written.set(key, next);
    const call = { object, written };
    const context = reconcileContext(this.#parts, call);
    const isDeleted = object.metadata.deletionTimestamp !== undefined;
    const isHandled = finalizer === undefined ? includesDeleted : hasFinalizer(object, finalizer.name);
    if (isDeleted && !isHandled) return undefined;
    if (finalizer !== undefined) {
      const change = { kind: client.kind(controller.kind), object, name: finalizer.name, signal };
      if (isDeleted) {
        const requeue = await finalizer.run(object, context);
        if (requeue !== undefined) return requeue;
        const released = await removeFinalizer({ ...change, object: call.object });
        if (released !== undefined) written(released);
        return undefined;
      }
      const kept = await addFinalizer(change);
      if (kept === undefined) return undefined;
      if (kept !== object) written(kept);
      call.object = kept;
    }
    return (await reconcile(call.object, context)) ?? undefined;
  }

  /** Returns the newest known version of an object: the informer may not have seen the last write of this controller. */
  #current(key: string): ApiObject | undefined {
    const cached = this.#objects.get(key);
    const written = this.#written.get(key);
    if (cached === undefined || written === undefined || !isNewer(written, cached)) {
      this.#written.delete(key);
      return cached;
    }
    return written;
  }
}

/** Whether the groups are the same, in the cluster's API domain. */
const isSameGroup = (group: string, own: string): boolean =>
  group === own || (own.endsWith(".k8s.io") && group.startsWith(own.slice(0, -"k8s.io".length)));

/** Whether `a` is a later version of the object `b`. Versions that are no numbers cannot be compared. */
function isNewer({ metadata: a }: ApiObject, { metadata: b }: ApiObject): boolean {
  const [left = "", right = ""] = [a.resourceVersion, b.resourceVersion];
  if (a.uid !== b.uid || !/^\d+$/.test(left) || !/^\d+$/.test(right)) return false;
  return BigInt(left) > BigInt(right);
}
