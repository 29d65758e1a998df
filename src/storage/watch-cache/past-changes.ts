/**
 * Reads the changes of the history backwards: the log has them in order, so that a window of revisions is read at a time
 * and turned round. A window follows the number of changes that the one before it had.
 */
import type { LogEntry, LogStore, Revision } from "../log-store.ts";
import { insertRevision } from "../versioned-value.ts";
import type { ChangesRange, Entry, PastChange, PastChanges } from "../watch-cache.ts";
import { DetachedEntry } from "./detached-entry.ts";
import { type EventLog, indexAfter } from "./event-history.ts";

const windowAtFirst = 64;
/** The number of revisions of the largest window, and of those that are read for one answer. */
const windowMax = 4096;
const revisionsMax = 16_384;
/** The number of changes that a window should have, and the bytes of values after which an answer ends. */
const wantedChanges = 64;
const bytesMax = 1024 * 1024;

/** Reads changes from the log. `newest` is the last revision that readers see. */
export async function readChanges(log: LogStore, range: ChangesRange, newest: Revision): Promise<PastChanges> {
  const { prefix, isExact, limit, before = newest + 1 } = range;
  // An answer without versions tells where the history begins.
  const { since: kept, sinceMs } = await log.versions(prefix, 1, 0);
  let since = kept;
  const floor = Math.max(range.after, since);
  const changes: PastChange[] = [];
  let upTo = Math.min(before - 1, newest);
  let size = windowAtFirst;
  let bytes = 0;
  for (let read = 0; upTo > floor && changes.length < limit && bytes < bytesMax && read < revisionsMax; ) {
    const from = Math.max(floor, upTo - size);
    const page = await log.history(prefix, isExact, from, upTo);
    if (page === undefined) {
      since = upTo;
      break;
    }
    if (page.reached < upTo) {
      // The youngest changes are wanted, and the page has the oldest ones.
      size = Math.max(1, Math.min(page.reached - from, Math.floor(size / 2)));
      continue;
    }
    for (const { key, value, revision, unreadable, previous, writtenAt, note } of page.events.toReversed()) {
      const entry = value && entryOf({ key, value, revision, ...(unreadable === undefined ? {} : { unreadable }) });
      const replaced = previous && entryOf(previous);
      changes.push({ key, revision, entry, previous: replaced, writtenAt, note });
      bytes += (entry?.valueLength ?? 0) + (replaced?.valueLength ?? 0);
    }
    read += upTo - from;
    upTo = from;
    const found = page.events.length;
    size = Math.min(windowMax, found === 0 ? size * 4 : Math.max(1, Math.ceil((size * wantedChanges) / found)));
  }
  const isOver = upTo <= Math.max(range.after, since);
  return { changes, next: isOver ? 0 : upTo + 1, since, sinceMs };
}

/** Returns the changes that memory has, for logs that keep none. */
export function changesInMemory(
  log: EventLog,
  range: ChangesRange,
  since: Revision,
  notes: WeakMap<Entry, string>,
): PastChanges {
  const { prefix, isExact, after, before, limit } = range;
  const changes: PastChange[] = [];
  const { events, floor } = log;
  const begin = Math.max(floor, since);
  let at = (before === undefined ? events.length : indexAfter(log, before - 1)) - 1;
  for (; at >= 0 && changes.length < limit; at--) {
    const { type, revision, entry, previous } = events.at(at)!;
    if (revision <= after || revision <= begin) break;
    const { key } = entry;
    if (isExact ? key !== prefix : !key.startsWith(prefix)) continue;
    const now = type === "DELETED" ? undefined : entry;
    changes.push({ key, revision, entry: now, previous, writtenAt: undefined, note: notes.get(entry) });
  }
  const last = changes.at(-1);
  const next = last === undefined || changes.length < limit ? 0 : last.revision;
  return { changes, next, since: begin, sinceMs: undefined };
}

/** Makes an entry of a version of the log; `at` is the revision that it shows. */
export const entryOf = ({ key, value, revision, unreadable }: LogEntry, at = revision): Entry =>
  new DetachedEntry({ key, value: insertRevision(value, at), revision: at, created: revision, unreadable });
