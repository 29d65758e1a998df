/**
 * Follows one resource of the store: lists, watches, and lists again when the watch is lost. `caughtUpTo` waits until
 * the handlers have processed a write, so that a writer can wait until its write has taken effect. It is used for
 * objects that decide about requests: failures are retried until they succeed, and writers wait as long.
 */
import type { ApiObject } from "#meta/object-meta.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import { andThen, isLate, type MaybePromise } from "#std/maybe-promise.ts";
import { yieldToEventLoop } from "#std/cooperative.ts";
import { isCompacted, type Revision, StorageFailure, StorageRefusal } from "#storage/log-store.ts";
import type {
  CacheRanges,
  CacheReader,
  CacheWatches,
  Entry,
  StoreEvent,
  Watch,
  WatchOptions,
} from "#storage/watch-cache.ts";
import { override } from "./override.ts";
import type { ResourceDefinition } from "./resource-definition.ts";
import type { Store } from "./store.ts";

/** Receives objects and changes, one call at a time. After a failure everything is delivered again. */
export interface InformerHandlers {
  /** Takes all current entries; they replace everything delivered before. */
  replace(entries: readonly Entry[]): MaybePromise<void>;
  /** Takes events in order; several at once when they arrived during the last call. */
  handle(events: readonly StoreEvent[]): MaybePromise<void>;
}

export interface StoreInformerOptions extends InformerHandlers {
  readonly cache: CacheReader & CacheRanges & CacheWatches;
  /** The prefix of the keys of the resource. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the handlers have processed every change of the resource up to a revision. */
  reached?(revision: Revision): void;
}

/** The first pause before a retry; each further one is twice as long. */
const firstPauseMs = 100;
const pauseMsMax = 10_000;

type EndReason = Parameters<WatchOptions["ended"]>[0] | "failed";

export class StoreInformer {
  readonly #options: StoreInformerOptions;
  readonly #waiters = new Map<() => void, number>();
  #queue: StoreEvent[] = [];
  /** The call of a handler that is running. */
  #busy: Promise<void> | undefined;
  #reached = 0;
  #synced = false;
  #watch: Watch | undefined;
  /** Whether the watch delivers every change. */
  #isFollowing = false;
  #closed = false;
  #cancelRestart: () => void = () => undefined;

  constructor(options: StoreInformerOptions) {
    this.#options = options;
  }

  /** Whether the handlers have received everything, and missed changes have been read again. */
  get synced(): boolean {
    return this.#synced;
  }

  /** Whether the handlers have processed everything that was delivered. */
  get idle(): boolean {
    return this.#synced && this.#busy === undefined && this.#queue.length === 0;
  }

  /** The revision up to which the handlers have processed every change of the resource. */
  get position(): Revision {
    return this.#isFollowing && this.idle ? Math.max(this.#watch!.position, this.#reached) : this.#reached;
  }

