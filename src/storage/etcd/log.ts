/**
 * The log of several servers: a cluster of etcd. Revisions are those of etcd, conditions are compared in its
 * transactions, and changes come by a watch (`feed.ts`). A write whose answer is lost is sent again: its comparison makes
 * that safe, and the events of the watch tell what became of it.
 */
import { type Clock, pause } from "#std/clock.ts";
import { prefixEnd } from "#std/ordered-map.ts";
import type { Random } from "#std/random.ts";

import {
  type CommitResult,
  type Compacted,
  everything,
  type FailedCondition,
  type HistoryEvent,
  type HistoryPage,
  type LogEntry,
  type LogFollower,
  type LogRange,
  type LogRangeOptions,
  type LogStore,
  type LogVersion,
  type LogVersions,
  type LogWrite,
  OutcomeUnknown,
  type Revision,
  type RevisionsAround,
  StorageFailure,
  StorageFull,
  Unavailable,
  type ValueForm,
} from "../log-store.ts";
import {
  type Comparison,
  type EtcdCallOptions,
  type EtcdClient,
  EtcdError,
  type EtcdOperation,
  type KeyValue,
  type Transaction,
  type TransactionAnswer,
} from "./client.ts";
import { Compaction } from "./compaction.ts";
import { isPassing, readError, replacedError, writeError } from "./errors.ts";
import { Feed, shownEntry, startError } from "./feed.ts";
import { Fence } from "./fence.ts";
import { FreshRounds } from "./fresh-rounds.ts";
import type { EtcdKeys } from "./keys.ts";
import { Leases } from "./leases.ts";
import { type OwnWrite, OwnWrites } from "./own-writes.ts";
import { readPages } from "./pages.ts";
import { jsonForm, type ReadForeign } from "./stored-json.ts";
import { TakenTurns } from "./taken-turns.ts";
import { WriteOrder } from "./write-order.ts";

interface EtcdLogOptions {
  readonly client: EtcdClient;
  readonly keys: EtcdKeys;
  readonly clock: Clock;
  readonly random: Random;
  /** Reads the values of other programs. */
  readonly readForeign: ReadForeign;
  /** The time between two compactions; 0 for never. */
  readonly compactionIntervalMs: number;
  /** The longest time, in seconds, for which keys join a lease. */
  readonly leaseReuseSeconds: number;
  /** The number of revisions that a watch may be behind before everything is read again; 20,000 when left out. */
  readonly missedMax?: number;
}

/** The time of one try of a write, and of all of them, with those of earlier writes that it waits for. */
const tryMs = 2000;
const commitMs = 10_000;
/** The time in which a read of the present must be answered. */
const freshMs = 3000;
/** The time of reads of the past. */
const readMs = 10_000;
const backOffMs = 50;
/** The time after which a watch that does not tell of a change is thought to be silent, and that of a question then. */
const silenceMs = 500;
const probeMs = 1000;
/** The bytes of values after which a page of history ends. */
const historyBytesMax = 4 * 1024 * 1024;
/** The number of revisions that a watch may begin in the past. */
const historyMax = 10_000;
const lostChanges = "the changes that say whether the write was done were lost";

export class EtcdLog implements LogStore {
  readonly hasHistory = true;
  readonly isShared = true;
  readonly form: ValueForm;
  readonly #options: EtcdLogOptions;
  readonly #own = new OwnWrites();
  readonly #turns = new TakenTurns();
  readonly #order = new WriteOrder();
  readonly #feed: Feed;
  readonly #fresh: FreshRounds;
  readonly #leases: Leases;
  readonly #fence: Fence;
  readonly #compaction: Compaction;
  readonly #closing = new AbortController();
  /** The name of this process, which no other has. */
  readonly #id: string;
  /** The number of turns that were put: no two versions are alike, also where etcd was put back between. */
  #turnsPut = 0;
  #follower: LogFollower | undefined;
  failure: Error | undefined;
  full: StorageFull | undefined;
  compactedRevision: Revision = 0;
  /** Is told of each try of a write whether it had an answer. */
  observeWrites: (isDone: boolean) => void = () => undefined;

  /** Opens the log at the present revision of the cluster. Rejects with a `StorageFailure`. */
  static async open(options: EtcdLogOptions): Promise<EtcdLog> {
    const log = new EtcdLog(options);
    try {
      await log.#feed.prepare();
    } catch (error) {
      throw startError(error);
    }
    return log;
  }

