/**
 * Sequences the commits of this process for a log: it knows the revision of each key, checks preconditions against
 * pending writes, gives revisions in order, and deletes expired keys. The owner makes writes durable: it gets each with
 * its revision through `submit`, and answers by `acknowledge`, `refuse` or `fail`.
 *
 * Hot path: one map lookup for each commit and each acknowledgement.
 */
import type { Clock } from "#std/clock.ts";
import { prefixEnd } from "#std/ordered-map.ts";

import { Expiry } from "./expiry.ts";
import {
  type CommitResult,
  type KeyCondition,
  type LogEntry,
  type LogEvent,
  type LogFollower,
  type LogRangeOptions,
  type LogWrite,
  type Revision,
  StorageFailure,
  type StorageFull,
  type Unversioned,
} from "./log-store.ts";

/** A write that was sent to the log, with its revision. It becomes the event. */
export class PendingWrite implements LogEvent {
  readonly write: LogWrite;
  readonly key: string;
  readonly value: Unversioned | undefined;
  readonly revision: Revision;
  /** The revision of the version that it replaces, which may be pending itself; 0 when there is none. */
  readonly replaces: Revision;
  /** The time at which the key expires, in milliseconds since the epoch; 0 for never. */
  readonly expiresAt: number;
  /** The result for the writer. */
  readonly promise: Promise<CommitResult>;
  resolve!: (result: CommitResult) => void;
  reject!: (error: Error) => void;
  /**
   * The revision of the key's durable version; 0 when there is none. It is up to date in the key's newest pending
   * write.
   */
  durable: Revision = 0;
  /** Writers that wait for the outcome, and then compare again. */
  waiters: (() => void)[] | undefined = undefined;

  constructor(write: LogWrite, key: string, revision: Revision, replaces: Revision, expiresAt: number) {
    this.write = write;
    this.key = key;
    this.value = write.value;
    this.revision = revision;
    this.replaces = replaces;
    this.expiresAt = expiresAt;
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }
}

interface CommitSequencerOptions {
  readonly clock: Clock;
  /** Called when expired keys have been deleted, with their number. */
  readonly expired?: ((keys: number) => void) | undefined;
  /** Makes a write durable. Without it every write is durable at once. */
  readonly submit?: (write: PendingWrite) => void;
}

/**
 * The keys at an earlier revision, derived from later changes: the revision that the first later change replaced, 0 for
 * none.
 */
type Rollback = ReadonlyMap<string, Revision>;

/** A key and the revision of its version. */
interface KeyRevision {
  readonly key: string;
  readonly revision: Revision;
}

/** The current keys of a follower, which keeps them in order, so that its log need not. */
export interface KeyIndex {
  /** The bytes of the stored forms of all values that the follower keeps: those of current entries, and few others. */
  readonly valueBytes: number;
  /** Visits the current keys in [from, to) in order until `visit` returns false. */
  scanKeys(from: string, to: string | undefined, visit: (key: string) => boolean): void;
  /** Counts the current keys in [from, to). */
  countKeys(from: string, to: string | undefined): number;
}

/** The part of a log that is read: keys with a prefix. */
interface RangeBefore extends Omit<LogRangeOptions, "at"> {
  readonly index: KeyIndex;
  readonly prefix: string;
}

const expirySweepMs = 50;
const expirySweepKeys = 256;
const hourMs = 60 * 60 * 1000;

export class CommitSequencer {
  readonly #options: CommitSequencerOptions;
  /**
   * The revision of the durable version of each key, or its newest write that is not durable yet. There is one map,
   * since entries that come and go with every write would keep garbage alive (`std/linked-list.ts`).
   */
  readonly #keys = new Map<string, Revision | PendingWrite>();
  readonly #expiry = new Expiry((key, revision) => this.#durableRevision(key) === revision);
  #follower: LogFollower | undefined;
  /** The last revision given to a write, and the last durable one. */
  #lastAssigned: Revision = 0;
  #durable: Revision = 0;
  #isClosed = false;
  #cancelExpiry: (() => void) | undefined;
  /** The time at which the expiry timer is due; infinite while there is none, negative while a sweep runs. */
  #expiryAt = Number.POSITIVE_INFINITY;
  failure: Error | undefined;
  /** Refuses writes that are no part of a deletion, while it is set. */
  full: StorageFull | undefined;

  constructor(options: CommitSequencerOptions) {
    this.#options = options;
  }

