/**
 * The store of several processes of one machine: one of them owns the log and serves it to the others (`ServedLog`), which
 * have a watch cache above it, as servers have that share an etcd.
 */
import type { StorageFailure } from "./log-store.ts";
import type { LocalStoreOptions } from "./memory.ts";
import type { OpenedStore } from "./opened-store.ts";
import { RemoteLog, type RemoteLogOptions } from "./served/remote-log.ts";
import { LogWatchCache } from "./watch-cache/log-watch-cache.ts";

export { ServedLog } from "./served/served-log.ts";

type ServedStoreOptions = LocalStoreOptions & RemoteLogOptions;

/**
 * Opens the store whose log another process serves in `folder`. Waits until it is there, and rejects with `StorageFailure`
 * when that takes a minute.
 */
export async function openServedStore(options: ServedStoreOptions): Promise<OpenedStore> {
  const { observe } = options;
  const goneBack = (failure: StorageFailure): void => {
    observe?.failed?.(failure);
    options.goneBack(failure);
  };
  const log = await RemoteLog.open({ ...options, goneBack });
  const cache = await LogWatchCache.open(options.wrap?.(log) ?? log, options);
  return { cache, notice: () => undefined, maintenance: log };
}
