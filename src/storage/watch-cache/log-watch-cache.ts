/**
 * The watch cache of this process: an ordered index of current entries, recent history, and the watches. It follows a
 * `LogStore`, which makes writes durable. A change becomes visible to reads when the log delivers it, and is then
 * queued for watches. A write's promise resolves once its change is visible.
 *
 * Hot path, plain code: `get` and `changed` do one map look-up; only a new or deleted key touches the tree.
 */
import type { Clock } from "#std/clock.ts";
import { Heap } from "#std/heap.ts";
import { isLate, type MaybePromise } from "#std/maybe-promise.ts";
import { OrderedMap, prefixEnd } from "#std/ordered-map.ts";

import { type Digest, digestSum } from "../digest.ts";
import {
  type Compacted,
  isCompacted,
  type LogVersion,
  type LogVersions,
  type LogEntry,
  type LogEvent,
  type LogFollower,
  type LogRangeOptions,
  type LogStore,
  type LogWrite,
  type HistoryEvent,
  type Revision,
  StorageFailure,
  type StorageFull,
} from "../log-store.ts";
import { insertRevision } from "../versioned-value.ts";
import type {
  Encoded,
  Entry,
  EventType,
  KeyVersions,
  VersionReader,
  PutOptions,
  Range,
  RangeOptions,
  RemoveOptions,
  StoreEvent,
  Watch,
  WatchCache,
  WatchOptions,
  WriteResult,
} from "../watch-cache.ts";
import { bucketPrefix, type EventLog, EventHistory, indexAfter } from "./event-history.ts";
import { deletedVersion, newVersion, type Version, VersionChain, versionAt } from "./version.ts";
import { type EventPage, WatchHub } from "./watch-hub.ts";

/** Callbacks for metrics of a cache. Each is called synchronously and must not throw. */
export interface CacheObserver {
  /** Called after each turn with the number of batches that watchers were given in it. */
  readonly flush?: (deliveries: number) => void;
  /** Called when a compaction up to `revision` is complete. */
  readonly compaction?: (revision: Revision, seconds: number) => void;
  /** Called when a callback of a watcher threw, or reading old events failed; the watch has been ended. */
  readonly watchError?: (error: unknown) => void;
}

export interface CacheOptions {
  readonly clock: Clock;
  /** The maximum number of bytes of superseded versions and events in memory; default 64 MiB. */
  readonly historyBytesMax?: number;
  /**
   * The time between two compactions of history, and the age of the history that is kept at least; default 5 minutes
   * each, 0 for never.
   */
  readonly compactionIntervalMs?: number;
  readonly historyMs?: number;
  /** The longest pause of a large audience between two rounds of events; default 4 ms. */
  readonly watchRestMsMax?: number;
  readonly observe?: CacheObserver;
}

/** Numbers for metrics and tests. */
interface CacheStatistics {
  readonly keys: number;
  readonly watchers: number;
  /** The bytes of all values in memory, and of those (with overhead) that only history needs. */
  readonly valueBytes: number;
  readonly historyBytes: number;
  readonly historyEvents: number;
}

export const defaultHistoryBytesMax = 64 * 1024 * 1024;
const defaultCompactionMs = 5 * 60 * 1000;
const defaultWatchRestMsMax = 4;

/** A write of this process; it gets the entry that it becomes. */
class CacheWrite implements LogWrite {
  readonly key: string;
  readonly expected: Revision;
  readonly value: Encoded | undefined;
  readonly ttlSeconds: number;
  readonly isForDeletion: boolean;
  readonly mayWrite: (() => boolean) | undefined;
  /** The written version, once it is visible. */
  entry: Version | undefined = undefined;

  constructor(key: string, expected: Revision, encoded: Encoded | undefined, options: PutOptions) {
    this.key = key;
    this.expected = expected;
    this.value = encoded;
    this.ttlSeconds = options.ttlSeconds ?? 0;
    this.isForDeletion = encoded === undefined || options.isForDeletion === true;
    this.mayWrite = options.mayWrite;
  }
}

const noOptions: PutOptions = {};

/** A caller that waits until reads see a revision. */
interface Waiter {
  readonly revision: Revision;
  /** Called with false when the revision will not become visible. */
  wake(isVisible: boolean): void;
}