  /** Resolves when the handlers have processed every change that reads see now, or the resource is not followed. */
  async inStep(): Promise<void> {
    const { revision } = this.#options.cache;
    while (this.position < revision && this.#synced && !this.#closed) await yieldToEventLoop();
  }

  /** Delivers the current objects and follows them. Rejects when they cannot be read or a handler fails. */
  async start(): Promise<void> {
    const { cache, prefix, replace } = this.#options;
    this.#isFollowing = false;
    for (;;) {
      await this.#busy;
      await cache.fresh();
      const { entries, revision } = cache.range(prefix);
      this.#queue = [];
      await replace(entries);
      if (this.#closed) return;
      const watch = await this.#open(revision);
      if (watch === undefined) continue;
      this.#watch = watch;
      this.#isFollowing = true;
      this.#synced = true;
      this.#reach(revision);
      if (this.#closed) watch.close();
      else watch.resume();
      return;
    }
  }

  /** Resolves when the handlers have processed every write up to `revision`. */
  caughtUpTo(revision: number): MaybePromise<void> {
    if (this.#closed || revision <= this.#reached) return undefined;
    return new Promise((done) => this.#waiters.set(done, revision));
  }

  close(): void {
    this.#closed = true;
    this.#cancelRestart();
    this.#watch?.close();
    this.#reach(Number.POSITIVE_INFINITY);
  }

  /** Opens a watch; `undefined` when history no longer goes back that far. */
  async #open(after: number): Promise<Watch | undefined> {
    const { cache, prefix } = this.#options;
    let isOver = false;
    const ended = (reason: EndReason): void => {
      if (!isOver) this.#isFollowing = false;
      if (!isOver && !this.#closed) void this.#restart(reason, firstPauseMs);
      isOver = true;
    };
    const watch = await cache.watch({
      prefix,
      after,
      deliver: (events) => {
        if (isOver) return true;
        this.#queue.push(...events);
        if (this.#busy === undefined) this.#drain(() => ended("failed"));
        return true;
      },
      ended,
    });
    return isCompacted(watch) ? undefined : watch;
  }

  /** Delivers queued events. `failed` is called when a handler fails, after the failure was reported. */
  #drain(failed: () => void): void {
    while (this.#queue.length > 0 && !this.#closed) {
      const events = this.#queue;
      const { revision } = events.at(-1)!;
      this.#queue = [];
      try {
        const done = this.#options.handle(events);
        if (!isLate(done)) {
          this.#reach(revision);
          continue;
        }
        this.#busy = done
          .then(() => this.#reach(revision))
          .catch((error: unknown) => this.#fail(error, failed))
          .finally(() => {
            this.#busy = undefined;
            this.#drain(failed);
          });
        return;
      } catch (error) {
        return this.#fail(error, failed);
      }
    }
  }

  #fail(error: unknown, failed: () => void): void {
    if (this.#closed) return;
    this.#options.log.error(
      { prefix: this.#options.prefix, error: String(error) },
      "changes of a resource could not be taken in; it will be read again",
    );
    this.#queue = [];
    failed();
    this.#watch?.close();
  }

  /** Lists again after missed events. */
  async #restart(reason: EndReason, pauseMs: number): Promise<void> {
    const { clock, log, prefix } = this.#options;
    try {
      await this.start();
      if (!this.#closed) log.warn({ prefix, reason }, "a resource that decides about requests was read again");
    } catch (error) {
      if (this.#closed) return;
      // A watch is closed with its store, or because reading old events failed; a refusal is not the end of a store.
      if (reason === "closed" && error instanceof StorageFailure && !(error instanceof StorageRefusal))
        return this.close();
      this.#synced = false;
      log.error(
        { prefix, error: String(error), pauseMs },
        "a resource that decides about requests is not followed, and will be tried again",
      );
      const next = Math.min(pauseMs * 2, pauseMsMax);
      this.#cancelRestart = clock.after(pauseMs, () => void this.#restart(reason, next));
    }
  }

  #reach(revision: number): void {
    this.#reached = Math.max(this.#reached, revision);
    if (!this.#closed) this.#options.reached?.(this.#reached);
    for (const [done, wanted] of this.#waiters) {
      if (wanted > this.#reached) continue;
      this.#waiters.delete(done);
      done();
    }
  }
}

/** `T` is the type of the store's objects. */
export interface ObjectHandlers<T extends ApiObject> {
  /** Called before all current objects are delivered: the handler must forget all others. */
  cleared(): void;
  /** Takes a current object; `undefined` when it is deleted or cannot be decoded. */
  changed(namespace: string, name: string, object: T | undefined): void;
}

/** Makes handlers that receive decoded objects by namespace and name. */
export function objectHandlers<T extends ApiObject = ApiObject>(
  store: Store,
  log: Log,
  { cleared, changed }: ObjectHandlers<NoInfer<T>>,
): InformerHandlers {
  const read = (entry: Entry): T | undefined => {
    try {
      const object: ApiObject = store.object(entry);
      return object as T; // by its schema
    } catch (error) {
      log.error({ key: entry.key, error: String(error) }, "an object that decides about requests is unreadable");
      return undefined;
    }
  };
  const hand = (entry: Entry, exists: boolean): void => {
    const path = entry.key.slice(store.prefix.length);
    const slash = path.indexOf("/");
    changed(slash < 0 ? "" : path.slice(0, slash), path.slice(slash + 1), exists ? read(entry) : undefined);
  };
  return {
    replace(entries) {
      cleared();
      for (const entry of entries) hand(entry, true);
    },
    handle(events) {
      for (const { type, entry } of events) hand(entry, type !== "DELETED");
    },
  };
}

/** Returns the definition with an `afterCommit` that also waits until `informer`, once there is one, has caught up. */
export function waitForSync(
  definition: ResourceDefinition,
  informer: () => Pick<StoreInformer, "caughtUpTo"> | undefined,
): ResourceDefinition {
  const before = definition.strategy.afterCommit;
  const afterCommit = (revision: number): MaybePromise<void> =>
    andThen(before?.(revision), () => informer()?.caughtUpTo(revision));
  return override(definition, { strategy: { ...definition.strategy, afterCommit } });
}
