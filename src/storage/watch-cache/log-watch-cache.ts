/**
 * The watch cache of this process: an ordered index of current entries, recent history, and the watches. It follows a
 * `LogStore`, which makes writes durable. A change becomes visible to reads when the log delivers it, and is then
 * queued for watches. A write's promise resolves once its change is visible.
 *
 * Hot path, plain code: `get` and `changed` do one map look-up; only a new or deleted key touches the tree.
 */
import type { Clock } from "#std/clock.ts";
import { Yielder } from "#std/cooperative.ts";
import { Heap } from "#std/heap.ts";
import { isLate, type MaybePromise } from "#std/maybe-promise.ts";
import { OrderedMap, prefixEnd } from "#std/ordered-map.ts";

import { type Digest, digestSum } from "../digest.ts";
import type { KeyIndex } from "../commit-sequencer.ts";
import {
  type Compacted,
  isCompacted,
  type KeyCondition,
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
  type RevisionsAround,
  StorageFailure,
  type StorageFull,
  type Turn,
  Unavailable,
  type Unversioned,
} from "../log-store.ts";
import { atRevision, insertRevision } from "../versioned-value.ts";
import type {
  ChangesRange,
  Encoded,
  CacheTraffic,
  Entry,
  EventTraffic,
  EventType,
  IndexMatch,
  KeyVersions,
  PastChanges,
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
import { EntryIndexes } from "./entry-indexes.ts";
import { bucketPrefix, type EventLog, EventHistory, indexAfter } from "./event-history.ts";
import { DetachedEntry } from "./detached-entry.ts";
import { changesInMemory, entryOf, readChanges } from "./past-changes.ts";
import { ValueSlabs } from "./value-slabs.ts";
import { deletedVersion, newVersion, type Version, VersionChain, versionAt } from "./version.ts";
import { type EventPage, WatchHub } from "./watch-hub.ts";

/** Callbacks for metrics of a cache. Each is called synchronously and must not throw. */
export interface CacheObserver {
  /** Called after each turn with the number of batches that watchers were given in it. */
  readonly flush?: (deliveries: number) => void;
  /** Called when a callback of a watcher threw, or reading old events failed; the watch has been ended. */
  readonly watchError?: (error: unknown) => void;
}

export interface CacheOptions {
  readonly clock: Clock;
  /** The maximum number of bytes of superseded versions and events in memory; default 64 MiB. */
  readonly historyBytesMax?: number;
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
const defaultWatchRestMsMax = 4;
/** The longest time that a writer waits until reads see the revision that its result is about. */
const writeVisibleMsMax = 3000;
/** The number of keys from which a range may use an index. */
const indexedCountMin = 128;

/** A write of this process; it gets the entry that it becomes. */
class CacheWrite implements LogWrite {
  readonly key: string;
  readonly expected: Revision;
  readonly value: Encoded | undefined;
  readonly ttlSeconds: number;
  readonly isForDeletion: boolean;
  readonly requires: readonly KeyCondition[];
  readonly turn: Turn | undefined;
  readonly note: string | undefined;
  /** The written version, once it is visible. */
  entry: Version | undefined = undefined;

  constructor(key: string, expected: Revision, encoded: Encoded | undefined, options: PutOptions) {
    this.key = key;
    this.expected = expected;
    this.value = encoded;
    this.ttlSeconds = options.ttlSeconds ?? 0;
    this.isForDeletion = encoded === undefined || options.isForDeletion === true;
    this.requires = options.requires ?? noConditions;
    this.turn = options.turn;
    this.note = options.note;
  }
}

/** The number of values that are looked at between two reads of the clock. */
const entriesPerLook = 64;

const nothing: Unversioned = { bytes: Buffer.alloc(0), revisionOffset: -1 };
const noTraffic: EventTraffic = { received: 0, delivered: 0 };
const noOptions: PutOptions = {};
const noConditions: readonly KeyCondition[] = [];

/** A caller that waits until reads see a revision. */
interface Waiter {
  readonly revision: Revision;
  /** Called with false when the revision will not become visible. */
  wake(isVisible: boolean): void;
}

export class LogWatchCache implements WatchCache, CacheTraffic, VersionReader, LogFollower, KeyIndex {
  readonly #options: CacheOptions;
  readonly #log: LogStore;
  readonly #keys = new Map<string, VersionChain>();
  /** The keys that exist. */
  #live = new OrderedMap<VersionChain>();
  /** Deleted keys that history still has. */
  #tombstones = new OrderedMap<VersionChain>();
  readonly #history: EventHistory;
  /** The notes of deletions, if the log keeps no history. */
  readonly #notes = new WeakMap<Entry, string>();
  readonly #hub: WatchHub;
  readonly #waiting = new Heap<Waiter>((a, b) => a.revision < b.revision);
  #visible: Revision;
  #compacted: Revision;
  #valueBytes = 0;
  #presentBytes = 0;
  #slabs = new ValueSlabs();
  #isMovingValues = false;
  #digestSum = 0;
  #loads = 1;
  #isClosed = false;
  /** Whether the cache is closed, so that no further change becomes visible. */
  #isOver = false;

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
  }

  /**
   * Reads all entries of `log`, and follows it. A log that cannot be read is closed. `lend` is called first with the
   * order of the keys, which a log may use.
   */
  static async open(log: LogStore, options: CacheOptions, lend?: (index: KeyIndex) => void): Promise<LogWatchCache> {
    const cache = new LogWatchCache(log, options);
    lend?.(cache);
    try {
      await log.follow(cache);
    } catch (error) {
      await log.close();
      throw error;
    }
    return cache;
  }

  get revision(): Revision {
    return this.#visible;
  }

  get isShared(): boolean {
    return this.#log.isShared === true;
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

  get presentBytes(): number {
    return this.#presentBytes;
  }

  presentBytesOf(key: string): number {
    return this.#keys.get(key)?.current?.unversionedLength ?? 0;
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

  trafficOf(prefix: string): EventTraffic {
    return this.#history.findBucket(prefix) ?? noTraffic;
  }

  get loads(): number {
    return this.#loads;
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
    this.#begin(this.#openKey(key), newVersion(key, value, entry, revision, this.#slabs));
  }

  /** Makes a version the first one that this cache knows of its key. */
  #begin(chain: VersionChain, version: Version): void {
    const { key, revision } = version;
    chain.head = version;
    this.#live.set(key, chain);
    this.#valueBytes += version.valueLength;
    this.#presentBytes += version.unversionedLength;
    this.#digestSum = digestSum(this.#digestSum + revision);
  }

  /** Takes all durable changes of one revision from the log. */
  changed(events: readonly LogEvent[]): void {
    for (const event of events) this.#apply(event);
    this.progressed(events[events.length - 1]!.revision);
  }

  /** Takes the word of the log that it has delivered everything up to `revision`. */
  progressed(revision: Revision): void {
    if (revision > this.#visible) this.#visible = revision;
    while (this.#waiting.size > 0 && this.#waiting.peek()!.revision <= revision) this.#waiting.pop()!.wake(true);
  }

  /**
   * Takes the present state from the log after changes were lost. All watches end, and their clients list again. Versions
   * that are as they were stay the same objects, unless the history is another one, as after a backup was restored: then a
   * revision may be that of another value, and the layers above know versions by their objects and revisions.
   */
  reloaded(entries: readonly LogEntry[], revision: Revision): void {
    const before = new Map(this.#keys);
    this.#loads++;
    // Everything up to the visible revision was heard.
    const isOther = entries.some(
      (entry) => entry.revision <= this.#visible && !shows(before.get(entry.key)?.current, entry),
    );
    this.#keys.clear();
    this.#live = new OrderedMap();
    this.#tombstones = new OrderedMap();
    this.#valueBytes = 0;
    this.#presentBytes = 0;
    this.#slabs = new ValueSlabs();
    this.#digestSum = 0;
    this.#history.restart(revision);
    for (const entry of entries) {
      const known = isOther ? undefined : before.get(entry.key)?.current;
      const isKnown = known?.revision === entry.revision;
      const version = isKnown ? known : newVersion(entry.key, entry.value, entry, entry.revision, this.#slabs);
      if (isKnown) this.#slabs.adopt(version);
      version.older = undefined;
      this.#begin(this.#openKey(version.key), version);
    }
    this.#compacted = revision;
    this.progressed(revision);
    this.#hub.endAll("compacted");
  }

  #apply(change: LogEvent): void {
    const { key, value, revision, write } = change;
    const known = this.#keys.get(key);
    // A log elsewhere may tell of the end of a key that was never shown.
    if (value === undefined && known?.current === undefined) return;
    const chain = known ?? this.#openKey(key);
    const previous = chain.current;
    let version: Version;
    let type: EventType;
    if (value === undefined) {
      version = deletedVersion(previous!, revision, this.#slabs); // the key exists
      type = "DELETED";
      this.#live.delete(chain.key);
      this.#tombstones.set(chain.key, chain);
      // Other logs keep the note.
      if (write?.note !== undefined && !this.#log.hasHistory) this.#notes.set(version, write.note);
    } else {
      const created = previous === undefined ? revision : previous.created;
      version = newVersion(chain.key, value, change, created, this.#slabs);
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
    this.#valueBytes += version.valueLength;
    this.#presentBytes += (version.deleted ? 0 : version.unversionedLength) - (previous?.unversionedLength ?? 0);
    this.#digestSum = digestSum(this.#digestSum + (version.deleted ? 0 : revision) - (previous?.revision ?? 0));
    chain.bucket.indexes?.changed(chain.key, previous, version.deleted ? undefined : version);
    const event: StoreEvent = { type, revision, entry: version, previous, frames: undefined };
    this.#history.add(event, chain.bucket);
    this.#hub.publish(event, chain.bucket);
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
      this.#slabs.release(version);
      version.write(atRevision(value, revision), this.#slabs);
      version.revisionOffset = value.revisionOffset;
      version.unreadable = undefined;
      version.decoded = undefined;
      // The value was empty.
      this.#valueBytes += version.valueLength;
      if (!version.deleted) this.#presentBytes += version.unversionedLength;
      buckets.add(chain!.bucket.prefix);
      chain!.bucket.indexes?.clear();
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
    if (options.matching !== undefined && options.matching.length > 0) {
      const found = this.#rangeByIndex(prefix, options.matching, { from, to, limit });
      if (found !== undefined) return found;
    }
    const entries: Entry[] = [];
    this.#live.scan(from, to, (chain) => {
      if (entries.length === limit) return false;
      entries.push(chain.head!);
      return true;
    });
    const remaining = entries.length < limit ? 0 : this.#live.rank(to) - this.#live.rank(from) - entries.length;
    return { entries, revision: this.#visible, more: remaining > 0, remaining };
  }

  /** Returns a range without most of the entries that do not match; `undefined` when no index makes that cheaper. */
  #rangeByIndex(prefix: string, matching: readonly IndexMatch[], { from, to, limit }: Bounds): Range | undefined {
    if (bucketPrefix(prefix) === undefined) return undefined;
    const first = this.#live.rank(from);
    const count = this.#live.rank(to) - first;
    if (count < indexedCountMin) return undefined;
    // A key of an index costs about as much as four of a range, which of n keys looks at limit · n ÷ (those that match).
    const keysMax = Math.min(count / 4, Math.sqrt(limit * count) / 2);
    const candidates = this.#indexesOf(prefix).candidates(matching, keysMax);
    if (candidates === undefined) return undefined;
    const keys = candidates.filter((key) => key >= from && (to === undefined || key < to)).sort();
    const entries: Entry[] = [];
    for (const key of keys) {
      if (entries.length === limit) break;
      const entry = this.get(key);
      if (entry !== undefined) entries.push(entry);
    }
    const last = entries.at(-1);
    const remaining = last === undefined ? 0 : first + count - this.#live.rank(`${last.key}\0`);
    return { entries, revision: this.#visible, more: remaining > 0, remaining };
  }

  #indexesOf(prefix: string): EntryIndexes {
    const bucket = this.#history.bucketOf(prefix);
    return (bucket.indexes ??= this.#openIndexes(bucket.prefix));
  }

  #openIndexes(prefix: string): EntryIndexes {
    const end = prefixEnd(prefix);
    const entries = {
      count: () => this.countKeys(prefix, end),
      scan: (from: string, visit: (entry: Entry) => boolean) => {
        this.#live.scan(from > prefix ? from : prefix, end, (chain) => visit(chain.head!)); // live keys have a version
      },
    };
    return new EntryIndexes(entries, this.#options.clock);
  }

  getFresh(key: string): MaybePromise<Entry | undefined> {
    const waiting = this.fresh();
    return isLate(waiting) ? waiting.then(() => this.get(key)) : this.get(key);
  }

  /** Returns the entries at a revision; one that is not reached yet shows the present. */
  async rangeAt(prefix: string, options: LogRangeOptions & RangeOptions): Promise<Range | Compacted> {
    const { at, isKept = false } = options;
    const isInReach = (): boolean => isKept || at >= this.#compacted;
    if (!isInReach()) return { compacted: this.#compacted };
    const log = this.#logOf(prefix);
    if (at >= log.floor) return this.#rangeInMemory(prefix, options, log);
    if (!this.#log.hasHistory) return { compacted: log.floor };
    const range = await this.#log.range(prefix, options);
    if (isCompacted(range)) return range;
    if (!isInReach()) return { compacted: this.#compacted };
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
      : versionsInMemory(head, from, limit, this.#compacted, this.#notes);
    const { versions, ...rest } = history;
    return {
      ...rest,
      versions: versions.map(({ value, ...version }) => ({
        ...version,
        entry: value === undefined ? undefined : entryOf({ ...version, value }),
      })),
    };
  }

  changes(range: ChangesRange): Promise<PastChanges> {
    if (this.#log.hasHistory) return readChanges(this.#log, range, this.#visible);
    return Promise.resolve(
      changesInMemory(this.#logOf(range.prefix, range.isExact), range, this.#compacted, this.#notes),
    );
  }

  revisionsAround(at: number): Promise<RevisionsAround> {
    return this.#log.revisionsAround(at);
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
    if (target > this.#compacted) await this.#log.compact(target);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#log.close();
    this.#isOver = true;
    this.#history.dropIndexes();
    while (this.#waiting.size > 0) this.#waiting.pop()!.wake(false);
    this.#hub.endAll("closed");
  }

  async #commit(write: CacheWrite): Promise<WriteResult> {
    const result = await this.#log.commit(write);
    // A log that does not tell of its changes any more must not keep the writer.
    const isVisible = result.revision <= this.#visible || (await this.waitFor(result.revision, writeVisibleMsMax));
    if (!isVisible && !result.committed) throw new Unavailable("the log does not tell of its changes");
    if (!result.committed) return { ok: false, current: this.get(write.key), failed: result.failed };
    // An event may have been taken for that of this write, which was another one's deletion of the same version.
    const { entry } = write;
    return { ok: true, entry: entry?.revision === result.revision ? entry : this.#written(write, result.revision) };
  }

  /** Returns the version of an own write whose change was not delivered, or not as its own. */
  #written({ key, value }: CacheWrite, revision: Revision): Entry {
    let known = this.#keys.get(key)?.head;
    while (known !== undefined && known.revision > revision) known = known.older;
    if (known?.revision === revision) return known;
    const bytes = insertRevision(value ?? nothing, revision);
    return new DetachedEntry({ key, value: bytes, revision, created: revision, decoded: value?.decode(revision) });
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
    // Safe, too.
    if (event.previous !== undefined) this.#release(event.previous as Version);
    if (!version.deleted) return;
    this.#release(version);
    const chain = this.#keys.get(version.key);
    if (chain?.head !== version) return;
    this.#tombstones.delete(chain.key);
    this.#keys.delete(chain.key);
  }

  /** Gives up the memory of a version that nothing in this cache needs any more. */
  #release(version: Version): void {
    this.#valueBytes -= version.valueLength;
    this.#slabs.release(version);
    if (this.#slabs.isWasteful && !this.#isMovingValues) void this.#moveValues();
  }

  /** Moves values out of memory of which much is released, some at a time: current ones, then those of history. */
  async #moveValues(): Promise<void> {
    this.#isMovingValues = true;
    const slabs = this.#slabs;
    const sparse = slabs.sparse();
    const yielder = new Yielder(this.#options.clock);
    const goesOn = (): boolean => slabs === this.#slabs && !this.#isOver;
    const move = (version: Version | undefined): void => {
      if (version !== undefined && sparse.has(version.memory)) slabs.move(version);
    };
    for (let from: string | undefined = ""; from !== undefined && goesOn(); ) {
      await yielder.pause();
      let next: string | undefined;
      let seen = 0;
      this.#live.scan(from, undefined, ({ head }, key) => {
        if (++seen % entriesPerLook === 0 && yielder.isDue) {
          next = key;
          return false;
        }
        move(head);
        return true;
      });
      from = next;
    }
    const { events } = this.#history;
    for (let i = 0; goesOn() && i < events.length; i++) {
      const { entry, previous } = events.at(i)!;
      // Safe: every event of this store is made of its own versions.
      move(entry as Version);
      move(previous as Version | undefined);
      // Events that go meanwhile may let a later one be left out, until the next pass.
      if (i % entriesPerLook === 0 && yielder.isDue) await yielder.pause();
    }
    slabs.passed(sparse);
    this.#isMovingValues = false;
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
  #rangeInMemory(prefix: string, options: LogRangeOptions & RangeOptions, log: EventLog): Range {
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
}

/** Whether a version is that of an entry of the log, and shows the same. */
const shows = (version: Version | undefined, { revision, value, unreadable }: LogEntry): boolean =>
  version?.revision === revision &&
  version.unreadable === unreadable &&
  version.value.equals(insertRevision(value, revision));

/** Returns the versions in memory, for logs that keep none. */
function versionsInMemory(
  head: Version | undefined,
  before: Revision,
  limit: number,
  compacted: Revision,
  notes: WeakMap<Entry, string>,
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
    versions.push({ key, revision, value: unversioned, replaces, writtenAt: undefined, note: notes.get(version) });
  }
  const next = version === undefined ? 0 : version.revision + 1;
  return { versions, next, since: compacted, sinceMs: undefined };
}

/** The keys from `from` (inclusive) to `to` (exclusive), at most `limit` of them. */
interface Bounds {
  readonly from: string;
  readonly to: string | undefined;
  readonly limit: number;
}

function bounds(prefix: string, options: RangeOptions): Bounds {
  const from = options.from !== undefined && options.from > prefix ? options.from : prefix;
  return { from, to: prefixEnd(prefix), limit: options.limit ?? Number.POSITIVE_INFINITY };
}

/** Makes an event of a change in the history. For a deletion it shows the last state, at the deletion's revision. */
function storeEvent({ value, previous, writtenAt: _time, note: _note, ...of }: HistoryEvent): StoreEvent {
  const { revision } = of;
  const before = previous && entryOf(previous);
  if (value !== undefined) {
    const type = before === undefined ? "ADDED" : "MODIFIED";
    return { type, revision, entry: entryOf({ ...of, value }), previous: before, frames: undefined };
  }
  // Safe: a log deletes only what exists.
  return { type: "DELETED", revision, entry: entryOf(previous!, revision), previous: before, frames: undefined };
}
