/**
 * A log that several caches write to, for tests: each opens a `LogStore` of its own, as servers that share a remote
 * log do. It can do what no log of one process does: changes of other writers, several changes in one revision,
 * revisions without a change of these keys, lost changes, answers that are lost, times without a connection.
 *
 *     const log = new SharedLog();
 *     const [a, b] = [log.open(), log.open()];        // stores of two servers
 *     b.isCut = true;                                 // b hears nothing, and its calls are refused
 *     b.isDeaf = true;                                // b hears nothing, and its calls are done
 *     log.expireKeysOf(b);                            // keys of b that live for some seconds are gone
 *     a.loses = true;                                 // commits of a are done, but reject with OutcomeUnknown
 */
import {
  type CommitResult,
  everything,
  type Compacted,
  type FailedCondition,
  type HistoryEvent,
  type HistoryPage,
  type KeyCondition,
  type LogEntry,
  type LogFollower,
  type LogRange,
  type LogRangeOptions,
  type LogStore,
  type LogVersions,
  type LogWrite,
  OutcomeUnknown,
  type Revision,
  type RevisionsAround,
  StorageFailure,
  Unavailable,
  type Unversioned,
} from "./log-store.ts";
import { packedForm } from "./packed-value.ts";

/** One change of one key, and the store that made it. */
interface Change {
  readonly key: string;
  readonly value: Unversioned | undefined;
  readonly revision: Revision;
  readonly write: LogWrite | undefined;
  readonly writer: SharedLogStore | undefined;
}

/** The changes of one revision. */
type Step = readonly Change[];

export class SharedLog {
  readonly #stores = new Set<SharedLogStore>();
  /** All revisions with changes, oldest first. */
  readonly steps: Step[] = [];
  readonly #turns = new Map<string, { readonly revision: Revision; readonly writer: SharedLogStore }>();
  revision: Revision;
  compacted: Revision;
  /** The number of missed revisions after which a store reads everything again; by default as many as with an etcd. */
  missedMax = 20_000;

  /** `base` is the last revision before the first one of this log. */
  constructor(base: Revision = 100) {
    this.revision = base;
    this.compacted = base;
  }

  /** Returns the store of one server. */
  open(): SharedLogStore {
    const store = new SharedLogStore(this);
    this.#stores.add(store);
    return store;
  }

  /** Makes changes as another writer, all in one revision. A value of `undefined` deletes a key that exists. */
  change(values: ReadonlyMap<string, Unversioned | undefined>): Revision {
    const revision = ++this.revision;
    this.#add([...values].map(([key, value]) => ({ key, value, revision, write: undefined, writer: undefined })));
    return revision;
  }

  /** Ends the time of the keys that a store has written with a limited one, as if nobody had written them again. */
  expireKeysOf(store: SharedLogStore): void {
    const last = new Map(this.steps.flat().map((change) => [change.key, change]));
    const ended = [...last.values()].filter(
      ({ value, write, writer }) => value !== undefined && writer === store && write!.ttlSeconds > 0,
    );
    for (const { key } of ended) this.change(new Map([[key, undefined]]));
  }

