/**
 * The durable half of storage: versions of values under keys, in one sequence of revisions. It stores bytes and knows
 * no objects. All its operations are asynchronous, so it can be remote; frequent reads use the `WatchCache` above it.
 * Implementations: `memory.ts` and `sqlite.ts`, both over `commit-sequencer.ts`; `etcd.ts`; `served.ts` for the log of
 * another process. Logs around another log extend `forwarding-log.ts`.
 */
import type { MaybePromise } from "#std/maybe-promise.ts";

/** A position in the log. 0 means "no revision yet" or, as a precondition, "no such key". */
export type Revision = number;

/** A write of one key. */
export interface LogWrite {
  readonly key: string;
  /** The revision that the latest version of the key must have; 0: there must be none. */
  readonly expected: Revision;
  /** A value that does not know its revision yet (`versioned-value.ts`); `undefined` deletes the key. */
  readonly value: Unversioned | undefined;
  /** The number of seconds after which the key expires; 0 for never. */
  readonly ttlSeconds: number;
  /**
   * Whether the write is a step of a deletion: it is accepted while there is no room for other writes, as deletions
   * are.
   */
  readonly isForDeletion: boolean;
  /**
   * Conditions on other keys, compared in the moment in which the write gets its revision: a leader writes only while
   * its Lease is as it knows it.
   */
  readonly requires: readonly KeyCondition[];
  /** The state on which the writer decided, where writers of several processes may not decide on the same one. */
  readonly turn: Turn | undefined;
  /** A short text that the log keeps with a deletion, if it has a place for it, and shows in its history. */
  readonly note: string | undefined;
}

/** A condition on a key: its latest version has this revision; 0: the key does not exist. */
export interface KeyCondition {
  readonly key: string;
  readonly revision: Revision;
}

/**
 * A state that only one writer at a time may build on, such as the addresses that are given. A write with a turn is
 * refused if another process made one with the same turn after the revision `seen`. Its own ones do not count, since a
 * process knows what it has decided. With `seen: everything` a write is never refused, and ends the turns of others.
 */
export interface Turn {
  readonly name: string;
  readonly seen: Revision;
}

/** A revision that no log reaches. */
export const everything: Revision = Number.MAX_SAFE_INTEGER;

/** A value without the digits of its revision (`versioned-value.ts`). */
export interface Unversioned {
  readonly bytes: Buffer;
  /** The offset in the bytes at which the digits of the revision belong; -1: the value shows none. */
  readonly revisionOffset: number;
}

/** The form in which a log stores values. An encryption around the log encrypts the packed value. */
export interface ValueForm {
  /** Makes one piece of bytes of a value. */
  pack(value: Unversioned): Buffer;
  /**
   * Reads such bytes of a key, whose memory the value shares. Damaged bytes become a value that shows no revision. Throws
   * `UnreadableValue` for bytes of another program that cannot be read.
   */
  unpack(bytes: Buffer, key: string): Unversioned;
  /** Returns the name of a key to which its encrypted value is bound. */
  nameOf(key: string): Buffer;
}

/**
 * The result of a write. A failed precondition is a result, not an error. `revision` is that of the write, or that of
 * the log when it compared. `failed` is the first condition that does not hold: that on the `key` itself, one of
 * `requires`, or the `turn`.
 */
export type CommitResult =
  | { readonly committed: true; readonly revision: Revision }
  | { readonly committed: false; readonly revision: Revision; readonly failed: FailedCondition };

export type FailedCondition = "key" | "requires" | "turn";

/** One version of one key. */
export interface LogEntry {
  readonly key: string;
  /** The value as written (`versioned-value.ts`). It belongs to the log; followers keep a copy. */
  readonly value: Unversioned;
  readonly revision: Revision;
  /** The reason why the value cannot be read; the value is then empty. */
  readonly unreadable?: string;
}

/** One change of one key. */
export interface KeyChange extends Omit<LogEntry, "value"> {
  /** The new value; `undefined`: the key was deleted. */
  readonly value: Unversioned | undefined;
}

/** A change that a follower is given. */
export interface LogEvent extends KeyChange {
  /**
   * The write that made the change, the very object that `commit` got, if this process made it; a log that cannot tell
   * says `undefined`.
   */
  readonly write: LogWrite | undefined;
}

