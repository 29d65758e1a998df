/** The backend that keeps nothing: for tests, and for servers whose state may go with the process. */
import { type Backend, StorageFailure } from "./backend.ts";
import { type EmbeddedOptions, Mvcc, type StorageStatistics } from "./mvcc.ts";

/** An embedded backend tells how it is doing. */
export interface EmbeddedBackend extends Backend {
  readonly statistics: StorageStatistics;
}

/** A new, empty store. History older than `historyBytesMax` allows is answered `Compacted`. */
export function openMemoryBackend(options: EmbeddedOptions): EmbeddedBackend {
  const mvcc = new Mvcc(options);
  return embeddedBackend(mvcc, {
    backup: () => Promise.reject(new StorageFailure("a store in memory has nothing to back up")),
    close: () => {
      mvcc.close();
      return Promise.resolve();
    },
  });
}

/** `mvcc` as a backend, with what depends on where its bytes are kept. */
export function embeddedBackend(mvcc: Mvcc, own: Pick<Backend, "backup" | "close">): EmbeddedBackend {
  return {
    get revision() {
      return mvcc.revision;
    },
    get compactedRevision() {
      return mvcc.compactedRevision;
    },
    get failure() {
      return mvcc.failure;
    },
    get full() {
      return mvcc.full;
    },
    get statistics() {
      return mvcc.statistics;
    },
    // One process has the store, and what it acknowledged is visible to it already.
    fresh() {},
    waitFor: (revision, timeoutMs) => mvcc.waitFor(revision, timeoutMs),
    get: (key) => mvcc.get(key),
    getAt: (key, revision) => mvcc.getAt(key, revision),
    range: (prefix, rangeOptions) => mvcc.range(prefix, rangeOptions),
    rangeAt: (prefix, rangeOptions) => mvcc.rangeAt(prefix, rangeOptions),
    count: (prefix) => mvcc.count(prefix),
    put: (key, expected, encode, ttlSeconds, isForDeletion) =>
      mvcc.put(key, expected, encode, ttlSeconds, isForDeletion),
    remove: (key, expected, encodeLast) => mvcc.remove(key, expected, encodeLast),
    watch: (watchOptions) => mvcc.watch(watchOptions),
    compact: (revision) => mvcc.compact(revision),
    backup: own.backup,
    close: own.close,
  };
}
