/**
 * Storage as the server uses it: current values and recent changes in memory, above a `LogStore` that makes them
 * durable. It knows no kind and throws no `StatusError`. Implementation: `watch-cache/log-watch-cache.ts`.
 *
 * Revisions are one strictly increasing sequence over the whole store. A write becomes visible to reads and watches
 * only after it is durable, and revisions become visible strictly in order.
 */
import type { MaybePromise } from "#std/maybe-promise.ts";
import type {
  Compacted,
  FailedCondition,
  KeyCondition,
  LogVersion,
  LogVersions,
  LogRangeOptions,
  Revision,
  RevisionsAround,
  StorageFull,
  Turn,
  Unversioned,
} from "./log-store.ts";

export { DetachedEntry } from "./watch-cache/detached-entry.ts";

/**
 * One version of one key. Shared and immutable, except `decoded`, where the layer above caches data derived from the bytes
 * (labels, a decoded object); storage never reads it.
 */
export interface Entry {
  readonly key: string;
  /** The value. Each read may make a new view of it: `valueLength` and `copyValue` are cheaper for many entries. */
  readonly value: Buffer;
  readonly valueLength: number;
  /** The value in memory that may be kept for long; a view may keep a thousand other values in memory. */
  readonly ownValue: Buffer;
  /** Whether the value begins with these bytes. */
  beginsWith(bytes: Buffer): boolean;
  /** Copies the bytes in [from, to) of the value into `target` at `at`, and returns their number. */
  copyValue(target: Buffer, at: number, from: number, to: number): number;
  /** The revision that wrote this version; in the entry of a deletion event, the revision of the deletion. */
  readonly revision: Revision;
  /** The revision of the first version that this process knows, since the key was last created. */
  readonly created: Revision;
  /** The reason why the value cannot be read; the value is then empty. */
  readonly unreadable?: string | undefined;
  decoded: unknown;
}

export type EventType = "ADDED" | "MODIFIED" | "DELETED";

/** One change. `entry` is the new version; for a deletion it is the last state, at the deletion's revision. */
export interface StoreEvent {
  readonly type: EventType;
  readonly revision: Revision;
  readonly entry: Entry;
  /** The replaced entry. */
  readonly previous: Entry | undefined;
  /** Encodings that all watchers share; the layer above fills them in. */
  frames: Map<string, Buffer> | undefined;
}

/** An encoded value to store. */
export interface Encoded extends Unversioned {
  /**
   * Returns data that is cached with the entry beside its bytes. Called once the write has its revision, before the
   * entry is visible.
   */
  decode(revision: Revision): unknown;
}

/** The options of a write beside its precondition. */
export interface RemoveOptions {
  /** See `LogWrite.requires`. */
  readonly requires?: readonly KeyCondition[];
  /** See `LogWrite.turn`. */
  readonly turn?: Turn;
  /** See `LogWrite.note`. */
  readonly note?: string | undefined;
}

export interface PutOptions extends RemoveOptions {
  /** The number of seconds after which the key expires; 0 for never. */
  readonly ttlSeconds?: number;
  /** Whether the write is a step of a deletion: it is accepted while there is no room for other writes. */
  readonly isForDeletion?: boolean;
}

/**
 * The result of a write. A failed comparison is a result, not an error: it has the entry that was found (`undefined`:
 * no such key), and the condition that does not hold.
 */
export type WriteResult =
  | { readonly ok: true; readonly entry: Entry }
  | { readonly ok: false; readonly current: Entry | undefined; readonly failed: FailedCondition };

/** Derives a value from entries of one resource, by which they are looked up: a label, a field. */
export interface IndexFunction {
  /** The name. Functions of one resource with the same name return the same values. */
  readonly name: string;
  /**
   * Returns the value of an entry, always the same one, with and without `isKept`; `undefined` when it has none. Throws
   * when the entry cannot be read. With `isKept` it may keep what it decoded beside the entry.
   */
  valueOf(entry: Entry, isKept: boolean): string | undefined;
}