/** A change in the history, with the version that it replaced. */
export interface HistoryEvent extends KeyChange {
  readonly previous: LogEntry | undefined;
  /** See `LogVersion`. */
  readonly writtenAt: number | undefined;
  readonly note: string | undefined;
}

/** Some of the changes in (after, upTo], in order; all changes up to `reached` have been read. */
export interface HistoryPage {
  readonly events: readonly HistoryEvent[];
  readonly reached: Revision;
}

/** A version of one key that the log keeps, or its deletion. */
export interface LogVersion extends KeyChange {
  /** The revision of the version it replaced; 0: there was none. */
  readonly replaces: Revision;
  /** A time shortly after it was written, in milliseconds since the epoch; `undefined`: the log does not know. */
  readonly writtenAt: number | undefined;
  /** The note of a deletion (`LogWrite`), if there is one. */
  readonly note: string | undefined;
}

/** Some versions of one key, newest first. There may be more, even if the result has fewer than requested, or none. */
export interface LogVersions {
  readonly versions: readonly LogVersion[];
  /** The `before` of the next request; 0: there are no more versions. */
  readonly next: Revision;
  /** All versions that were current after this revision are kept. */
  readonly since: Revision;
  /** The approximate time up to which changes are gone, in milliseconds since the epoch. */
  readonly sinceMs: number | undefined;
}

/** The revisions around a moment. What was written between them may have been written before it, or after it. */
export interface RevisionsAround {
  /** Everything up to this revision was written before the moment. */
  readonly before: Revision;
  /** Everything after this revision was written after the moment; `everything`: the log does not know. */
  readonly after: Revision;
}

/** The keys that a range reads, and the revision at which it reads them. */
export interface LogRangeOptions {
  /** The first key to read (inclusive); default: the prefix itself. */
  readonly from?: string;
  /** The maximum number of entries; default: all. */
  readonly limit?: number;
  /** The revision whose state is read. */
  readonly at: Revision;
  /**
   * Whether it may be a revision that only the versions of single keys go back to. The answer may take as long as reading
   * all changes since then. Default: false.
   */
  readonly isKept?: boolean;
  /** The same object for all pages of a range, which are read one after the other in the order of keys. Default: none. */
  readonly undone?: UndoneChanges;
}

/**
 * The changes after the revision of a range, which a log without snapshots has to undo. The log keeps them here between
 * pages, so that each page reads only changes since the last one.
 */
export interface UndoneChanges {
  /** The changed keys that are still to be read, with the revision that the first of these changes replaced; 0 for none. */
  readonly replaced: Map<string, Revision>;
  /** The revision up to which changes were read; in the beginning that of the range. */
  reached: Revision;
}

export interface LogRange {
  readonly entries: readonly LogEntry[];
  /** The number of keys of the prefix that follow after the last entry. */
  readonly remaining: number;
}

/** The answer about a revision that is no longer kept. */
export interface Compacted {
  readonly compacted: Revision;
}

/** A follower of the log from its first state on. Its methods are called synchronously, in the order of revisions. */
export interface LogFollower {
  /** Takes a current entry; called key by key, before the first change. */
  load(entry: LogEntry): void;
  /** Takes all durable changes of one revision, each of another key. */
  changed(events: readonly LogEvent[]): void;
  /** Called when all changes up to this revision have been delivered; later ones may have no change of these keys. */
  progressed(revision: Revision): void;
  /**
   * Takes the present state, in the order of keys, after changes were lost that cannot be read any more. It replaces
   * everything that was delivered before, and history begins at `revision`.
   */
  reloaded(entries: readonly LogEntry[], revision: Revision): void;
  /** Called when history up to this revision is gone. */
  compacted(revision: Revision): void;
  /** Takes versions that were delivered as unreadable and can be read now; some may have been superseded meanwhile. */
  recovered(entries: readonly LogEntry[]): void;
}

