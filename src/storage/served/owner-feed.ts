/**
 * The feed of a process from the owner of the log: all entries at one revision, and then every change. A connection that
 * is lost is made anew, and the feed goes on with the history after what was heard. When that is not kept any more,
 * everything is read again.
 */
import { type Clock, pause } from "#std/clock.ts";
import { Heap } from "#std/heap.ts";
import {
  type HistoryPage,
  type LogEntry,
  type LogEvent,
  type LogFollower,
  type Revision,
  StorageFailure,
  StoreFailed,
  Unavailable,
} from "../log-store.ts";
import { DamagedFrame } from "./frame-bytes.ts";
import type { LogState, SentChange } from "./messages.ts";
import { type Notice, OwnerConnection } from "./owner-connection.ts";
import { StaleKeys } from "./stale-keys.ts";
import { readState } from "./state-reader.ts";

interface FeedOptions {
  /** The path of the socket of the owner. */
  readonly path: string;
  readonly clock: Clock;
  /** Is told why a connection was ended. */
  readonly warn: (problem: string) => void;
  /** Called when the log has gone back behind what was heard of it, so that this process cannot go on. */
  readonly goneBack: (failure: StorageFailure) => void;
}

type ChangeNotice = Exclude<Notice, { readonly kind: "state" }>;

/** A caller that waits for a revision. */
interface RevisionWaiter {
  readonly revision: Revision;
  wake(): void;
}

/** A state that was read before there was a follower, and the connection to go on with. */
interface FirstState {
  /** The entries, the last key first. */
  readonly entries: LogEntry[];
  readonly connection: OwnerConnection;
}

/** The pause before a lost connection is made anew, and the one to which it grows with an owner that refuses. */
const reconnectMs = 50;
const reconnectMsMax = 2000;
/** The time in which the first connection must be made. */
const startMs = 60_000;
const pageMs = 15_000;
/**
 * The number of pages of history that are asked for at once, and the largest number of revisions for each, which is what a
 * page has.
 */
const pagesAtOnce = 32;
const pageRevisions = 200;
/** The number of revisions that may be missing when changes begin to come; more are read before, if that can be. */
const missedMax = 1000;
/** The bytes of changes that may wait until the history before them was read. */
const heldBytesMax = 64 * 1024 * 1024;

const unreachable = "the process that keeps the log cannot be reached";

export class OwnerFeed {
  readonly #options: FeedOptions;
  readonly #closing = new AbortController();
  readonly #waiters = new Heap<RevisionWaiter>((a, b) => a.revision < b.revision);
  #liveWaiters = new Set<(connection: OwnerConnection) => void>();
  #follower!: LogFollower;
  #first: FirstState | undefined;
  /** The last connection that was made. */
  #last: OwnerConnection | undefined;
  #live: OwnerConnection | undefined;
  /** Whether there was an owner when the last connection was tried, and the pause before the next one. */
  #isReached = false;
  #pauseMs = reconnectMs;
  /** The changes that came while history before them was read. */
  #held: ChangeNotice[] = [];
  #heldBytes = 0;
  /** The number of revisions that fit into a page of history, as far as is known. */
  #pageRevisions = pageRevisions;
  /** Whether history does not tell everything after the revision that was heard. */
  #mustReload = false;
  /** The revision up to which everything was heard, and the oldest one that can be read. */
  heard: Revision = 0;
  compacted: Revision = 0;
  state: LogState = { form: "", size: { bytes: 0, since: 0, fileBytes: 0 } };
  failure: StoreFailed | undefined;
  readonly stale = new StaleKeys();

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  /** Connects, and reads the state. Rejects with `StorageFailure` when that takes too long. */
  async prepare(): Promise<void> {
    const { clock } = this.#options;
    const untilMs = clock.monotonic() + startMs;
    for (;;) {
      try {
        const connection = await this.#connect();
        return await this.#readFirst(connection);
      } catch (error) {
        if (!(error instanceof StorageFailure)) throw error;
        if (clock.monotonic() > untilMs) throw new StorageFailure(`${unreachable}: ${error.message}`, { cause: error });
      }
      await this.#pause();
    }
  }

  /**
   * Waits before the next connection. An owner that is being started is not there for a while; one that is there and ends
   * connections before they can be used is asked less and less often.
   */
  async #pause(): Promise<void> {
    this.#pauseMs = this.#isReached ? Math.min(2 * this.#pauseMs, reconnectMsMax) : reconnectMs;
    await pause(this.#options.clock, this.#pauseMs, this.#closing.signal);
  }