/** Selects the entries for which a function returns one of some values. */
export interface IndexMatch {
  readonly by: IndexFunction;
  /** The values, each once. */
  readonly values: readonly string[];
}

/** The keys that a range of the present reads. */
export interface RangeOptions extends Omit<LogRangeOptions, "at"> {
  /**
   * Entries that do not meet all of these may be left out, because the caller ignores them. They are left out where an
   * index has fewer, and nothing of the resource has changed since.
   */
  readonly matching?: readonly IndexMatch[] | undefined;
}

export interface Range {
  readonly entries: readonly Entry[];
  /** The revision that the result shows. */
  readonly revision: Revision;
  /** Whether keys of the prefix follow after the last entry. */
  readonly more: boolean;
  /** The number of keys of the prefix that follow after the last entry. */
  readonly remaining: number;
}

/** A version of a key; without an entry it is a deletion. */
export interface KeyVersion extends Pick<LogVersion, "revision" | "replaces" | "writtenAt" | "note"> {
  readonly entry: Entry | undefined;
}

/** Some versions of a key, newest first, and where the next ones begin (`LogVersions`). */
export interface KeyVersions extends Omit<LogVersions, "versions"> {
  readonly versions: readonly KeyVersion[];
}

/** A change in the history, with the version that it replaced. */
export interface PastChange extends Pick<LogVersion, "key" | "revision" | "writtenAt" | "note"> {
  /** The new version; `undefined`: the key was deleted. */
  readonly entry: Entry | undefined;
  readonly previous: Entry | undefined;
}

/** Some changes, newest first, and where the next ones begin (`LogVersions`). */
export interface PastChanges extends Omit<LogVersions, "versions"> {
  readonly changes: readonly PastChange[];
}

/** The changes to read: those of keys with a prefix, or of exactly one key, in (after, before). */
export interface ChangesRange {
  readonly prefix: string;
  readonly isExact: boolean;
  readonly after: Revision;
  /** `undefined`: all changes up to now. */
  readonly before: Revision | undefined;
  /** The number of changes after which the answer ends. */
  readonly limit: number;
}

/** Reads earlier versions of keys. */
export interface VersionReader {
  /**
   * Reads changes, newest first. The answer ends after some of them, or after a number of revisions without any, and
   * says where the next one begins.
   */
  changes(range: ChangesRange): Promise<PastChanges>;
  /** See `LogStore.revisionsAround`. */
  revisionsAround(at: number): Promise<RevisionsAround>;
  /** Reads at most `limit` versions of a key before a revision (left out: all), deletions included, newest first. */
  versions(key: string, before: Revision | undefined, limit: number): Promise<KeyVersions>;
}

export interface WatchOptions {
  /** The prefix of the watched keys: `/registry/<group>/<resource>/`, or with a namespace and a slash after it. */
  readonly prefix: string;
  /** Whether exactly one key is watched, which the prefix then is. */
  readonly exact?: boolean;
  /** Only events after this revision are delivered. */
  readonly after: Revision;
  /**
   * Events may be left out whose entry does not meet this, before and after them, because the watcher ignores them. They
   * cost nothing then, if it has one value and `exact` is not set.
   */
  readonly matching?: IndexMatch | undefined;
  /** The maximum number of undelivered events; beyond it the watch ends with the reason `slow`. */
  readonly queueLengthMax?: number;
  /**
   * Takes events in revision order, never one of them twice, at most once a turn. Watchers of one prefix that
   * have received the same events share the array: use its identity as a cache key. Return false to pause until
   * `resume()`.
   */
  deliver(events: readonly StoreEvent[]): boolean;
  /** Called when the watch has ended: by `close`, a full queue, lost history, or because the store closed. */
  ended(reason: "slow" | "compacted" | "closed"): void;
}

export interface Watch {
  /** Continues after `deliver` returned false. */
  resume(): void;
  /** The revision up to which everything has been given to `deliver`, for bookmarks. */
  readonly position: Revision;
  close(): void;
}

