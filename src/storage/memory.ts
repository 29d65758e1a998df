/** A store without durability: for tests, and for servers whose state may end with the process. */
import { CommitSequencer } from "./commit-sequencer.ts";
import { CompactionTimer, type CompactionTimes } from "./compaction-timer.ts";
import { everything, type LogStore, type Revision } from "./log-store.ts";
import { packedForm } from "./packed-value.ts";
import { type CacheObserver, type CacheOptions, LogWatchCache } from "./watch-cache/log-watch-cache.ts";

export type { LogWatchCache } from "./watch-cache/log-watch-cache.ts";

/** Callbacks for metrics of a store. Each is called synchronously and must not throw. */
export interface StorageObserver extends CacheObserver {
  /** Called when a compaction up to `revision` is complete. */
  readonly compaction?: (revision: Revision, seconds: number) => void;
  /** Called after a transaction of `writes` writes, with the time from sending it to its acknowledgement. */
  readonly commit?: (writes: number, seconds: number) => void;
  /** Called when expired keys have been deleted, with their number. */
  readonly expired?: (keys: number) => void;
  /** Called once, when the log takes no more writes. */
  readonly failed?: (failure: Error) => void;
}

export interface LocalStoreOptions extends CacheOptions, CompactionTimes {
  readonly observe?: StorageObserver;
  /** Puts a log between the cache and the log that keeps the values, such as one that encrypts them. */
  readonly wrap?: ((log: LogStore) => LogStore) | undefined;
}

/** Opens a new, empty store. Reads of history older than `historyBytesMax` allows are answered with `Compacted`. */
export function openMemoryStore(options: LocalStoreOptions): Promise<LogWatchCache> {
  const log = openMemoryLog(options);
  return LogWatchCache.open(options.wrap?.(log) ?? log, options);
}

/** Makes a log whose writes are as durable as the process. It keeps no values: the cache above it has them all. */
export function openMemoryLog(options: LocalStoreOptions): LogStore {
  const { clock, observe } = options;
  const log = new CommitSequencer({ clock, expired: observe?.expired });
  let compacted = 0;
  let reportCompacted: (revision: number) => void = () => undefined;
  const compact = (revision: Revision): Promise<void> => {
    if (revision <= compacted) return Promise.resolve();
    compacted = revision;
    reportCompacted(compacted);
    observe?.compaction?.(compacted, 0);
    return Promise.resolve();
  };
  const timer = new CompactionTimer(options, clock, { revision: () => log.revision, compact });
  return {
    form: packedForm,
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
      timer.start();
      return Promise.resolve();
    },
    latest: () => log.revision,
    commit: (write) => log.commit(write),
    range: () => Promise.resolve({ compacted: log.revision }),
    history: () => Promise.resolve(undefined),
    versions: () => Promise.resolve({ versions: [], next: 0, since: log.revision, sinceMs: undefined }),
    revisionsAround: () => Promise.resolve({ before: 0, after: everything }),
    compact,
    close() {
      timer.stop();
      log.seal();
      return Promise.resolve();
    },
  };
}
