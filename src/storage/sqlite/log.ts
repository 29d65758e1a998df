/**
 * The durable log of this process: an append-only log in one SQLite file that a worker thread owns (`log-thread.ts`). A
 * write is acknowledged only after its transaction has been synced.
 *
 * Group commit: writes of one turn of the loop are sent as one commit, at once when one client writes alone; while two
 * commits are in progress the next one grows. The worker makes one transaction of all waiting commits.
 */
import { statSync } from "node:fs";
import type { Clock } from "#std/clock.ts";
import { prefixEnd } from "#std/ordered-map.ts";

import { CommitSequencer, type KeyIndex, type PendingWrite } from "../commit-sequencer.ts";
import { CompactionTimer, type CompactionTimes } from "../compaction-timer.ts";
import {
  type CommitResult,
  type Compacted,
  everything,
  type LogVersion,
  type LogVersions,
  type LogEntry,
  type LogFollower,
  type LogRange,
  type LogRangeOptions,
  type LogStore,
  type LogWrite,
  LostWrites,
  type HistoryEvent,
  type HistoryPage,
  type Revision,
  type RevisionsAround,
  StorageFailure,
  StoreFailed,
  StorageFull,
  StoreInUse,
} from "../log-store.ts";
import type { StorageObserver } from "../memory.ts";
import type { StoreMaintenance } from "../opened-store.ts";
import { packedForm, unpack } from "../packed-value.ts";
import { logFilePath, type LogRow } from "./log-file.ts";
import { commitsUnderWayMax, type FromWorker, type LogFolder, type LogRequestOf, Mailbox } from "./messages.ts";
import { packedBytesMax, readRows, RowWriter } from "./packed-rows.ts";
import type { SharedLogThread } from "./shared-log-thread.ts";
import { type CommitSlots, ownThread, WorkerClient } from "./worker-client.ts";

/** Bounds of the history of single keys. */
export interface VersionRetention {
  /** The time for which versions are kept, in milliseconds. Left out: as long as there is room. */
  readonly ms: number | undefined;
  /** The approximate number of bytes of superseded values that are kept. Left out: as many as the disk has room for. */
  readonly bytes: number | undefined;
}

export interface SqliteLogOptions extends LogFolder, CompactionTimes {
  readonly clock: Clock;
  /**
   * The number of bytes of superseded values and deletions that are worth keeping; the log has at most some times as
   * many.
   */
  readonly historyBytes: number;
  /** Bounds of the versions of single keys that are kept beyond the history of reads. Left out: none are. */
  readonly retention?: VersionRetention | undefined;
  readonly observe?: StorageObserver;
  /** The thread that also owns other logs. Left out: the log has a thread of its own, whose writes take less time. */
  readonly thread?: SharedLogThread | undefined;
}

/** Writes that were sent to the log together. */
interface Commit {
  writes: readonly PendingWrite[];
  readonly sentAt: number;
}

/**
 * The maximum history in the log, as a multiple of the history that is worth keeping: at the start, and while the
 * process runs.
 */
const oldHistoryMax = 2;
const logHistoryMax = 16;

/**
 * The number of waiting writes that are sent to a thread of the log's own without waiting for the end of the turn. In a shared
 * thread, all writes of a turn are one transaction: it has the work of other logs to do meanwhile.
 */
const dispatchLength = 64;

/** The time between two notes of when revisions were written, and between two sweeps of history that is too old. */
const timesMs = 10_000;
const expiryMs = 60_000;

type Opening = Extract<FromWorker, { kind: "opening" }>;