  /** Takes a revision for keys that this log does not show. */
  changeElsewhere(): Revision {
    this.revision++;
    for (const store of this.#stores) store.hear();
    return this.revision;
  }

  commit(write: LogWrite, writer: SharedLogStore): CommitResult {
    const failed = this.#failed(write, writer);
    if (failed !== undefined) return { committed: false, revision: this.revision, failed };
    const { key, value, turn } = write;
    const revision = ++this.revision;
    if (turn !== undefined) this.#turns.set(turn.name, { revision, writer });
    this.#add([{ key, value, revision, write, writer }]);
    return { committed: true, revision };
  }

  compact(revision: Revision): void {
    this.compacted = Math.max(this.compacted, revision);
    for (const store of this.#stores) store.hear();
  }

  /** Returns the entries at a revision, in the order of keys. */
  entriesAt(revision: Revision): LogEntry[] {
    const entries = new Map<string, LogEntry>();
    for (const { key, value, revision: at } of this.steps.flat()) {
      if (at > revision) break;
      if (value === undefined) entries.delete(key);
      else entries.set(key, { key, value, revision: at });
    }
    return [...entries.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  #add(step: Step): void {
    this.steps.push(step);
    for (const store of this.#stores) store.hear();
  }

  #failed({ key, expected, value, requires, turn }: LogWrite, writer: SharedLogStore): FailedCondition | undefined {
    const entries = new Map(this.entriesAt(this.revision).map((entry) => [entry.key, entry.revision]));
    const holds = (condition: KeyCondition): boolean => (entries.get(condition.key) ?? 0) === condition.revision;
    if (!holds({ key, revision: expected }) || (value === undefined && expected === 0)) return "key";
    if (!requires.every(holds)) return "requires";
    const last = turn === undefined ? undefined : this.#turns.get(turn.name);
    return last !== undefined && last.writer !== writer && last.revision > turn!.seen ? "turn" : undefined;
  }
}

/** The log as one server has it. */
class SharedLogStore implements LogStore {
  readonly form = packedForm;
  readonly hasHistory = true;
  readonly isShared = true;
  readonly failure = undefined;
  readonly full = undefined;
  readonly #shared: SharedLog;
  #follower: LogFollower | undefined;
  #isCut = false;
  #isDeaf = false;
  #isClosed = false;
  /** Whether commits are done and their answers are lost. */
  loses = false;
  /** Whether events say which write of this process made them. */
  tellsWrites = true;
  /** The keys of the commits that were asked for. */
  readonly commits: string[] = [];
  /** The number of times that everything was read again. */
  reloads = 0;
  revision: Revision;
  compactedRevision: Revision;

  constructor(shared: SharedLog) {
    this.#shared = shared;
    this.revision = shared.revision;
    this.compactedRevision = shared.compacted;
  }

  /** Whether the connection is lost: changes are not heard, and calls are refused with `Unavailable`. */
  get isCut(): boolean {
    return this.#isCut;
  }

  set isCut(isCut: boolean) {
    this.#isCut = isCut;
    this.hear();
  }

  /** Whether changes are not heard, although calls are done: the follower is as far behind as it can be. */
  get isDeaf(): boolean {
    return this.#isDeaf;
  }

  set isDeaf(isDeaf: boolean) {
    this.#isDeaf = isDeaf;
    this.hear();
  }

  follow(follower: LogFollower): Promise<void> {
    this.#follower = follower;
    this.revision = this.#shared.revision;
    for (const entry of this.#shared.entriesAt(this.revision)) follower.load(entry);
    return Promise.resolve();
  }

  /** Delivers what was not heard yet. */
  hear(): void {
    const follower = this.#follower;
    if (this.#isCut || this.#isDeaf || follower === undefined) return;
    const { compacted, missedMax, revision, steps } = this.#shared;
    const missed = steps.filter((step) => step[0]!.revision > this.revision);
    if (this.revision < compacted || missed.length > missedMax) {
      this.reloads++;
      this.revision = revision;
      this.compactedRevision = revision;
      follower.reloaded(this.#shared.entriesAt(revision), revision);
      return;
    }
    for (const step of missed) {
      this.revision = step[0]!.revision;
      const isOwn = (change: Change): boolean => this.tellsWrites && change.writer === this;
      follower.changed(
        step.map((change) => {
          const { key, value, write } = change;
          return { key, value, revision: this.revision, write: isOwn(change) ? write : undefined };
        }),
      );
    }
    if (revision > this.revision) follower.progressed((this.revision = revision));
    if (compacted > this.compactedRevision) follower.compacted((this.compactedRevision = compacted));
  }

  async latest(): Promise<Revision> {
    this.#check();
    return this.#shared.revision;
  }

  async commit(write: LogWrite): Promise<CommitResult> {
    this.#check();
    if (!write.key.isWellFormed()) throw new Error("a key must be well-formed text");
    this.commits.push(write.key);
    const result = this.#shared.commit(write, this);
    if (this.loses) throw new OutcomeUnknown("the answer was lost");
    return result;
  }

  async range(prefix: string, { at, from = prefix, limit }: LogRangeOptions): Promise<LogRange | Compacted> {
    this.#check();
    const { compacted } = this.#shared;
    if (at < compacted) return { compacted };
    const all = this.#shared.entriesAt(at).filter(({ key }) => key.startsWith(prefix) && key >= from);
    const entries = all.slice(0, limit);
    return { entries, remaining: all.length - entries.length };
  }

  async history(prefix: string, exact: boolean, after: Revision, upTo: Revision): Promise<HistoryPage | undefined> {
    this.#check();
    if (after < this.#shared.compacted) return undefined;
    const events: HistoryEvent[] = [];
    for (const { key, value, revision } of this.#shared.steps.flat()) {
      if (revision <= after || revision > upTo || (exact ? key !== prefix : !key.startsWith(prefix))) continue;
      const previous = this.#shared.entriesAt(revision - 1).find((entry) => entry.key === key);
      events.push({ key, value, revision, previous, writtenAt: undefined, note: undefined });
    }
    return { events, reached: upTo };
  }

  async versions(key: string, before: Revision, limit: number): Promise<LogVersions> {
    this.#check();
    const changes = this.#shared.steps.flat().filter((change) => change.key === key);
    const versions = changes.map(({ value, revision }, at) => {
      const last = changes[at - 1];
      const replaces = last?.value === undefined ? 0 : last.revision;
      return { key, value, revision, replaces, writtenAt: undefined, note: undefined };
    });
    const kept = versions.filter(({ revision }) => revision < before).reverse();
    const next = kept.length > limit ? kept[limit - 1]!.revision : 0;
    return { versions: kept.slice(0, limit), next, since: this.#shared.compacted, sinceMs: undefined };
  }

  async revisionsAround(): Promise<RevisionsAround> {
    this.#check();
    return { before: 0, after: everything };
  }

  async compact(revision: Revision): Promise<void> {
    this.#check();
    this.#shared.compact(revision);
  }

  close(): Promise<void> {
    this.#follower = undefined;
    this.#isClosed = true;
    return Promise.resolve();
  }

  #check(): void {
    if (this.#isClosed) throw new StorageFailure("the store is closed");
    if (this.#isCut) throw new Unavailable("the log cannot be reached");
  }
}