/** Reads of single keys. */
export interface CacheReader {
  /** The revision that reads see now. */
  readonly revision: Revision;
  /** Whether other processes write to the store too, so that reads may lag behind acknowledged writes until `fresh`. */
  readonly isShared: boolean;
  /** Resolves when reads see every write acknowledged anywhere before the call. */
  fresh(): MaybePromise<void>;
  /** Resolves with true once reads see `revision`, with false after `timeoutMs`. */
  waitFor(revision: Revision, timeoutMs: number): Promise<boolean>;
  /** Returns the present version of a key, from memory. */
  get(key: string): Entry | undefined;
  /** Does the same after `fresh`. */
  getFresh(key: string): MaybePromise<Entry | undefined>;
}

/** Reads of many keys. */
export interface CacheRanges {
  /** Returns the present entries whose keys start with `prefix`, in key order, from memory. */
  range(prefix: string, options?: RangeOptions): Range;
  /**
   * Returns the entries at a revision. An old revision may be read from the log; one that is not reached yet shows the
   * present.
   */
  rangeAt(prefix: string, options: LogRangeOptions & RangeOptions): Promise<Range | Compacted>;
  /** Returns the present number of keys under the prefix. */
  count(prefix: string): number;
}

/** The bytes of present values, without the digits of their revisions, which grow by themselves. Nothing is counted for it. */
export interface CacheSizes {
  /** The bytes of all present values. */
  readonly presentBytes: number;
  /** Returns the bytes of the present value of a key; 0 for none. */
  presentBytesOf(key: string): number;
}

/** Writes, each of which compares the revision of the key's latest version. */
export interface CacheWriter {
  /**
   * Writes if the key's latest version, acknowledged or not, has revision `expected` (0: absent). Rejects with
   * `StorageFailure` when durability can no longer be promised, with `StorageFull` while there is no room.
   */
  put(key: string, expected: Revision, encoded: Encoded, options?: PutOptions): Promise<WriteResult>;
  /** Deletes a key after the same comparison. */
  remove(key: string, expected: Revision, options?: RemoveOptions): Promise<WriteResult>;
  /** Whether a key's current value would be stored in another form if it were written again. */
  isStale(key: string): boolean;
}

/** Watches, and the history in which they may begin. */
export interface CacheWatches {
  /** The oldest revision that can still be read. */
  readonly compactedRevision: Revision;
  /** Opens a watch. Returns `Compacted` when events after `after` are no longer complete. */
  watch(options: WatchOptions): Promise<Watch | Compacted>;
  /** Forgets history before `revision`; reads before it then answer `Compacted`. */
  compact(revision: Revision): Promise<void>;
}

/** The errors of writes that are not possible at present. */
export interface CacheHealth {
  /** The reason why the store stopped accepting writes for good (a sync failed); `undefined` while it is healthy. */
  readonly failure: Error | undefined;
  /** The error of writes other than deletions while there is no room for them; `undefined` while there is. */
  readonly full: StorageFull | undefined;
}

/** The changes of the keys of one resource since the start. */
export interface EventTraffic {
  /** The number of changes that became visible. */
  readonly received: number;
  /** The number of events that watchers were given, each counted for each watcher. */
  readonly delivered: number;
}

/** Numbers of what the cache has done, for metrics. */
export interface CacheTraffic {
  /** Returns the traffic of the resource whose keys begin with `prefix`: `/registry/<group>/<resource>/`. */
  trafficOf(prefix: string): EventTraffic;
  /** The number of times that the present state was read from the log, the first one included. */
  readonly loads: number;
}

/** The whole store of a server. Its users take the interfaces above that they need. */
export interface WatchCache extends CacheReader, CacheRanges, CacheSizes, CacheWriter, CacheWatches, CacheHealth {
  /** Refuses further writes, ends watches with `closed` once pending writes are answered, and releases the log. */
  close(): Promise<void>;
}