  private constructor(options: EtcdLogOptions) {
    const { client, clock, random, keys, compactionIntervalMs, leaseReuseSeconds } = options;
    this.#options = options;
    this.form = jsonForm((key) => keys.toEtcd(key), options.readForeign);
    this.#feed = new Feed({
      ...options,
      form: this.form,
      own: this.#own,
      failed: (error) => (this.failure = replacedError(error)),
    });
    this.#fresh = new FreshRounds(client, {
      timeoutMs: freshMs,
      clock,
      signal: this.#closing.signal,
      reached: (revision) => this.#feed.until(revision, freshMs),
    });
    this.#leases = new Leases(client, clock, leaseReuseSeconds);
    const id = random.uuid();
    this.#id = id;
    this.#fence = new Fence(client, this.#leases, keys.fence(id));
    this.#compaction = new Compaction({
      client,
      clock,
      intervalMs: compactionIntervalMs,
      call: { timeoutMs: readMs },
      compacted: (revision) => this.#compacted(revision),
    });
  }

  get revision(): Revision {
    return this.#feed.heard;
  }

  async follow(follower: LogFollower): Promise<void> {
    this.#follower = follower;
    try {
      await this.#feed.start(follower);
    } catch (error) {
      throw startError(error);
    }
    this.#compaction.start();
  }

  /** Resolves with a revision that the cluster had after the call, when everything up to it was heard. */
  async latest(): Promise<Revision> {
    try {
      return await this.#fresh.latest();
    } catch (error) {
      throw error instanceof EtcdError ? readError(error) : error;
    }
  }

  commit(write: LogWrite): Promise<CommitResult> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    if (this.#closing.signal.aborted) return Promise.reject(new StorageFailure("the store is closed"));
    if (!write.key.isWellFormed()) return Promise.reject(new Error("a key must be well-formed text"));
    const { expected, turn, value } = write;
    if (value === undefined && expected === 0) {
      return Promise.resolve({ committed: false, revision: this.revision, failed: "key" });
    }
    const { keys } = this.#options;
    const key = keys.toEtcd(write.key);
    const names = turn === undefined ? [key] : [key, keys.turn(turn.name)];
    const required = write.requires.map((condition) => keys.toEtcd(condition.key));
    const endMs = this.#options.clock.monotonic() + commitMs;
    return this.#order.run(names, () => this.#write(key, write, endMs), required);
  }

  async range(prefix: string, { at, from = prefix, limit }: LogRangeOptions): Promise<LogRange | Compacted> {
    const { client, keys } = this.#options;
    const start = keys.toEtcd(from > prefix ? from : prefix);
    const end = prefixEnd(keys.toEtcd(prefix))!;
    const range = { key: start, end, revision: at, ...(limit === undefined ? {} : { limit }) };
    const entries: LogEntry[] = [];
    try {
      const remaining = await readPages(client, range, { timeoutMs: readMs }, (entry) => {
        const shown = this.#entryOf(entry);
        if (shown !== undefined) entries.push(shown);
      });
      return { entries, remaining };
    } catch (error) {
      return this.#compactedAt(error, at);
    }
  }

  async history(prefix: string, exact: boolean, after: Revision, upTo: Revision): Promise<HistoryPage | undefined> {
    if (after < this.compactedRevision || this.revision - after > historyMax) return undefined;
    const { client, keys } = this.#options;
    const key = keys.toEtcd(prefix);
    const end = exact ? `${key}\u0000` : prefixEnd(key)!;
    const page = Promise.withResolvers<HistoryPage | undefined>();
    const events: HistoryEvent[] = [];
    let bytes = 0;
    const reached = (revision: Revision): void => {
      if (revision >= upTo) page.resolve({ events, reached: upTo });
      else if (bytes > historyBytesMax) page.resolve({ events, reached: revision });
    };
    const watch = client.watch(
      { key, end, from: after + 1, withPrevious: true },
      {
        changed: (changes, revision) => {
          for (const { type, entry, previous } of changes) {
            const now = this.#entryOf(entry);
            if (entry.revision > upTo || now === undefined) continue;
            // The version before is compacted, and with it what this change did.
            if (previous === undefined && entry.version !== 1) return page.resolve(undefined);
            const value = type === "delete" ? undefined : now.value;
            const replaced = previous && this.#entryOf(previous);
            events.push({ ...now, value, previous: replaced, writtenAt: undefined, note: undefined });
            bytes += entry.value.length + (previous?.value.length ?? 0);
          }
          reached(revision);
        },
        progressed: reached,
        ended(reason) {
          if (reason.kind === "compacted") page.resolve(undefined);
          else page.reject(new Unavailable("the watch of old changes was lost"));
        },
      },
    );
    const cancel = this.#repeat(() => watch.requestProgress(), 100);
    const giveUp = this.#options.clock.after(readMs, () => page.reject(new Unavailable("old changes come too slowly")));
    try {
      return await page.promise;
    } finally {
      cancel();
      giveUp();
      watch.close();
    }
  }

  /** Returns the versions since the key was last created: etcd tells of a deletion only in its watches. */
  async versions(key: string, before: Revision, limit: number): Promise<LogVersions> {
    const { client, keys } = this.#options;
    const etcdKey = keys.toEtcd(key);
    const found: KeyValue[] = [];
    let since = this.compactedRevision;
    let at = before - 1;
    try {
      // One more tells what the last one replaced.
      while (found.length <= limit && at > 0) {
        const [entry] = (await client.range({ key: etcdKey, revision: at }, { timeoutMs: readMs })).entries;
        if (entry !== undefined) found.push(entry);
        at = entry === undefined || entry.version === 1 ? 0 : entry.revision - 1;
      }
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error;
      if (error.kind !== "compacted") throw readError(error);
      since = Math.max(since, at + 1);
    }
    const versions = found.slice(0, limit).flatMap((entry, index): LogVersion[] => {
      const shown = this.#entryOf(entry);
      // A version that is compacted was written before.
      const replaces = entry.version === 1 ? 0 : (found[index + 1]?.revision ?? entry.revision - 1);
      return shown === undefined ? [] : [{ ...shown, replaces, writtenAt: undefined, note: undefined }];
    });
    const last = versions.at(-1);
    const next = last !== undefined && versions.length === limit && last.replaces > 0 ? last.revision : 0;
    return { versions, next, since, sinceMs: undefined };
  }

  /** Knows nothing: etcd has no times. */
  revisionsAround(): Promise<RevisionsAround> {
    return Promise.resolve({ before: 0, after: everything });
  }

  async compact(revision: Revision): Promise<void> {
    if (revision <= this.compactedRevision) return;
    try {
      await this.#compaction.compact(revision);
    } catch (error) {
      throw error instanceof EtcdError ? readError(error) : error;
    }
  }

  /** Resolves when the writes on their way are done or refused, which their deadlines bound. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#compaction.stop();
    // The watch tells what becomes of them.
    await this.#order.settled();
    this.#feed.close();
  }

  #compacted(revision: Revision): void {
    if (revision <= this.compactedRevision) return;
    this.compactedRevision = revision;
    this.#follower?.compacted(revision);
  }

  #compactedAt(error: unknown, at: Revision): Compacted {
    if (!(error instanceof EtcdError)) throw error;
    if (error.kind !== "compacted") throw readError(error);
    return { compacted: Math.max(this.compactedRevision, at + 1) };
  }

  #entryOf(entry: KeyValue): LogEntry | undefined {
    return shownEntry(entry, this.#options.keys, this.form);
  }

  async #write(key: string, write: LogWrite, endMs: number): Promise<CommitResult> {
    if (this.#options.clock.monotonic() >= endMs)
      throw new Unavailable("etcd cannot be reached: earlier writes of the same key took too long");
    const stored = write.value && this.form.pack(write.value);
    const own = this.#own.begin(key, write, stored);
    try {
      const result = await this.#settle(key, own, endMs);
      // The event is known as that of this write for as long as the write is noted.
      if (result.committed) await this.#until(result.revision).catch(() => undefined);
      return result;
    } finally {
      this.#own.end(key);
    }
  }

  /** Sends a write until its outcome is known, or its time is over. */
  async #settle(key: string, own: OwnWrite, endMs: number): Promise<CommitResult> {
    const { clock } = this.#options;
    let mayBeDone = false;
    let fence: Comparison | undefined;
    for (let avoid: string | undefined; ; ) {
      const timeoutMs = Math.min(tryMs, Math.max(1, endMs - clock.monotonic()));
      const options = { timeoutMs, ...(avoid === undefined ? {} : { avoid }) };
      try {
        if (mayBeDone) {
          if (fence !== undefined && !own.isDone) await this.#hear(own, await this.#fence.pass(fence, options));
          const result = await this.#resultOf(key, own, options);
          if (result !== undefined) return result;
        }
        fence = mayHoldAgain(own.write) ? this.#fence.comparison() : undefined;
        const answer = await this.#send(key, own, fence, options);
        this.observeWrites(true);
        if (answer.succeeded) return this.#done(own, answer.header.revision);
        if (fence !== undefined && this.#isPassed(fence, key, own.write, answer)) continue;
        if (!mayBeDone) return this.#refused(own.write, answer);
        await this.#hear(own, answer.header.revision);
        return (await this.#resultOf(key, own, options)) ?? this.#refused(own.write, answer);
      } catch (error) {
        if (mayBeDone && error instanceof Unavailable) throw new OutcomeUnknown(error.message, { cause: error });
        if (!(error instanceof EtcdError)) throw error;
        if (isPassing(error)) this.observeWrites(false);
        // A write without room may be done, but not any more later.
        if (error.kind === "full" && !mayBeDone) mayBeDone = !(await this.#isHeard()) || own.isBlind || own.isDone;
        else mayBeDone ||= error.mayBeDone;
        const isOver = clock.monotonic() >= endMs || this.#closing.signal.aborted;
        if (error.kind === "noLease" && !isOver) this.#leases.forgetAll();
        else if (isOver || !(isPassing(error) || own.isDone)) throw this.#failed(error, mayBeDone);
        avoid = error.endpoint;
        await pause(clock, backOffMs, this.#closing.signal);
      }
    }
  }

  /**
   * Waits until all changes up to a revision are heard. A member that is silent on the watch is asked something: it is left
   * when it answers nothing.
   */
  async #until(revision: Revision): Promise<void> {
    if (revision <= this.revision) return;
    const { client, clock } = this.#options;
    const cancel = clock.after(silenceMs, () => {
      client.status({ timeoutMs: probeMs }).catch(() => undefined);
    });
    try {
      await this.#feed.until(revision, freshMs);
    } finally {
      cancel();
    }
  }

  /** Waits until all changes up to a revision are heard, which say whether a write was done before it. */
  async #hear(own: OwnWrite, revision: Revision): Promise<void> {
    await this.#until(revision);
    if (own.isBlind) throw new OutcomeUnknown(lostChanges);
  }

  /**
   * Returns the result of a write that an event seems to show: `undefined` without one. The event does not tell what held
   * before it, nor who made it, so that is read. A deletion may be that of another server, of the same version.
   */
  async #resultOf(key: string, own: OwnWrite, options: EtcdCallOptions): Promise<CommitResult | undefined> {
    const { doneAt, write } = own;
    if (doneAt === undefined) return undefined;
    const { client, keys } = this.#options;
    const before = this.#comparisonsOf(key, write);
    const reads = before.map((comparison) => readOf(comparison, doneAt - 1));
    if (write.turn !== undefined) reads.push(readOf({ key: keys.turn(write.turn.name), revision: 0 }, doneAt));
    let answer: TransactionAnswer;
    try {
      answer = await client.transact({ compare: [], then: reads, otherwise: [] }, options);
    } catch (error) {
      if (!(error instanceof EtcdError) || error.kind !== "compacted") throw error;
      throw new OutcomeUnknown("the versions that say whether the write was done are compacted", { cause: error });
    }
    const found = answer.ranges.map(({ entries }) => entries[0]);
    const held = before.every(({ revision }, at) => revision === (found[at]?.revision ?? 0));
    const taken = found[before.length];
    const isOwnTurn = write.turn === undefined || (taken?.revision === doneAt && this.#isOwnTurn(taken.value));
    if (held && isOwnTurn) return this.#done(own, doneAt);
    // It may have been done before the changes that were lost.
    if (own.isBlind) throw new OutcomeUnknown(lostChanges);
    // Another writer has changed the key, so that this write cannot be done any more. What is there now may be newer than
    // that change, which may have been made before this write began.
    return { committed: false, revision: await this.#fresh.latest(), failed: "key" };
  }

  /** Whether this process has put the key of a turn. */
  #isOwnTurn(value: Buffer): boolean {
    return value.toString("latin1").startsWith(`${this.#id} `);
  }

  /** Waits until the changes of all writes that etcd has answered are heard. Resolves with whether that succeeded. */
  async #isHeard(): Promise<boolean> {
    try {
      await this.latest();
      return true;
    } catch {
      return false;
    }
  }

  async #send(
    key: string,
    { write, stored }: OwnWrite,
    fence: Comparison | undefined,
    options: EtcdCallOptions,
  ): Promise<TransactionAnswer> {
    const lease = write.ttlSeconds > 0 ? await this.#leases.leaseOf(write.ttlSeconds, options) : undefined;
    const transaction = this.#transactionOf(key, write, stored, lease);
    if (fence === undefined) return this.#options.client.transact(transaction, options);
    const compare = [...transaction.compare, fence];
    const otherwise = [...transaction.otherwise, readOf(fence)];
    return this.#options.client.transact({ ...transaction, compare, otherwise }, options);
  }

  /** Whether a write was not done for no other reason than that the fence has moved. */
  #isPassed(fence: Comparison, key: string, write: LogWrite, { ranges }: TransactionAnswer): boolean {
    const revisions = ranges.map(({ entries }) => entries[0]?.revision ?? 0);
    const isPassed = this.#fence.hear(fence, revisions.at(-1)!);
    return isPassed && this.#comparisonsOf(key, write).every(({ revision }, at) => revision === revisions[at]);
  }

  #transactionOf(key: string, write: LogWrite, stored: Buffer | undefined, lease: string | undefined): Transaction {
    const { keys } = this.#options;
    const compare = this.#comparisonsOf(key, write);
    const then: EtcdOperation[] = [
      stored === undefined
        ? { kind: "delete", key }
        : { kind: "put", key, value: stored, ...(lease === undefined ? {} : { lease }) },
    ];
    if (write.turn !== undefined) {
      const turnKey = keys.turn(write.turn.name);
      compare.push({ key: turnKey, revision: this.#turns.seenBy(write.turn), orLess: true });
      then.push({ kind: "put", key: turnKey, value: Buffer.from(`${this.#id} ${++this.#turnsPut}`) });
    }
    return { compare, then, otherwise: compare.map((comparison) => readOf(comparison)) };
  }

  #comparisonsOf(key: string, { expected, requires }: LogWrite): Comparison[] {
    const { keys } = this.#options;
    const required = requires.map((condition) => ({ ...condition, key: keys.toEtcd(condition.key) }));
    return [{ key, revision: expected }, ...required];
  }

  #done({ write, stored }: OwnWrite, revision: Revision): CommitResult {
    if (write.turn !== undefined) this.#turns.taken(write.turn, revision);
    if (stored !== undefined) {
      this.full = undefined;
      this.#feed.know({ key: this.#options.keys.toEtcd(write.key), revision, value: stored });
    }
    return { committed: true, revision };
  }

  /** Returns the result of a write whose comparisons did not all hold. */
  #refused({ expected, requires }: LogWrite, { header, ranges }: TransactionAnswer): CommitResult {
    const revisions = ranges.map(({ entries }) => entries[0]?.revision ?? 0);
    const current = revisions[0]!;
    let failed: FailedCondition = "turn";
    if (current !== expected) failed = "key";
    else if (requires.some((condition, at) => condition.revision !== revisions[at + 1])) failed = "requires";
    // A version that exists is heard soon; how new a deletion is, only the whole store tells.
    const revision = failed === "key" && current > 0 ? current : header.revision;
    if (revision > this.revision) this.#feed.until(revision, freshMs).catch(() => undefined);
    return { committed: false, revision, failed };
  }

  #failed(error: EtcdError, mayBeDone: boolean): StorageFailure {
    const failure = writeError(error, mayBeDone);
    if (failure instanceof StorageFull) this.full = failure;
    if (error.kind === "replaced") this.failure = replacedError(error);
    return failure;
  }

  /** Calls back now and again until it is cancelled. */
  #repeat(callback: () => void, everyMs: number): () => void {
    callback();
    let cancel = this.#options.clock.after(everyMs, () => {
      cancel = this.#repeat(callback, everyMs);
    });
    return () => cancel();
  }
}

/** Returns the operation that reads the key of a comparison, at a revision or now. */
function readOf({ key }: Comparison, revision?: Revision): EtcdOperation {
  return { kind: "range", range: revision === undefined ? { key, keysOnly: true } : { key, revision } };
}

/** Whether the conditions of a write can hold again after they did not: a key that does not exist may do so again. */
const mayHoldAgain = ({ expected, requires }: LogWrite): boolean =>
  expected === 0 || requires.some(({ revision }) => revision === 0);