export interface LogStore {
  readonly form: ValueForm;
  /** Delivers all entries and then every change to `follower`. Called once, before anything else. */
  follow(follower: LogFollower): Promise<void>;
  /** The revision that the follower has reached, or will have when all entries are loaded. */
  readonly revision: Revision;
  /** The oldest revision that can still be read. */
  readonly compactedRevision: Revision;
  /** Whether `range` and `history` can show earlier revisions; else both answer that they are compacted. */
  readonly hasHistory: boolean;
  /** Whether other processes write to the log too, so that a follower may lag behind acknowledged writes. Default: false. */
  readonly isShared?: boolean;
  /** Returns the last revision of the log, writes of other processes included. */
  latest(): MaybePromise<Revision>;
  /**
   * Writes a key. Resolves once the write is durable, or its precondition has failed; preconditions see earlier writes,
   * acknowledged or not. The follower may get the change before or after its commit resolves. Rejects with
   * `StorageFailure` when durability can no longer be promised, with `StorageFull` while there is no room, with
   * `Unavailable` when it was not done and may be tried again, with `OutcomeUnknown` when nobody knows.
   */
  commit(write: LogWrite): Promise<CommitResult>;
  /** Reads the keys that start with `prefix`, in order, as they were at a revision. */
  range(prefix: string, options: LogRangeOptions): Promise<LogRange | Compacted>;
  /**
   * Reads changes of a prefix, or of exactly one key, in (after, upTo], some at a time. `undefined`: they are no longer
   * kept.
   */
  history(prefix: string, exact: boolean, after: Revision, upTo: Revision): Promise<HistoryPage | undefined>;
  /** Reads at most `limit` kept versions of a key with revisions before `before`; a log without history has none. */
  versions(key: string, before: Revision, limit: number): Promise<LogVersions>;
  /** Finds the revisions around a moment, in milliseconds since the epoch. */
  revisionsAround(at: number): Promise<RevisionsAround>;
  /**
   * Forgets history before `revision`; `versions` may return more of it. A log also does so by itself, as its options
   * say.
   */
  compact(revision: Revision): Promise<void>;
  /** Whether the current value of a key would be stored in another form if it were written again. Default: none would. */
  readonly isStale?: (key: string) => boolean;
  /**
   * A name of the forms in which values are stored now. While it is the same, also after a start, `isStale` changes only for
   * keys that are written. Left out or `undefined`: nothing is known of that.
   */
  readonly formName?: string | undefined;
  /** The bytes by which the stored forms of the current values are longer than what followers got. Default: 0. */
  readonly addedBytes?: number;
  /** The reason why the log stopped taking writes for good (a sync failed); `undefined` while it is healthy. */
  readonly failure: Error | undefined;
  /** The error of writes other than deletions while there is no room for them; `undefined` while there is. */
  readonly full: StorageFull | undefined;
  /** Refuses further writes; resolves when pending ones are answered and the log is released. */
  close(): Promise<void>;
}

/** Thrown when the log can no longer promise durability. */
export class StorageFailure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StorageFailure";
  }
}

/** Thrown when writes are refused for a reason that clients see; later ones may be accepted. */
export class StorageRefusal extends StorageFailure {}

/**
 * Thrown when a write or the log's thread failed, so that nothing can be promised any more. Only another start can find
 * out which writes are durable.
 */
export class StoreFailed extends StorageRefusal {
  constructor(reason: string, options?: ErrorOptions) {
    super(`the store has failed, and takes no writes until the server is started again: ${reason}`, options);
  }
}

/** Thrown when there is no room. Writes are accepted again as soon as there is. */
export class StorageFull extends StorageRefusal {}

/** Thrown when the log cannot be reached. What was asked for was not done, and may be tried again. */
export class Unavailable extends StorageRefusal {}

/** Thrown when a write was sent, and nobody knows whether it was done. */
export class OutcomeUnknown extends StorageRefusal {}

/** Thrown when a value is in a form that cannot be read; the message is the reason, and quotes nothing of the value. */
export class UnreadableValue extends Error {}

/** Thrown when another process has the store. */
export class StoreInUse extends StorageFailure {}

/** Thrown when acknowledged writes are missing. The message says which ones and in what file, and gives no remedy. */
export class LostWrites extends StorageFailure {}

/** Whether an answer says that the revision is compacted. */
export function isCompacted<T extends object>(answer: T | Compacted | undefined): answer is Compacted {
  return answer !== undefined && "compacted" in answer;
}
