/** The durable store: a watch cache above the log of a data folder (`sqlite/log.ts`). */
import type { EmbeddedOptions } from "./memory.ts";
import { type KeptHistory, SqliteLog } from "./sqlite/log.ts";
import type { StorageFaults } from "./sqlite/messages.ts";
import { defaultHistoryBytesMax, MemoryCache } from "./watch-cache/cache.ts";

export { hasStore } from "./sqlite/open-log.ts";
export type { KeptHistory } from "./sqlite/log.ts";
export type { StorageFaults } from "./sqlite/messages.ts";

export interface SqliteOptions extends EmbeddedOptions {
  /** Folder of the store's file; made when absent. One process at a time may have it open. */
  readonly dataDir: string;
  /** How much of the history of single keys is kept beyond `historyMs`. */
  readonly kept?: KeptHistory | undefined;
  /** Whether there was a store before: one without any file is incomplete then, not new. Default: false. */
  readonly isExpected?: boolean;
  /** Opens an incomplete store without the missing part. Default: refused with `LostWrites`. */
  readonly acceptLoss?: boolean;
  /** Only for tests. */
  readonly faults?: StorageFaults;
}

export interface SqliteStore {
  readonly cache: MemoryCache;
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
    kept: options.kept,
    committed: observe?.commit,
    expired: observe?.expired,
    failed: observe?.failed,
    faults,
  });
  return { cache: await MemoryCache.open(options.wrap?.(log) ?? log, options), log };
}
