/** The durable store: a watch cache above the log of a data folder (`sqlite/log.ts`). */
import type { LocalStoreOptions } from "./memory.ts";
import { SqliteLog, type SqliteLogOptions } from "./sqlite/log.ts";
import { defaultHistoryBytesMax, LogWatchCache } from "./watch-cache/log-watch-cache.ts";

export { hasStore } from "./sqlite/open-log.ts";
export type { VersionRetention } from "./sqlite/log.ts";
export type { StorageFaults } from "./sqlite/messages.ts";

export type SqliteOptions = LocalStoreOptions & Omit<SqliteLogOptions, "historyBytes" | "keepsAll">;

export interface SqliteStore {
  readonly cache: LogWatchCache;
  readonly log: SqliteLog;
}

/**
 * Opens the store in `dataDir`, reading all current entries into memory. Rejects with `StorageFailure` when the folder
 * is in use by another process, or the file is damaged or of another layout; then nothing is changed.
 */
export async function openSqliteStore(options: SqliteOptions): Promise<SqliteStore> {
  const log = await SqliteLog.open({
    ...options,
    historyBytes: options.historyBytesMax ?? defaultHistoryBytesMax,
    keepsAll: options.compactionIntervalMs === 0,
  });
  return { cache: await LogWatchCache.open(options.wrap?.(log) ?? log, options), log };
}