export class SqliteLog implements LogStore, StoreMaintenance {
  readonly form = packedForm;
  readonly hasHistory = true;
  /** A notice about the start: a loss was accepted, or cannot be excluded. */
  readonly notice: string | undefined;
  readonly #options: SqliteLogOptions;
  readonly #slots: CommitSlots;
  readonly #worker: WorkerClient;
  readonly #log: CommitSequencer;
  readonly #compactions: CompactionTimer;
  #follower: LogFollower | undefined;
  #index: KeyIndex = noKeys;
  #compacted: Revision;
  #queue: PendingWrite[] = [];
  #isDispatchScheduled = false;
  readonly #inTransit: Commit[] = [];
  /** Whether the last commit had one write and none followed it: the next one is probably alone too. */
  #isWriterAlone = false;
  #isTrimming = false;
  #logBytes = 0;
  #forgotten: Revision;
  /** The last revision whose time is noted, and the time of the next sweep of old history (by the monotonic clock). */
  #timed: Revision = 0;
  #expiresAt = 0;
  #cancelTimes: (() => void) | undefined;
  #drained: (() => void)[] = [];
  #isClosed = false;
  /** Messages that arrived before there was a follower. */
  readonly #early: readonly FromWorker[];

  /**
   * Opens the log in `dataDir`. Rejects with `StorageFailure` when the folder is in use by another process, or the file
   * is damaged or of another layout; then nothing is changed.
   */
  static async open(options: SqliteLogOptions): Promise<SqliteLog> {
    const { dataDir, isExpected = false, acceptLoss = false, hasReserve = true, faults = {}, thread } = options;
    const start = { dataDir, isExpected, acceptLoss, hasReserve, faults };
    const mailbox = thread === undefined ? new Mailbox() : undefined;
    const slots: CommitSlots = mailbox ?? noSlots;
    const link = mailbox === undefined ? thread!.open(start) : ownThread({ ...start, mailbox: mailbox.shared });
    const worker = new WorkerClient(link, slots);
    const opened = Promise.withResolvers<Opening>();
    // The rows that the thread loads follow at once.
    const early: FromWorker[] = [];
    worker.onMessage = (message) => {
      if (typeof message === "number" || message.kind !== "opening") early.push(message);
      else opened.resolve(message);
      if (typeof message !== "number" && message.kind === "refused") opened.reject(refusal(message));
    };
    worker.onLost = (error) => opened.reject(error);
    try {
      return new SqliteLog(options, slots, worker, await opened.promise, early);
    } catch (error) {
      await worker.stop();
      throw error;
    }
  }

