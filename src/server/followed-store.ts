/**
 * Keeps something in memory in step with the objects of one resource: hands over what there is, then every change, and
 * lets writers wait (`settled`) until what they wrote was handed over. For what decides about requests and must not lag
 * behind what was acknowledged: a watch that is lost is begun again until it succeeds, and writers wait as long.
 */
import type { Unstructured } from "#meta/object-meta.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { Store } from "#registry/store.ts";
import { override } from "#registry/override.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { type Backend, isCompacted, StorageFailure, type Watch, type WatchOptions } from "#storage/backend.ts";

export interface FollowedStoreOptions {
  readonly backend: Backend;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Forget everything: what there is follows. */
  cleared(): void;
  /** An object as it is now; `undefined` when it is gone or cannot be read. Must not throw. */
  changed(namespace: string, name: string, object: Unstructured | undefined): void;
}

/** Pauses before a lost watch is begun again: each twice as long as the one before. */
const firstPauseMs = 100;
const pauseMsMax = 10_000;

type EndReason = Parameters<WatchOptions["ended"]>[0];
type Entry = NonNullable<ReturnType<Backend["get"]>>;

export class FollowedStore {
  readonly #options: FollowedStoreOptions;
  readonly #waiters = new Map<() => void, number>();
  #settled = 0;
  #watch: Watch | undefined;
  #closed = false;
  #cancelRestart: () => void = () => undefined;

  constructor(options: FollowedStoreOptions) {
    this.#options = options;
  }

  /** Hands over what there is and follows it from there. */
  async start(): Promise<void> {
    const { backend, store } = this.#options;
    await backend.fresh();
    const { entries, revision } = backend.range(store.prefix);
    this.#options.cleared();
    for (const entry of entries) this.#hand(entry, true);
    const watch = await backend.watch({
      prefix: store.prefix,
      after: revision,
      deliver: (events) => {
        for (const { type, entry } of events) this.#hand(entry, type !== "DELETED");
        this.#settle(events.at(-1)!.revision);
        return true;
      },
      ended: (reason) => this.#ended(reason),
    });
    if (isCompacted(watch)) return this.start();
    this.#watch = watch;
    watch.resume();
    this.#settle(revision);
    if (this.#closed) watch.close();
  }

  /** Resolves when every write up to `revision` was handed over. */
  settled(revision: number): MaybePromise<void> {
    if (this.#closed || revision <= this.#settled) return undefined;
    return new Promise((done) => this.#waiters.set(done, revision));
  }

  close(): void {
    this.#closed = true;
    this.#cancelRestart();
    this.#watch?.close();
    this.#settle(Number.POSITIVE_INFINITY);
  }

  #ended(reason: EndReason): void {
    if (!this.#closed) void this.#restart(reason, firstPauseMs);
  }

  /** Events were missed: what there is now says the same. */
  async #restart(reason: EndReason, pauseMs: number): Promise<void> {
    const { clock, log, store } = this.#options;
    try {
      await this.start();
      if (!this.#closed)
        log.warn({ prefix: store.prefix, reason }, "a resource that decides about requests was reread");
    } catch (error) {
      if (this.#closed) return;
      // A watch is closed with its store, or because reading old events failed.
      if (reason === "closed" && error instanceof StorageFailure) return this.close();
      log.error(
        { prefix: store.prefix, error: String(error), pauseMs },
        "a resource that decides about requests is not followed, and will be tried again",
      );
      const next = Math.min(pauseMs * 2, pauseMsMax);
      this.#cancelRestart = clock.after(pauseMs, () => void this.#restart(reason, next));
    }
  }

  #settle(revision: number): void {
    this.#settled = Math.max(this.#settled, revision);
    for (const [done, wanted] of this.#waiters) {
      if (wanted > this.#settled) continue;
      this.#waiters.delete(done);
      done();
    }
  }

  #hand(entry: Entry, exists: boolean): void {
    const { store, changed } = this.#options;
    const place = entry.key.slice(store.prefix.length);
    const slash = place.indexOf("/");
    changed(slash < 0 ? "" : place.slice(0, slash), place.slice(slash + 1), exists ? this.#read(entry) : undefined);
  }

  #read(entry: Entry): Unstructured | undefined {
    try {
      return this.#options.store.object(entry);
    } catch (error) {
      this.#options.log.error(
        { key: entry.key, error: String(error) },
        "an object that decides about requests is unreadable",
      );
      return undefined;
    }
  }
}

/** The definition, its writers made to wait as well for what `follower` names, once there is one. */
export function settling(
  definition: ResourceDefinition,
  follower: () => Pick<FollowedStore, "settled"> | undefined,
): ResourceDefinition {
  const before = definition.strategy.settled;
  const settled = (revision: number): MaybePromise<void> => {
    const own = follower()?.settled(revision);
    const other = before?.(revision);
    return own !== undefined && other !== undefined ? Promise.all([own, other]).then(() => undefined) : (own ?? other);
  };
  return override(definition, { strategy: { ...definition.strategy, settled } });
}