export class LogWatchCache implements WatchCache, VersionReader, LogFollower {
  readonly #options: CacheOptions;
  readonly #log: LogStore;
  readonly #keys = new Map<string, VersionChain>();
  /** The keys that exist. */
  readonly #live = new OrderedMap<VersionChain>();
  /** Deleted keys that history still has. */
  readonly #tombstones = new OrderedMap<VersionChain>();
  readonly #history: EventHistory;
  readonly #hub: WatchHub;
  readonly #waiting = new Heap<Waiter>((a, b) => a.revision < b.revision);
  #visible: Revision;
  #compacted: Revision;
  #valueBytes = 0;
  #digestSum = 0;
  #isClosed = false;
  /** Whether the cache is closed, so that no further change becomes visible. */
  #isOver = false;
  #cancelCompaction: (() => void) | undefined;
  /** Revisions seen at past ticks of the compaction timer, oldest first. */
  #checkpoints: { readonly at: number; readonly revision: Revision }[] = [];

  private constructor(log: LogStore, options: CacheOptions) {
    const {
      clock,
      observe,
      historyBytesMax = defaultHistoryBytesMax,
      watchRestMsMax: restMsMax = defaultWatchRestMsMax,
    } = options;
    this.#log = log;
    this.#options = options;
    this.#visible = log.revision;
    this.#compacted = log.compactedRevision;
    this.#history = new EventHistory(this.#visible, historyBytesMax, (event) => this.#forget(event));
    this.#hub = new WatchHub({
      clock,
      restMsMax,
      history: this.#history,
      revision: () => this.#visible,
      compactedRevision: () => this.#compacted,
      source: (prefix, exact, after, upTo) => this.#readHistory(prefix, exact, after, upTo),
      onFlush: observe?.flush,
      onWatchError: observe?.watchError,
    });
    // All loaded entries are older than now.
    this.#checkpoints.push({ at: clock.monotonic(), revision: this.#visible });
  }

  /** Reads all entries of `log`, and follows it. A log that cannot be read is closed. */
  static async open(log: LogStore, options: CacheOptions): Promise<LogWatchCache> {
    const cache = new LogWatchCache(log, options);
    try {
      await log.follow(cache);
    } catch (error) {
      await log.close();
      throw error;
    }
    cache.#scheduleCompaction();
    return cache;
  }

  get revision(): Revision {
    return this.#visible;
  }

  get compactedRevision(): Revision {
    return this.#compacted;
  }

  get failure(): Error | undefined {
    return this.#log.failure;
  }

  get full(): StorageFull | undefined {
    return this.#log.full;
  }

  get valueBytes(): number {
    return this.#valueBytes;
  }

  scanKeys(from: string, to: string | undefined, visit: (key: string) => boolean): void {
    this.#live.scan(from, to, (_chain, key) => visit(key));
  }

  countKeys(from: string, to: string | undefined): number {
    return this.#live.rank(to) - this.#live.rank(from);
  }

  get statistics(): CacheStatistics {
    return {
      keys: this.#live.size,
      watchers: this.#hub.watcherCount,
      valueBytes: this.#valueBytes,
      historyBytes: this.#history.bytes,
      historyEvents: this.#history.events.length,
    };
  }

  /** Whether all watchers have been given every event (`WatchHub.isQuiet`). */
  isQuiet(includesPaused: boolean): boolean {
    return this.#hub.isQuiet(includesPaused);
  }

  get digest(): Digest {
    return { revision: this.#visible, keys: this.#live.size, sum: this.#digestSum };
  }

  /** Takes a current entry from the log. */
  load(entry: LogEntry): void {
    const { key, value, revision } = entry;
    const chain = this.#openKey(key);
    const version = newVersion(key, value, entry, revision);
    chain.head = version;
    this.#live.set(key, chain);
    this.#valueBytes += version.value.length;
    this.#digestSum = digestSum(this.#digestSum + revision);
  }

  /** Takes a durable change from the log. */
  changed(change: LogEvent, write: LogWrite | undefined): void {
    const { key, value, revision } = change;
    const chain = this.#keys.get(key) ?? this.#openKey(key);
    const previous = chain.current;
    let version: Version;
    let type: EventType;
    if (value === undefined) {
      // Safe: a log deletes only what exists.
      version = deletedVersion(previous!, revision);
      type = "DELETED";
      this.#live.delete(chain.key);
      this.#tombstones.set(chain.key, chain);
    } else {
      version = newVersion(chain.key, value, change, previous === undefined ? revision : previous.created);
      type = previous === undefined ? "ADDED" : "MODIFIED";
      if (previous === undefined) {
        if (chain.head !== undefined) this.#tombstones.delete(chain.key);
        this.#live.set(chain.key, chain);
      }
    }
    if (write instanceof CacheWrite) {
      version.decoded = write.value?.decode(revision);
      write.entry = version;
    }
    version.older = chain.head;
    chain.head = version;
    this.#visible = revision;
    this.#valueBytes += version.value.length;
    this.#digestSum = digestSum(this.#digestSum + (version.deleted ? 0 : revision) - (previous?.revision ?? 0));
    const event: StoreEvent = { type, revision, entry: version, previous, frames: undefined };
    this.#history.add(event, chain.bucket);
    this.#hub.publish(event, chain.bucket);
    while (this.#waiting.size > 0 && this.#waiting.peek()!.revision <= revision) this.#waiting.pop()!.wake(true);
  }

  /** Called by the log when history is compacted. */
  compacted(revision: Revision): void {
    if (revision <= this.#compacted) return;
    this.#compacted = revision;
    this.#history.dropTo(revision);
  }

  /** Takes values from the log that can be read now. Watches that may have failed on them are ended. */
  recovered(entries: readonly LogEntry[]): void {
    const buckets = new Set<string>();
    for (const { key, value, revision } of entries) {
      const chain = this.#keys.get(key);
      const version = chain?.head;
      if (version?.unreadable === undefined || version.revision !== revision) continue;
      version.value = insertRevision(value, revision);
      version.revisionOffset = value.revisionOffset;
      version.unreadable = undefined;
      version.decoded = undefined;
      this.#valueBytes += version.value.length;
      buckets.add(chain!.bucket.prefix);
    }
    this.#hub.endUnder(buckets);
  }

  get(key: string): Entry | undefined {
    return this.#keys.get(key)?.current;
  }

  isStale(key: string): boolean {
    return this.#log.isStale?.(key) === true;
  }

  count(prefix: string): number {
    return this.countKeys(prefix, prefixEnd(prefix));
  }

  range(prefix: string, options: RangeOptions = {}): Range {
    const { from, to, limit } = bounds(prefix, options);
    const entries: Entry[] = [];
    this.#live.scan(from, to, (chain) => {
      if (entries.length === limit) return false;
      entries.push(chain.head!);
      return true;
    });
    const remaining = entries.length < limit ? 0 : this.#live.rank(to) - this.#live.rank(from) - entries.length;
    return { entries, revision: this.#visible, more: remaining > 0, remaining };
  }

  getFresh(key: string): MaybePromise<Entry | undefined> {
    const waiting = this.fresh();
    return isLate(waiting) ? waiting.then(() => this.get(key)) : this.get(key);
  }

  /** Returns the entries at a revision; one that is not reached yet shows the present. */
  async rangeAt(prefix: string, options: LogRangeOptions): Promise<Range | Compacted> {
    const { at } = options;
    if (at < this.#compacted) return { compacted: this.#compacted };
    const log = this.#logOf(prefix);
    if (at >= log.floor) return this.#rangeInMemory(prefix, options, log);
    if (!this.#log.hasHistory) return { compacted: log.floor };
    const range = await this.#log.range(prefix, options);
    if (isCompacted(range)) return range;
    if (at < this.#compacted) return { compacted: this.#compacted };
    const { entries, remaining } = range;
    return { entries: entries.map((entry) => entryOf(entry)), revision: at, more: remaining > 0, remaining };
  }

  /** Returns versions of a key from the log, or from memory if the log keeps none. */
  async versions(key: string, before: Revision | undefined, limit: number): Promise<KeyVersions> {
    const head = this.#keys.get(key)?.head;
    // The log finds a version fastest by its revision.
    const newest = head === undefined ? this.#visible : head.revision;
    const from = before === undefined || (head !== undefined && before > newest) ? newest + 1 : before;
    const history = this.#log.hasHistory
      ? await this.#log.versions(key, from, limit)
      : versionsInMemory(head, from, limit, this.#compacted);
    const { versions, ...rest } = history;
    return {
      ...rest,
      versions: versions.map(({ value, ...version }) => ({
        ...version,
        entry: value === undefined ? undefined : entryOf({ ...version, value }),
      })),
    };
  }

  put(key: string, expected: Revision, encoded: Encoded, options = noOptions): Promise<WriteResult> {
    return this.#commit(new CacheWrite(key, expected, encoded, options));
  }

  remove(key: string, expected: Revision, options: RemoveOptions = noOptions): Promise<WriteResult> {
    return this.#commit(new CacheWrite(key, expected, undefined, options));
  }

  async watch(options: WatchOptions): Promise<Watch | Compacted> {
    if (this.#isClosed) throw new StorageFailure("the store is closed");
    if (options.after < this.#compacted) return { compacted: this.#compacted };
    const { floor } = this.#logOf(options.prefix, options.exact);
    if (options.after < floor && !this.#log.hasHistory) return { compacted: floor };
    return this.#hub.watch(options);
  }

  fresh(): MaybePromise<void> {
    const latest = this.#log.latest();
    return isLate(latest) ? latest.then((revision) => this.#caughtUpTo(revision)) : this.#caughtUpTo(latest);
  }

  waitFor(revision: Revision, timeoutMs: number): Promise<boolean> {
    if (revision <= this.#visible) return Promise.resolve(true);
    if (this.#isOver) return Promise.resolve(false);
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(timeoutMs, () => {
        resolve(false);
        this.#waiting.filter((waiter) => waiter !== entry);
      });
      const entry: Waiter = {
        revision,
        wake(isVisible) {
          cancel();
          resolve(isVisible);
        },
      };
      this.#waiting.push(entry);
    });
  }

  async compact(revision: Revision): Promise<void> {
    const target = Math.min(revision, this.#visible);
    if (target <= this.#compacted) return;
    const { clock, observe } = this.#options;
    const start = clock.monotonic();
    await this.#log.compact(target);
    observe?.compaction?.(target, (clock.monotonic() - start) / 1000);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelCompaction?.();
    await this.#log.close();
    this.#isOver = true;
    while (this.#waiting.size > 0) this.#waiting.pop()!.wake(false);
    this.#hub.close();
  }

  async #commit(write: CacheWrite): Promise<WriteResult> {
    const { committed, revision } = await this.#log.commit(write);
    if (revision > this.#visible) await this.#caughtUpTo(revision);
    if (!committed) return { ok: false, current: this.get(write.key) };
    // Safe: the log tells of the writes of this process with what it was given.
    return { ok: true, entry: write.entry! };
  }

  /** Resolves when reads see `revision`, which the log has reached. */
  #caughtUpTo(revision: Revision): MaybePromise<void> {
    if (revision <= this.#visible) return undefined;
    if (this.#isOver) return Promise.reject(new StorageFailure("the store is closed"));
    return new Promise((resolve, reject) => {
      const wake = (isVisible: boolean): void => {
        if (isVisible) resolve();
        else reject(new StorageFailure("the store is closed"));
      };
      this.#waiting.push({ revision, wake });
    });
  }

  /** Releases what only an evicted event kept in memory. */
  #forget(event: StoreEvent): void {
    // Safe: every event of this store is made of its own versions.
    const version = event.entry as Version;
    version.older = undefined;
    if (event.previous !== undefined) this.#valueBytes -= event.previous.value.length;
    if (!version.deleted) return;
    this.#valueBytes -= version.value.length;
    const chain = this.#keys.get(version.key);
    if (chain?.head !== version) return;
    this.#tombstones.delete(chain.key);
    this.#keys.delete(chain.key);
  }

  #openKey(key: string): VersionChain {
    const chain = new VersionChain(key, this.#history.bucketOf(key));
    this.#keys.set(key, chain);
    return chain;
  }

  #logOf(prefix: string, exact = false): EventLog {
    return exact || bucketPrefix(prefix) !== undefined ? this.#history.bucketOf(prefix) : this.#history;
  }

  async #readHistory(prefix: string, exact: boolean, after: Revision, upTo: Revision): Promise<EventPage | undefined> {
    const page = await this.#log.history(prefix, exact, after, upTo);
    return page && { events: page.events.map(storeEvent), reached: page.reached };
  }

  /** Returns the state at `at`, which memory still has. */
  #rangeInMemory(prefix: string, options: LogRangeOptions, log: EventLog): Range {
    const { at } = options;
    const last = log.events.last();
    if (last === undefined || last.revision <= at) {
      return { ...this.range(prefix, options), revision: Math.min(at, this.#visible) };
    }
    const { from, to, limit } = bounds(prefix, options);
    const deleted: Version[] = [];
    this.#tombstones.scan(from, to, (chain) => {
      const version = versionAt(chain.head, at);
      if (version !== undefined) deleted.push(version);
      return deleted.length < limit;
    });
    const entries: Entry[] = [];
    let next = 0;
    this.#live.scan(from, to, (chain, key) => {
      while (next < deleted.length && deleted[next]!.key < key && entries.length < limit)
        entries.push(deleted[next++]!);
      if (entries.length === limit) return false;
      const version = versionAt(chain.head, at);
      if (version !== undefined) entries.push(version);
      return entries.length < limit;
    });
    while (next < deleted.length && entries.length < limit) entries.push(deleted[next++]!);
    const after = limit === 0 ? from : `${entries[limit - 1]?.key ?? ""}\u0000`;
    const remaining = entries.length === limit ? this.#countAt(log, after, to, at) : 0;
    return { entries, revision: at, more: remaining > 0, remaining };
  }

  /** Counts the keys in [from, to) at revision `at`. */
  #countAt(log: EventLog, from: string, to: string | undefined, at: Revision): number {
    let count = this.#live.rank(to) - this.#live.rank(from);
    for (let i = indexAfter(log, at); i < log.events.length; i++) {
      const { type, entry } = log.events.at(i)!;
      if (type === "MODIFIED" || entry.key < from || (to !== undefined && entry.key >= to)) continue;
      count += type === "ADDED" ? -1 : 1;
    }
    return count;
  }

  #scheduleCompaction(): void {
    const { clock, compactionIntervalMs = defaultCompactionMs, historyMs = defaultCompactionMs } = this.#options;
    if (compactionIntervalMs <= 0 || this.#isClosed) return;
    this.#cancelCompaction = clock.after(compactionIntervalMs, () => {
      const now = clock.monotonic();
      this.#checkpoints.push({ at: now, revision: this.#visible });
      let target: Revision | undefined;
      while (this.#checkpoints[0] !== undefined && this.#checkpoints[0].at <= now - historyMs) {
        target = this.#checkpoints.shift()!.revision;
      }
      this.#scheduleCompaction();
      // A log that cannot be compacted cannot be written either, which `failure` will report.
      if (target !== undefined) this.compact(target).catch(() => undefined);
    });
  }
}

/** Returns the versions in memory, for logs that keep none. */
function versionsInMemory(
  head: Version | undefined,
  before: Revision,
  limit: number,
  compacted: Revision,
): LogVersions {
  const versions: LogVersion[] = [];
  let version = head;
  while (version !== undefined && version.revision >= before) version = version.older;
  for (; version !== undefined && versions.length < limit; version = version.older) {
    const { key, revision, created, deleted, value, revisionOffset, older } = version;
    const replaces = created === revision ? 0 : (older?.revision ?? created);
    const digits = revisionOffset < 0 ? 0 : String(revision).length;
    const start = Math.max(revisionOffset, 0);
    const bytes = Buffer.concat([value.subarray(0, start), value.subarray(start + digits)]);
    const unversioned = deleted ? undefined : { bytes, revisionOffset };
    versions.push({ key, revision, value: unversioned, replaces, writtenAt: undefined });
  }
  const next = version === undefined ? 0 : version.revision + 1;
  return { versions, next, since: compacted, sinceMs: undefined };
}

function bounds(prefix: string, options: RangeOptions): { from: string; to: string | undefined; limit: number } {
  const from = options.from !== undefined && options.from > prefix ? options.from : prefix;
  return { from, to: prefixEnd(prefix), limit: options.limit ?? Number.POSITIVE_INFINITY };
}

/** Makes an entry of a version of the log. */
function entryOf({ key, value, revision, unreadable }: Omit<LogEntry, "expiresAt">, at = revision): Entry {
  const entry = {
    key,
    value: insertRevision(value, at),
    revision: at,
    created: revision,
    decoded: undefined,
  };
  return unreadable === undefined ? entry : { ...entry, unreadable };
}

/** Makes an event of a change in the history. For a deletion it shows the last state, at the deletion's revision. */
function storeEvent({ value, previous, ...of }: HistoryEvent): StoreEvent {
  const { revision } = of;
  const before = previous && entryOf(previous);
  if (value !== undefined) {
    const type = before === undefined ? "ADDED" : "MODIFIED";
    return { type, revision, entry: entryOf({ ...of, value }), previous: before, frames: undefined };
  }
  // Safe: a log deletes only what exists.
  return { type: "DELETED", revision, entry: entryOf(previous!, revision), previous: before, frames: undefined };
}
