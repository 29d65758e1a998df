/** The durable store: a watch cache above the log of a data folder (`sqlite/log.ts`). */
import type { LogStore } from "./log-store.ts";
import type { LocalStoreOptions } from "./memory.ts";
import type { OpenedStore } from "./opened-store.ts";
import { SqliteLog, type SqliteLogOptions } from "./sqlite/log.ts";
import { defaultHistoryBytesMax, LogWatchCache } from "./watch-cache/log-watch-cache.ts";

export { hasStore } from "./sqlite/open-log.ts";
export { SharedLogThread } from "./sqlite/shared-log-thread.ts";
export type { VersionRetention } from "./sqlite/log.ts";
export type { StorageFaults } from "./sqlite/messages.ts";

export type SqliteOptions = LocalStoreOptions & Omit<SqliteLogOptions, "historyBytes">;

export interface SqliteStore extends OpenedStore {
  readonly log: SqliteLog;
}

/**
 * Opens the store in `dataDir`, reading all current entries into memory. Rejects with `StorageFailure` when the folder
 * is in use by another process, or the file is damaged or of another layout; then nothing is changed.
 */
export async function openSqliteStore(options: SqliteOptions): Promise<SqliteStore> {
  const log = await SqliteLog.open({ ...options, historyBytes: options.historyBytesMax ?? defaultHistoryBytesMax });
  const followed: LogStore = options.wrap?.(log) ?? log;
  const cache = await LogWatchCache.open(followed, options, (index) =>
    log.useIndex({
      get valueBytes() {
        return index.valueBytes + (followed.addedBytes ?? 0);
      },
      scanKeys: (from, to, visit) => index.scanKeys(from, to, visit),
      countKeys: (from, to) => index.countKeys(from, to),
    }),
  );
  return { cache, log, notice: () => log.notice, maintenance: log };
}