  private constructor(
    options: SqliteLogOptions,
    slots: CommitSlots,
    worker: WorkerClient,
    { revision, compacted, forgotten, notice }: Opening,
    early: readonly FromWorker[],
  ) {
    const { clock, observe } = options;
    this.#options = options;
    this.#slots = slots;
    this.#worker = worker;
    this.#early = early;
    this.#compacted = compacted;
    this.#forgotten = forgotten;
    this.notice = notice;
    this.#log = new CommitSequencer({ clock, expired: observe?.expired, submit: (write) => this.#submit(write) });
    this.#log.begin(revision);
    this.#compactions = new CompactionTimer(options, clock, {
      revision: () => this.revision,
      compact: (target) => this.compact(target),
    });
  }

  /** Uses the order in which the follower keeps its keys. Call it before `follow`. */
  useIndex(index: KeyIndex): void {
    this.#index = index;
  }

  get revision(): Revision {
    return this.#log.revision;
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

  get size(): StoreMaintenance["size"] {
    const file = statSync(logFilePath(this.#options.dataDir), { throwIfNoEntry: false });
    return { bytes: this.#logBytes, since: this.#forgotten, fileBytes: file?.size ?? 0 };
  }

  /** Returns the last durable revision; this process is the only writer. */
  latest(): Revision {
    return this.#log.revision;
  }

  async follow(follower: LogFollower): Promise<void> {
    this.#follower = follower;
    this.#log.follow(follower);
    const loaded = Promise.withResolvers<number>();
    const take = (message: FromWorker): void => {
      if (typeof message === "number") return;
      if (message.kind === "load") this.#load(message.rows);
      else if (message.kind === "full") this.#refusePending(message.commits, new StorageFull(message.message));
      else if (message.kind === "opened") loaded.resolve(message.logBytes);
      else if (message.kind === "refused") loaded.reject(refusal(message));
    };
    // The thread sends rows as fast as they are taken, and Node hands over many messages in one turn of the event loop. One
    // is taken in each turn, so that a million objects do not hold it for seconds.
    const waiting = [...this.#early];
    const takeNext = (): void => {
      const message = waiting.shift();
      if (message !== undefined) take(message);
      if (waiting.length > 0) setImmediate(takeNext);
    };
    this.#worker.onMessage = (message) => {
      if (waiting.push(message) === 1) setImmediate(takeNext);
    };
    this.#worker.onLost = (error) => {
      // The thread may have said why it ended.
      for (const message of waiting.splice(0)) take(message);
      loaded.reject(error);
    };
    if (waiting.length > 0) setImmediate(takeNext);
    const logBytes = await loaded.promise;
    this.#logBytes = logBytes;
    this.#worker.onMessage = (message) => this.#receive(message);
    for (const message of waiting.splice(0)) this.#receive(message);
    this.#worker.onLost = (error) => this.#fail(error);
    this.#log.start();
    this.#scheduleTimes();
    this.#compactions.start();
    void this.#trim(logBytes, oldHistoryMax);
  }

  commit(write: LogWrite): Promise<CommitResult> {
    return this.#log.commit(write);
  }

  async range(prefix: string, options: LogRangeOptions): Promise<LogRange | Compacted> {
    const { at, isKept = false } = options;
    const oldest = (): Revision => (isKept ? this.#forgotten : this.#compacted);
    // Changes that are gone cannot be undone.
    if (at < oldest()) return { compacted: oldest() };
    const from = options.from !== undefined && options.from > prefix ? options.from : prefix;
    const undone = options.undone ?? { replaced: new Map<string, Revision>(), reached: at };
    const { replaced } = undone;
    for (const key of replaced.keys()) if (key < from) replaced.delete(key);
    // More is written while the log is read: it is read until there is no more.
    while (undone.reached < this.#log.revision) {
      const upTo = this.#log.revision;
      const request = { kind: "rollback", from, to: prefixEnd(prefix), after: undone.reached, upTo } as const;
      const { keys, previous } = await this.#worker.request(request);
      for (const [i, key] of keys.entries()) if (!replaced.has(key)) replaced.set(key, previous[i]!);
      undone.reached = upTo;
    }
    const { versions, remaining } = this.#log.rangeBefore(replaced, { ...options, index: this.#index, prefix });
    const logEntries = await this.entriesAt(versions.map(({ revision }) => revision));
    if (at < oldest()) return { compacted: oldest() };
    const entries: LogEntry[] = [];
    for (const [i, entry] of logEntries.entries()) {
      if (entry !== undefined) entries.push(entry);
      // A sweep is on its way, of which the thread tells when it is done.
      else if (isKept && at < this.#compacted) return { compacted: at + 1 };
      else throw new StorageFailure(`revision ${versions[i]!.revision} is missing from the log`);
    }
    return { entries, remaining };
  }

  async history(prefix: string, exact: boolean, after: Revision, upTo: Revision): Promise<HistoryPage | undefined> {
    const { rows, times, reached } = await this.#worker.request({ kind: "history", prefix, exact, after, upTo });
    if (rows === undefined) return undefined;
    const unnoted = this.#unnotedTime();
    const events: HistoryEvent[] = [];
    const read = readRows(rows);
    for (const row of read) {
      // Safe: a row that was replaced follows the row that replaced it.
      const previous = row.previous === 0 ? undefined : entryOf(read.next().value as LogRow);
      const { key, value, revision } = entryOf(row);
      const writtenAt = times[events.length] || unnoted;
      const isDeleted = row.deleted !== 0;
      events.push({ key, value: isDeleted ? undefined : value, revision, previous, writtenAt, note: noteOf(row) });
    }
    return { events, reached };
  }

  async versions(key: string, before: Revision, limit: number): Promise<LogVersions> {
    const { rows, times, ...rest } = await this.#worker.request({ kind: "versions", key, before, limit });
    const unnoted = this.#unnotedTime();
    const versions = [...readRows(rows)].map((row, i): LogVersion => {
      const entry = entryOf(row);
      const writtenAt = times[i] === 0 ? unnoted : times[i];
      const value = row.deleted === 0 ? entry.value : undefined;
      return { ...entry, value, replaces: row.previous, writtenAt, note: noteOf(row) };
    });
    return { versions, ...rest };
  }

  async revisionsAround(at: number): Promise<RevisionsAround> {
    const { revision, following } = await this.#worker.request({ kind: "revisionAt", at });
    return { before: revision, after: following ?? everything };
  }

  async compact(revision: Revision): Promise<void> {
    if (revision <= this.#compacted) return;
    const { clock, observe } = this.#options;
    const startMs = clock.monotonic();
    this.#forget(revision);
    await this.#sweep({ revision, keepSince: this.#keepSince() });
    observe?.compaction?.(revision, (clock.monotonic() - startMs) / 1000);
    // Versions that readers can no longer ask for count from now on.
    if (this.#options.retention !== undefined) void this.#trim(this.#logBytes, logHistoryMax);
  }

  async drop(
    before: { readonly revision: Revision } | { readonly at: number },
  ): Promise<{ readonly revision: Revision; readonly bytes: number }> {
    const { revision } = "at" in before ? await this.#worker.request({ kind: "revisionAt", at: before.at }) : before;
    const target = Math.min(revision, this.revision);
    this.#forget(target);
    const bytes = await this.#sweep({ revision: target, givesBack: true });
    return { revision: target, bytes };
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelTimes?.();
    this.#compactions.stop();
    this.#log.seal();
    this.#dispatch();
    if (this.#inTransit.length > 0 || this.#queue.length > 0) {
      await new Promise<void>((resolve) => this.#drained.push(resolve));
    }
    await this.#noteTime();
    await this.#worker.stop();
  }

  async backup(file: string): Promise<Revision> {
    const { revision } = await this.#worker.request({ kind: "backup", file });
    return revision;
  }

  async probe(): Promise<void> {
    await this.entriesAt([]);
  }

  /** Reads the rows of these revisions; `undefined` for a row that is gone. */
  async entriesAt(revisions: readonly Revision[]): Promise<readonly (LogEntry | undefined)[]> {
    const { rows } = await this.#worker.request({ kind: "rows", revisions });
    const entries = new Map<Revision, LogEntry>();
    for (const row of readRows(rows)) entries.set(row.revision, entryOf(row));
    return revisions.map((revision) => entries.get(revision));
  }

  /** Returns number and sum (`digestSum`) of the revisions of entries that were current at a revision. */
  digest(revision: Revision): Promise<{ readonly keys: number; readonly sum: number }> {
    return this.#worker.request({ kind: "digest", revision });
  }

  #load(rows: Uint8Array): void {
    for (const { key, value, revision, expires } of readRows(rows)) {
      this.#log.load({ key, value: unpack(value), revision }, expires);
    }
    const buffer = rows.buffer as ArrayBuffer;
    this.#worker.send({ kind: "loaded", buffer }, [buffer]);
  }

  #receive(message: FromWorker): void {
    if (typeof message === "number") this.#committed(message);
    else if (message.kind === "full") this.#refusePending(message.commits, new StorageFull(message.message));
    else if (message.kind === "hasRoom") this.#log.full = undefined;
    else if (message.kind === "grown") {
      this.#logBytes = message.logBytes;
      void this.#trim(message.logBytes, logHistoryMax);
    } else if (message.kind === "failed") {
      this.#fail(new StoreFailed(`a write failed (${message.message})`));
    }
  }

  /** Notes that readers can no longer go back before `revision`. */
  #forget(revision: Revision): void {
    if (revision <= this.#compacted) return;
    this.#compacted = revision;
    this.#follower?.compacted(revision);
  }

  /** Returns the time of a version that has none yet: it was written since the last note of one. */
  #unnotedTime(): number | undefined {
    const { clock, retention } = this.#options;
    return retention === undefined ? undefined : clock.now();
  }

  /**
   * Returns the time since which replaced versions are kept; `undefined`: only those that readers may go back to are.
   */
  #keepSince(): number | undefined {
    const { clock, retention } = this.#options;
    if (retention === undefined) return undefined;
    return retention.ms === undefined ? 0 : clock.now() - retention.ms;
  }

  #scheduleTimes(): void {
    const { clock, retention } = this.#options;
    if (retention === undefined || this.#isClosed) return;
    this.#cancelTimes = clock.after(timesMs, () => {
      this.#scheduleTimes();
      void this.#noteTime();
      const now = clock.monotonic();
      if (retention.ms === undefined || now < this.#expiresAt) return;
      this.#expiresAt = now + expiryMs;
      // A log that cannot be compacted cannot be written either, which `failure` will report.
      this.#sweep({ revision: this.#compacted, keepSince: this.#keepSince() }).catch(() => undefined);
    });
  }

  /**
   * Notes the present time for all that was written since the last note. Versions without a note are only kept longer.
   */
  async #noteTime(): Promise<void> {
    const { revision } = this;
    if (this.#options.retention === undefined || revision === this.#timed) return;
    this.#timed = revision;
    await this.#worker.request({ kind: "noteTime", revision, at: this.#options.clock.now() }).catch(() => undefined);
  }

  /**
   * Compacts a log with more than `max` times the history that is worth keeping, down to half of that. Compaction by
   * time does not bound it: a process may end before its first compaction, and a busy one may write much in little
   * time.
   */
  async #trim(bytes: number, max: number): Promise<void> {
    const superseded = bytes - this.#index.valueBytes;
    const { retention, historyBytes } = this.#options;
    const readersMax = max * historyBytes;
    const bytesMax = retention === undefined ? readersMax : (retention.bytes ?? Number.POSITIVE_INFINITY);
    if (this.#isTrimming || superseded <= bytesMax || this.#keepsAll) return;
    this.#isTrimming = true;
    try {
      // Versions that readers may go back to are dropped only if history exceeds their limit, too.
      const isTooMuch = superseded > readersMax;
      const targetBytes = Math.max(
        bytesMax * (retention === undefined ? 1 / 2 : 3 / 4),
        isTooMuch ? readersMax / 2 : 0,
      );
      const { revision } = await this.#worker.request({ kind: "startOfYoungest", bytes: targetBytes });
      if (isTooMuch) await this.#dropAll(Math.min(revision, this.revision));
      else await this.#sweep({ revision: Math.min(revision, this.#compacted) });
    } catch {
      // A log that cannot be compacted cannot be written either, which `failure` will report.
    } finally {
      this.#isTrimming = false;
    }
  }

  /** Drops history before `revision`, also versions that would be kept for longer. */
  async #dropAll(revision: Revision): Promise<void> {
    this.#forget(revision);
    await this.#sweep({ revision });
  }

  /** Lets the thread drop rows; resolves with the bytes by which the file shrank. */
  async #sweep(request: Omit<LogRequestOf<"compact">, "kind">): Promise<number> {
    const { bytes, logBytes, forgotten } = await this.#worker.request({ kind: "compact", ...request });
    this.#logBytes = logBytes;
    this.#forgotten = forgotten;
    return bytes;
  }

  #submit(write: PendingWrite): void {
    this.#queue.push(write);
    const length = this.#options.thread === undefined ? dispatchLength : Number.POSITIVE_INFINITY;
    // These writes keep the worker busy while this turn writes more.
    if ((this.#isWriterAlone && this.#inTransit.length === 0) || this.#queue.length >= length) this.#dispatch();
    else this.#scheduleDispatch();
  }

  #scheduleDispatch(): void {
    if (this.#isDispatchScheduled || this.#queue.length === 0 || this.#inTransit.length >= commitsUnderWayMax) return;
    this.#isDispatchScheduled = true;
    setImmediate(() => {
      this.#isDispatchScheduled = false;
      this.#dispatch();
    });
  }

  /** Sends waiting writes, unless the mailbox is full of pending commits. */
  #dispatch(): void {
    if (this.failure !== undefined || this.#inTransit.length === commitsUnderWayMax) return;
    const writes = this.#queue;
    if (writes.length === 0) return;
    this.#queue = [];
    let capacityBytes = 0;
    for (const write of writes) capacityBytes += packedBytesMax(write);
    const slot = this.#slots.slot(capacityBytes);
    const writer = new RowWriter(slot ?? capacityBytes);
    for (const write of writes) writer.addWrite(write);
    this.#inTransit.push({ writes, sentAt: this.#options.clock.monotonic() });
    if (slot === undefined) {
      const rows = writer.take();
      this.#worker.send({ kind: "commit", rows }, [rows.buffer]);
    }
    this.#slots.post(slot === undefined ? undefined : writer.length);
  }

  #committed(revision: Revision): void {
    const { clock, observe } = this.#options;
    for (let sent = this.#inTransit[0]; sent !== undefined; sent = this.#inTransit[0]) {
      const last = sent.writes.at(-1);
      if (last === undefined || last.revision > revision) break;
      this.#inTransit.shift();
      const { writes, sentAt } = sent;
      this.#isWriterAlone = writes.length === 1 && this.#inTransit.length === 0 && this.#queue.length === 0;
      for (const write of writes) this.#log.acknowledge(write);
      observe?.commit?.(writes.length, (clock.monotonic() - sentAt) / 1000);
    }
    if (this.full !== undefined) void this.#makeRoom();
    this.#scheduleDispatch();
    this.#wakeDrained();
  }

  #fail(error: Error): void {
    if (this.failure === undefined) this.#options.observe?.failed?.(error);
    this.#log.fail(error, this.#takeUnacknowledged());
    this.#inTransit.length = 0;
    this.#wakeDrained();
  }

  /**
   * Returns all writes that have a revision and are not durable. Commits in progress become empty until they are
   * answered.
   */
  #takeUnacknowledged(): readonly PendingWrite[] {
    const writes = [...this.#inTransit.flatMap((sent) => sent.writes), ...this.#queue];
    for (const sent of this.#inTransit) sent.writes = [];
    this.#queue = [];
    return writes;
  }

  /**
   * Refuses pending commits after the first `count` of them found no room. Later ones are refused as well, since their
   * revisions would not follow the log's; all their writers are notified at once.
   */
  #refusePending(count: number, error: StorageFull): void {
    const isNews = this.#inTransit.slice(0, count).some((sent) => sent.writes.length > 0);
    this.#log.full = error;
    if (isNews) this.#log.refuse(error, this.#takeUnacknowledged());
    this.#inTransit.splice(0, count);
    void this.#makeRoom();
    this.#scheduleDispatch();
    this.#wakeDrained();
  }

  /** Whether only requests for compaction drop history, whatever its size is. */
  get #keepsAll(): boolean {
    return this.#options.compactionIntervalMs === 0;
  }

  /** Drops history to make room for the next write. */
  async #makeRoom(): Promise<void> {
    if (this.#isTrimming || this.#keepsAll) return;
    this.#isTrimming = true;
    try {
      await this.#dropAll(this.revision);
    } catch {
      // There was no room for the compaction either.
    } finally {
      this.#isTrimming = false;
    }
  }

  #wakeDrained(): void {
    if (this.#inTransit.length > 0 || this.#queue.length > 0) return;
    for (const wake of this.#drained) wake();
    this.#drained = [];
  }
}

/** The slots of a log in a shared thread, whose commits are messages. */
const noSlots: CommitSlots = { slot: () => undefined, post: () => undefined, call: () => undefined };

function refusal({ message, why }: Extract<FromWorker, { kind: "refused" }>): StorageFailure {
  const Failure = why === "loss" ? LostWrites : why === "use" ? StoreInUse : StorageFailure;
  return new Failure(message);
}

/** Makes an entry with bytes of its own, so that it does not keep the whole answer alive. */
function entryOf({ key, value, revision }: LogRow): LogEntry {
  return { key, value: unpack(Buffer.from(value)), revision };
}

/** Returns the note of a deletion; `undefined` if the row has none. */
const noteOf = ({ deleted, value }: LogRow): string | undefined =>
  deleted === 0 || value.length === 0 ? undefined : Buffer.from(value).toString();

/** The index of a log that nobody follows. */
const noKeys: KeyIndex = { valueBytes: 0, scanKeys: () => undefined, countKeys: () => 0 };