  async #readFirst(connection: OwnerConnection): Promise<void> {
    try {
      const { entries, stale, revision, compacted } = await readState(connection);
      this.stale.reset(stale);
      this.#first = { entries: entries.reverse(), connection };
      this.heard = revision;
      this.compacted = compacted;
    } catch (error) {
      connection.cut(undefined);
      throw error;
    }
  }

  /** Delivers the state of `prepare`, and follows the changes from then on. Resolves when they come. */
  async start(follower: LogFollower): Promise<void> {
    this.#follower = follower;
    const { entries, connection } = this.#first!; // `prepare` was called
    this.#first = undefined;
    // Entries that were delivered are not kept: the state is in memory once.
    for (let entry = entries.pop(); entry !== undefined; entry = entries.pop()) follower.load(entry);
    const isLive = new Promise((resolve) => this.#liveWaiters.add(resolve));
    void this.#run(connection);
    await isLive;
  }

  /** The connection whose changes are delivered as they come. */
  get live(): OwnerConnection | undefined {
    return this.#live;
  }

  /** Resolves with the connection to the owner as soon as there is one; rejects with `Unavailable` after `timeoutMs`. */
  connection(timeoutMs: number): OwnerConnection | Promise<OwnerConnection> {
    if (this.#live !== undefined) return this.#live;
    return new Promise((resolve, reject) => {
      const cancel = this.#options.clock.after(timeoutMs, () => {
        this.#liveWaiters.delete(wake);
        reject(new Unavailable(unreachable));
      });
      const wake = (connection: OwnerConnection): void => {
        cancel();
        resolve(connection);
      };
      this.#liveWaiters.add(wake);
    });
  }

  /** Resolves when everything up to a revision was heard; rejects with `Unavailable` after `timeoutMs`. */
  until(revision: Revision, timeoutMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const cancel = this.#options.clock.after(timeoutMs, () => {
        this.#waiters.filter((other) => other !== waiter);
        reject(
          new Unavailable(`the changes up to revision ${revision} have not come from the process that keeps the log`),
        );
      });
      const waiter: RevisionWaiter = {
        revision,
        wake() {
          cancel();
          resolve();
        },
      };
      this.#waiters.push(waiter);
    });
  }

  /** Resolves when what is under way is settled. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#live?.drained();
    this.#last?.cut(undefined);
  }

  async #connect(): Promise<OwnerConnection> {
    const { path, clock } = this.#options;
    this.#isReached = false;
    const connection = await OwnerConnection.open({
      path,
      clock,
      reached: () => void (this.#isReached = true),
      noticed: (notice, from) => this.#noticed(notice, from),
    });
    this.#last = connection;
    if (this.#closing.signal.aborted) connection.cut(undefined);
    return connection;
  }

  /** Follows the log until the feed is closed. `first` is the connection to begin with. */
  async #run(first: OwnerConnection): Promise<void> {
    const { warn } = this.#options;
    const { signal } = this.#closing;
    for (let connection: OwnerConnection | undefined = first; !signal.aborted; connection = undefined) {
      try {
        connection ??= await this.#connect();
        await this.#catchUp(connection);
        const problem = await connection.closed;
        if (problem !== undefined) warn(`the connection to the log was lost: ${problem}`);
      } catch (error) {
        if (!(error instanceof StorageFailure || error instanceof DamagedFrame)) throw error;
        if (error instanceof DamagedFrame) warn(`the owner of the log tells what cannot be: ${error.message}`);
        connection?.cut(undefined);
      }
      this.#live = undefined;
      if (this.failure !== undefined) return;
      await this.#pause();
    }
  }

  /** Reads what was missed, and makes the connection the live one. Rejects with `Unavailable`. */
  async #catchUp(connection: OwnerConnection): Promise<void> {
    let { revision, compacted } = await connection.ask({ kind: "present" }, pageMs);
    if (revision < this.heard) return this.#goneBack(connection, revision);
    if (this.#mustReload || this.heard < compacted) {
      const state = await readState(connection);
      ({ revision, compacted } = state);
      this.#mustReload = false;
      this.stale.reset(state.stale);
      this.#follower.reloaded(state.entries, revision);
      this.compacted = revision;
      this.#hear(revision);
    }
    await this.#readMissed(connection, revision);
    this.#release();
    const position = await connection.ask({ kind: "subscribe" }, pageMs);
    await this.#readHistory(connection, position.revision);
    for (const notice of this.#release()) this.#apply(notice, connection);
    this.#compact(position.compacted);
    this.#live = connection;
    this.#isReached = false;
    const waiters = this.#liveWaiters;
    this.#liveWaiters = new Set();
    for (const wake of waiters) wake(connection);
  }

  /**
   * Reads until few revisions are missing, or not fewer than before: where each answer takes a second, thousands of new
   * ones come with it, and waiting for less would never end. Rejects with `Unavailable`.
   */
  async #readMissed(connection: OwnerConnection, present: Revision): Promise<void> {
    let missing = present - this.heard;
    for (let before = Number.POSITIVE_INFINITY; missing > missedMax && missing < before; ) {
      await this.#readHistory(connection, this.heard + missing);
      before = missing;
      missing = (await connection.ask({ kind: "present" }, pageMs)).revision - this.heard;
    }
  }

  #goneBack(connection: OwnerConnection, revision: Revision): void {
    this.failure = new StoreFailed(`the log is at revision ${revision}, and was at ${this.heard}`);
    connection.cut(undefined);
    this.#options.goneBack(this.failure);
  }

  /**
   * Delivers the changes up to a revision. Several pages are asked for at once, since each answer of a busy owner takes its
   * time. Rejects with `Unavailable`, also when they are not kept any more.
   */
  async #readHistory(connection: OwnerConnection, upTo: Revision): Promise<void> {
    while (this.heard < upTo) {
      const size = this.#pageRevisions;
      const ends: Revision[] = [];
      for (let end = this.heard + size; ends.length < pagesAtOnce - 1 && end < upTo; end += size) ends.push(end);
      // Revisions may be far apart, so the last page is one of all that are left.
      ends.push(upTo);
      const pages = ends.map((end, at) => this.#askHistory(connection, ends[at - 1] ?? this.heard, end));
      // Pages after one that fails, or that ends early, are of no use.
      for (const page of pages) page.catch(() => undefined);
      for (const [at, page] of pages.entries()) {
        const before = this.heard;
        this.#deliver(await page);
        // The bytes of a page are bounded, too, and the last one has more to tell than others.
        if (at === pages.length - 1 || this.heard === ends[at]) continue;
        this.#pageRevisions = Math.max(1, this.heard - before);
        break;
      }
    }
    // The next values may be smaller.
    this.#pageRevisions = Math.min(pageRevisions, 2 * this.#pageRevisions);
  }

  #askHistory(connection: OwnerConnection, after: Revision, upTo: Revision): Promise<HistoryPage | undefined> {
    return connection.ask({ kind: "history", prefix: "", exact: false, after, upTo }, pageMs);
  }

  /** Throws `Unavailable` when there is no page: its changes are not kept any more. */
  #deliver(page: HistoryPage | undefined): void {
    if (page === undefined) {
      this.#mustReload = true;
      throw new Unavailable("the changes that were missed are not kept any more");
    }
    let events: LogEvent[] = [];
    for (const [at, { previous: _, ...event }] of page.events.entries()) {
      events.push({ ...event, value: event.value, write: undefined });
      if (page.events[at + 1]?.revision === event.revision) continue;
      this.#follower.changed(events);
      this.#hear(event.revision);
      events = [];
    }
    this.#progressed(page.reached);
  }

  #noticed(notice: Notice, connection: OwnerConnection): void {
    if (notice.kind === "state") {
      this.state = notice;
      this.stale.use(notice.form);
    } else if (connection === this.#live) {
      this.#apply(notice, connection);
    } else {
      this.#held.push(notice);
      this.#heldBytes += sizeOf(notice);
      if (this.#heldBytes > heldBytesMax) connection.cut("changes come faster than the history before them");
    }
  }

  /** Returns the changes that were held, and holds none any more. */
  #release(): readonly ChangeNotice[] {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return held;
  }

  #apply(notice: ChangeNotice, connection: OwnerConnection): void {
    if (notice.kind === "changed") this.#changed(notice, connection);
    else if (notice.kind === "progressed") this.#progressed(notice.revision);
    else if (notice.kind === "compacted") this.#compact(notice.revision);
    else this.#follower.recovered(notice.entries);
  }

  #changed(
    { revision, changes }: { readonly revision: Revision; readonly changes: readonly SentChange[] },
    connection: OwnerConnection,
  ): void {
    if (changes.length === 0) throw new DamagedFrame("a revision has no change");
    // History has told of it.
    if (revision <= this.heard) return;
    const events = changes.map((change): LogEvent => {
      if (change.kind === "own") {
        const write = connection.writeOf(change.id);
        return { key: write.key, value: write.value, revision, write };
      }
      if (change.kind === "deleted") return { key: change.key, value: undefined, revision, write: undefined };
      const { kind: _kind, isStale: _isStale, ...put } = change;
      return { ...put, revision, write: undefined };
    });
    for (const [at, change] of changes.entries()) {
      const { key, value } = events[at]!;
      if (value === undefined || change.kind === "deleted") this.stale.forget(key);
      else this.stale.note(key, change.isStale);
    }
    this.#follower.changed(events);
    this.#hear(revision);
    for (const change of changes) if (change.kind === "own") connection.done(change.id, revision);
  }

  #progressed(revision: Revision): void {
    if (revision <= this.heard) return;
    this.#follower.progressed(revision);
    this.#hear(revision);
  }

  #compact(revision: Revision): void {
    if (revision <= this.compacted) return;
    this.compacted = revision;
    this.#follower.compacted(revision);
  }

  #hear(revision: Revision): void {
    this.heard = Math.max(this.heard, revision);
    while (this.#waiters.size > 0 && this.#waiters.peek()!.revision <= this.heard) this.#waiters.pop()!.wake();
  }
}

/** Returns about how many bytes a notice has in memory. */
function sizeOf(notice: ChangeNotice): number {
  const values = notice.kind === "changed" ? notice.changes : notice.kind === "recovered" ? notice.entries : [];
  return values.reduce((sum, one) => sum + ("value" in one ? one.value.bytes.length : 0) + 200, 200);
}