  /** The last revision that is durable. */
  get revision(): Revision {
    return this.#durable;
  }

  /** Sets the revision after which new revisions continue. Call it before the first write. */
  begin(revision: Revision): void {
    this.#lastAssigned = this.#durable = revision;
  }

  /** Delivers every change from now on to `follower`. */
  follow(follower: LogFollower): void {
    this.#follower = follower;
  }

  /** Adds an existing version, which expires at `expiresAt`, and delivers it. Call it before the first write. */
  load(entry: LogEntry, expiresAt: number): void {
    const { key, revision } = entry;
    this.#keys.set(key, revision);
    if (expiresAt !== 0) this.#expiry.add({ key, revision, expiresAt });
    this.#follower?.load(entry);
  }

  /** Begins to let keys expire; called after the last `load`. */
  start(): void {
    this.#scheduleExpiry();
  }

  commit(write: LogWrite): Promise<CommitResult> {
    const { key, expected, value, ttlSeconds } = write;
    if (this.failure !== undefined) return Promise.reject(asFailure(this.failure));
    if (this.#isClosed) return Promise.reject(new StorageFailure("the store is closed"));
    if (this.full !== undefined && !write.isForDeletion) return Promise.reject(this.full);
    const latest = this.#keys.get(key) ?? 0;
    const pending = typeof latest === "number" ? undefined : latest;
    const durable = typeof latest === "number" ? latest : latest.durable;
    const replaces = pending === undefined ? durable : pending.value === undefined ? 0 : pending.revision;
    if (replaces !== expected || (value === undefined && expected === 0)) {
      // A revision is never used again, and a key that exists is not absent: so the durable version may already decide
      // the comparison.
      if (pending === undefined || durable !== expected) {
        return Promise.resolve({ committed: false, revision: this.#durable, failed: "key" });
      }
      return this.#commitAfter(pending, write);
    }
    // A key may be a slice of a larger string, which it would keep alive: make it a string of its own.
    const own = replaces === 0 ? Buffer.from(key, "utf8").toString("utf8") : key;
    if (own !== key) return Promise.reject(new Error("a key must be well-formed text"));
    // A turn is always right: all writers of this log are in this process.
    for (const condition of write.requires) {
      const other = this.#keys.get(condition.key) ?? 0;
      if (holds(condition, other)) continue;
      // The writer must find what it has lost to, so that must be durable.
      if (typeof other !== "number") return this.#commitAfter(other, write);
      return Promise.resolve({ committed: false, revision: this.#durable, failed: "requires" });
    }
    const revision = ++this.#lastAssigned;
    const expiresAt = ttlSeconds > 0 ? this.#options.clock.now() + ttlSeconds * 1000 : 0;
    const { submit } = this.#options;
    const submitted = new PendingWrite(write, own, revision, replaces, expiresAt);
    submitted.durable = durable;
    if (submit === undefined) {
      this.#apply(submitted);
    } else {
      this.#keys.set(own, submitted);
      submit(submitted);
    }
    return submitted.promise;
  }

  /** Marks a write as durable. Called in the order of revisions. */
  acknowledge(write: PendingWrite): void {
    this.#apply(write);
    if (write.waiters !== undefined) for (const wake of write.waiters) wake();
  }

  /** Stops taking writes. `writes` are all pending ones, and did not become durable. */
  fail(error: Error, writes: readonly PendingWrite[]): void {
    this.failure ??= error;
    this.refuse(error, writes);
  }

  /** Refuses `writes`, which are all pending ones: they did not become durable, and their revisions are used again. */
  refuse(error: Error, writes: readonly PendingWrite[]): void {
    this.#lastAssigned = this.#durable;
    for (const { key } of writes) this.#setDurable(key, this.#durableRevision(key));
    for (const { reject, waiters } of writes) {
      reject(asFailure(error));
      if (waiters !== undefined) for (const wake of waiters) wake();
    }
  }

  /** Refuses later writes and stops the timers; pending writes may still be acknowledged. */
  seal(): void {
    this.#isClosed = true;
    this.#cancelExpiry?.();
  }

  /**
   * Returns the keys that start with `prefix` as they were before the changes of `rollback`, and how many follow after
   * the last of them. The keys of `index` are those of all durable changes.
   */
  rangeBefore(
    rollback: Rollback,
    { index, prefix, from = prefix, limit = Number.POSITIVE_INFINITY }: RangeBefore,
  ): { readonly versions: readonly KeyRevision[]; readonly remaining: number } {
    const first = from > prefix ? from : prefix;
    const end = prefixEnd(prefix);
    const changed = [...rollback].filter(([key]) => key >= first && (end === undefined || key < end));
    changed.sort(([a], [b]) => (a < b ? -1 : 1));
    const versions: KeyRevision[] = [];
    let next = 0;
    const addChangedBefore = (key: string | undefined): void => {
      for (; next < changed.length && versions.length < limit; next++) {
        const [name, revision] = changed[next]!;
        if (key !== undefined && name >= key) return;
        if (revision !== 0) versions.push({ key: name, revision });
      }
    };
    index.scanKeys(first, end, (key) => {
      addChangedBefore(key);
      if (versions.length === limit) return false;
      if (!rollback.has(key)) versions.push({ key, revision: this.#durableRevision(key) });
      return versions.length < limit;
    });
    addChangedBefore(undefined);
    if (versions.length < limit) return { versions, remaining: 0 };
    const after = limit === 0 ? first : `${versions[limit - 1]!.key}\u0000`;
    let remaining = index.countKeys(after, end);
    for (const [key, revision] of changed) {
      if (key >= after) remaining += (revision !== 0 ? 1 : 0) - (this.#durableRevision(key) === 0 ? 0 : 1);
    }
    return { versions, remaining };
  }

  #apply(event: PendingWrite): void {
    const { key, value, revision, expiresAt } = event;
    const newest = this.#keys.get(key);
    const durable = value === undefined ? 0 : revision;
    if (typeof newest === "object" && newest !== event) newest.durable = durable;
    else this.#setDurable(key, durable);
    this.#durable = revision;
    if (expiresAt !== 0) {
      this.#expiry.add({ key, revision, expiresAt });
      this.#scheduleExpiry();
    }
    this.#follower?.changed([event]);
    event.resolve({ committed: true, revision });
  }

  /** Commits a write when another one is durable or refused. */
  async #commitAfter(pending: PendingWrite, write: LogWrite): Promise<CommitResult> {
    await new Promise<void>((resolve) => {
      pending.waiters ??= [];
      pending.waiters.push(resolve);
    });
    return this.commit(write);
  }

  /** Returns the revision of the durable version; 0 for a key that does not exist. */
  #durableRevision(key: string): Revision {
    const latest = this.#keys.get(key) ?? 0;
    return typeof latest === "number" ? latest : latest.durable;
  }

  /** Notes a durable version of a key without pending writes. */
  #setDurable(key: string, revision: Revision): void {
    if (revision === 0) this.#keys.delete(key);
    else this.#keys.set(key, revision);
  }

  #scheduleExpiry(): void {
    const { next } = this.#expiry;
    if (next === undefined || next >= this.#expiryAt || this.#isClosed) return;
    this.#cancelExpiry?.();
    this.#expiryAt = next;
    const waitMs = Math.min(Math.max(next - this.#options.clock.now(), expirySweepMs), hourMs);
    this.#cancelExpiry = this.#options.clock.after(waitMs, () => void this.#sweepExpired());
  }

  async #sweepExpired(): Promise<void> {
    this.#expiryAt = Number.NEGATIVE_INFINITY;
    const due = this.#expiry.take(this.#options.clock.now(), expirySweepKeys);
    const removals = due.map(({ key, revision }) =>
      this.commit({
        key,
        expected: revision,
        value: undefined,
        ttlSeconds: 0,
        isForDeletion: true,
        requires: [],
        turn: undefined,
        note: undefined,
      }),
    );
    const outcomes = await Promise.allSettled(removals);
    const removed = outcomes.filter((outcome) => outcome.status === "fulfilled" && outcome.value.committed).length;
    if (removed > 0) this.#options.expired?.(removed);
    this.#expiryAt = Number.POSITIVE_INFINITY;
    if (this.failure === undefined) this.#scheduleExpiry();
  }
}

/** Whether a condition holds, given the latest version of its key, acknowledged or not. */
function holds({ revision }: KeyCondition, latest: Revision | PendingWrite): boolean {
  if (typeof latest === "number") return latest === revision;
  return revision === (latest.value === undefined ? 0 : latest.revision);
}

function asFailure(error: Error): StorageFailure {
  return error instanceof StorageFailure ? error : new StorageFailure(error.message, { cause: error });
}
