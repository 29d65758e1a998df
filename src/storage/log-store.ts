/**
 * The durable half of storage: versions of values under keys, in one sequence of revisions. It stores bytes and knows
 * no objects. All its operations are asynchronous, so it can be remote; frequent reads use the `WatchCache` above it.
 * Implementations: `memory.ts`, `sqlite.ts`, both over `commit-sequencer.ts`; around another log, those of `forwarding-log.ts`.
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
  /** Seconds after which the key goes by itself; 0 for never. */
  readonly ttlSeconds: number;
  /** A step of a deletion: it passes while there is no room for other writes, as deletions do. */
  readonly isForDeletion: boolean;
  /**
   * Tells whether the writer still may, when all else is right and the write gets its revision. False refuses it with
   * `WriterReplaced`, so that no write of a leader follows one of its successor.
   */
  readonly mayWrite: (() => boolean) | undefined;
}

/** A value without the digits of its revision (`versioned-value.ts`). */
export interface Unversioned {
  readonly bytes: Buffer;
  /** The offset in the bytes at which the digits of the revision belong; -1: the value shows none. */
  readonly revisionOffset: number;
}

/** A failed precondition is an answer, not an error. `revision` is the log's when it compared. */
export type CommitResult = { readonly committed: boolean; readonly revision: Revision };

/** One version of one key. */
export interface LogEntry {
  readonly key: string;
  /** The value as written (`versioned-value.ts`). It belongs to the log; followers keep a copy. */
  readonly value: Unversioned;
  readonly revision: Revision;
  /** Milliseconds since the epoch at which the key goes, 0 for never. */
  readonly expiresAt: number;
  /** The reason why the value cannot be read; the value is then empty. */
  readonly unreadable?: string;
}

/** One change of one key. */
export interface LogEvent extends Omit<LogEntry, "value"> {
  /** `undefined`: the key was deleted. */
  readonly value: Unversioned | undefined;
}

/** A change of the past, with what it replaced. */
export interface HistoryEvent extends LogEvent {
  readonly previous: LogEntry | undefined;
}

/** Some of the changes in (after, upTo], in order; `reached` is how far the reading got. */
export interface HistoryPage {
  readonly events: readonly HistoryEvent[];
  readonly reached: Revision;
}

/** A version of one key that the log keeps, or its deletion. */
export interface LogVersion extends Omit<LogEvent, "expiresAt"> {
  /** The revision of the version it replaced; 0: there was none. */
  readonly replaces: Revision;
  /** Milliseconds since the epoch shortly after it was written; `undefined`: the log does not know. */
  readonly writtenAt: number | undefined;
}

/** Some versions of one key, newest first. Fewer than asked for, or none, says nothing about the rest. */
export interface LogVersions {
  readonly versions: readonly LogVersion[];
  /** Versions before this revision come next; 0: there are none. */
  readonly next: Revision;
  /** All versions that were current after this revision are kept. */
  readonly since: Revision;
  /** Milliseconds since the epoch until which changes are gone, about. */
  readonly sinceMs: number | undefined;
}

/** The keys that a range reads, and the revision at which it reads them. */
export interface LogRangeOptions {
  /** First key wanted (inclusive); default: the prefix itself. */
  readonly from?: string;
  /** Most entries wanted; default: all. */
  readonly limit?: number;
  /** The state at this revision. */
  readonly at: Revision;
}

export interface LogRange {
  readonly entries: readonly LogEntry[];
  /** The number of keys of the prefix that follow after the last entry. */
  readonly remaining: number;
}

/** A revision asked for that is no longer kept. */
export interface Compacted {
  readonly compacted: Revision;
}

