/** The first change of a store that other servers write to: a plane that nobody has used is used from then on. */
import { isCompacted } from "#storage/log-store.ts";
import type { CacheReader, CacheWatches, Watch } from "#storage/watch-cache.ts";
import { allPrefix, isSetting } from "./plane-template.ts";

/** Calls back once, when an object has changed since, or the store is closed. Its watch ends then. */
export async function onFirstChange(
  cache: Pick<CacheReader, "revision"> & Pick<CacheWatches, "watch">,
  changed: () => void,
): Promise<void> {
  let isOver = false;
  let open: Watch | undefined;
  const over = (): void => {
    if (isOver) return;
    isOver = true;
    open?.close();
    changed();
  };
  const watch = await cache.watch({
    prefix: allPrefix,
    after: cache.revision,
    // Events come in a later turn of the loop, when the watch is known.
    deliver(events) {
      if (events.some(({ entry }) => !isSetting(entry.key))) over();
      return true;
    },
    // A change may have been missed.
    ended: over,
  });
  if (isCompacted(watch)) over();
  else open = watch;
}
