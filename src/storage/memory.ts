/** A store without durability: for tests, and for servers whose state may end with the process. */
import { CommitSequencer } from "./commit-sequencer.ts";
import type { LogStore } from "./log-store.ts";
import { type CacheObserver, type CacheOptions, LogWatchCache } from "./watch-cache/log-watch-cache.ts";

export type { LogWatchCache } from "./watch-cache/log-watch-cache.ts";

/** Counters of stores in this process. Every member is called synchronously and must not throw. */
export interface StorageObserver extends CacheObserver {
  /** A transaction of `writes` writes took this long from being sent to its acknowledgement. */
  readonly commit?: (writes: number, seconds: number) => void;
  /** Keys whose time was over have been deleted. */
  readonly expired?: (keys: number) => void;
  /** The log takes no more writes. Called once. */
  readonly failed?: (failure: Error) => void;
}

export interface LocalStoreOptions extends CacheOptions {
  readonly observe?: StorageObserver;
  /** Puts a log between the cache and the one that keeps the values: one that encrypts them. */
  readonly wrap?: ((log: LogStore) => LogStore) | undefined;
}

/** A new, empty store. History older than `historyBytesMax` allows is answered `Compacted`. */
export function openMemoryStore(options: LocalStoreOptions): Promise<LogWatchCache> {
  const log = openMemoryLog(options);
  return LogWatchCache.open(options.wrap?.(log) ?? log, options);
}

/** A log whose writes are as durable as the process. It holds no values: all there is, the cache above it has. */
export function openMemoryLog({ clock, observe }: LocalStoreOptions): LogStore {
  const log = new CommitSequencer({ clock, expired: observe?.expired });
  let compacted = 0;
  let reportCompacted: (revision: number) => void = () => undefined;
  return {
    hasHistory: false,
    get revision() {
      return log.revision;
    },
    get compactedRevision() {
      return compacted;
    },
    failure: undefined,
    full: undefined,
    follow(follower) {
      log.follow(follower);
      reportCompacted = (revision) => follower.compacted(revision);
      return Promise.resolve();
    },
    latest: () => log.revision,
    commit: (write) => log.commit(write),
    range: () => Promise.resolve({ compacted: log.revision }),
    history: () => Promise.resolve(undefined),
    versions: () => Promise.resolve({ versions: [], next: 0, since: log.revision, sinceMs: undefined }),
    compact(revision) {
      compacted = Math.max(compacted, revision);
      reportCompacted(compacted);
      return Promise.resolve();
    },
    close() {
      log.seal();
      return Promise.resolve();
    },
  };
}