/** A follower of the log from its first state on. Called synchronously, in the order of revisions. */
export interface LogFollower {
  /** The current entries, key by key, before the first change. */
  load(entry: LogEntry): void;
  /** A change that is durable. `write`: the writer's own request, when this process made the change. */
  changed(event: LogEvent, write: LogWrite | undefined): void;
  /** History up to this revision is gone. */
  compacted(revision: Revision): void;
  /** Versions given as unreadable before, some of them superseded meanwhile, which can be read now. */
  recovered(entries: readonly LogEntry[]): void;
  /** Bytes of values that the follower holds: all that is current, and little else. */
  readonly valueBytes: number;
  /** Visits the current keys in [from, to) in order until `visit` returns false: a log here need not order them too. */
  scanKeys(from: string, to: string | undefined, visit: (key: string) => boolean): void;
  /** Counts the current keys in [from, to). */
  countKeys(from: string, to: string | undefined): number;
}

export interface LogStore {
  /** Tells `follower` all there is and everything that changes from then on. Once, before anything else. */
  follow(follower: LogFollower): Promise<void>;
  /** The revision that the follower has reached, or will have when all is loaded. */
  readonly revision: Revision;
  /** Oldest revision that can still be read. */
  readonly compactedRevision: Revision;
  /** Whether `range` and `history` can show earlier revisions; else both answer that they are compacted. */
  readonly hasHistory: boolean;
  /** The last revision of the log, including other writers. */
  latest(): MaybePromise<Revision>;
  /**
   * Resolves once the write is durable, or its precondition has failed; preconditions see earlier writes, acknowledged
   * or not. The follower may get the change before or after its commit resolves. Rejects with `StorageFailure` when
   * durability can no longer be promised, with `StorageFull` while there is no room.
   */
  commit(write: LogWrite): Promise<CommitResult>;
  /** The keys that start with `prefix`, in order, as they were at a revision. */
  range(prefix: string, options: LogRangeOptions): Promise<LogRange | Compacted>;
  /** Changes of a prefix, or of exactly one key, in (after, upTo], some at a time. `undefined`: no longer kept. */
  history(prefix: string, exact: boolean, after: Revision, upTo: Revision): Promise<HistoryPage | undefined>;
  /** Reads at most `limit` kept versions of a key with revisions before `before`; a log without history has none. */
  versions(key: string, before: Revision, limit: number): Promise<LogVersions>;
  /** Forgets history before `revision`; `versions` may show more of it. */
  compact(revision: Revision): Promise<void>;
  /** Whether the current value of a key would be stored in another form if it were written again. Default: none would. */
  readonly isStale?: (key: string) => boolean;
  /** The reason why the log stopped taking writes for good (a sync failed); `undefined` while it is healthy. */
  readonly failure: Error | undefined;
  /** The error of writes other than deletions while there is no room for them; `undefined` while there is. */
  readonly full: StorageFull | undefined;
  /** Refuses further writes; resolves when pending ones are answered and the log is released. */
  close(): Promise<void>;
}

/** The log can no longer promise durability. */
export class StorageFailure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StorageFailure";
  }
}

/** Writes are refused for a reason that clients are told; later ones may pass. */
export class StorageRefusal extends StorageFailure {}

/** A write or the log's thread failed, so nothing can be promised any more. Only another start can tell what is durable. */
export class StoreFailed extends StorageRefusal {
  constructor(reason: string, options?: ErrorOptions) {
    super(`the store has failed, and takes no writes until the server is started again: ${reason}`, options);
  }
}

/** There is no room. Writes pass again by themselves when there is. */
export class StorageFull extends StorageRefusal {}

/** The writer may not write any more: another took its place. */
export class WriterReplaced extends StorageRefusal {}

/** Another process has the store. */
export class StoreInUse extends StorageFailure {}

/** Acknowledged writes are missing. The message says which ones and in what file, and gives no remedy. */
export class LostWrites extends StorageFailure {}

/** Whether an answer says that the revision is compacted. */
export function isCompacted<T extends object>(answer: T | Compacted | undefined): answer is Compacted {
  return answer !== undefined && "compacted" in answer;
}
