/** The durable store: a watch cache above the log of a data folder (`sqlite/log.ts`). */
import type { LocalStoreOptions } from "./memory.ts";
import { type VersionRetention, SqliteLog } from "./sqlite/log.ts";
import type { StorageFaults } from "./sqlite/messages.ts";
import { defaultHistoryBytesMax, LogWatchCache } from "./watch-cache/log-watch-cache.ts";

export { hasStore } from "./sqlite/open-log.ts";
export type { VersionRetention } from "./sqlite/log.ts";
export type { StorageFaults } from "./sqlite/messages.ts";

export interface SqliteOptions extends LocalStoreOptions {
  /** The folder of the store's file; made when absent. Only one process at a time may have it open. */
  readonly dataDir: string;
  /** Bounds of the versions of single keys that are kept beyond `historyMs`. */
  readonly retention?: VersionRetention | undefined;
  /** Whether there was a store before: a folder without any file is then incomplete, not new. Default: false. */
  readonly isExpected?: boolean;
  /** Whether an incomplete store is opened without its missing part. Default: it is refused with `LostWrites`. */
  readonly acceptLoss?: boolean;
  /** Faults to inject; only for tests. */
  readonly faults?: StorageFaults;
}

export interface SqliteStore {
  readonly cache: LogWatchCache;
  readonly log: SqliteLog;
}

/**
 * Opens the store in `dataDir`, reading all current entries into memory. Rejects with `StorageFailure` when the folder
 * is in use by another process, or the file is damaged or of another layout; then nothing is changed.
 */
export async function openSqliteStore(options: SqliteOptions): Promise<SqliteStore> {
  const { clock, dataDir, isExpected = false, acceptLoss = false, observe, faults } = options;
  const log = await SqliteLog.open({
    clock,
    dataDir,
    isExpected,
    acceptLoss,
    historyBytes: options.historyBytesMax ?? defaultHistoryBytesMax,
    keepsAll: options.compactionIntervalMs === 0,
    retention: options.retention,
    committed: observe?.commit,
    expired: observe?.expired,
    failed: observe?.failed,
    faults,
  });
  return { cache: await LogWatchCache.open(options.wrap?.(log) ?? log, options), log };
}
