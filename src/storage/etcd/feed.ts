/**
 * The feed of this server from etcd: all keys at one revision, and then every change, by one watch of the whole prefix.
 * A watch that is lost goes on where it ended. When too much was missed, or it is compacted, everything is read again:
 * etcd replays a long backlog slowly, and stops writers meanwhile.
 */
import { type Clock, pause } from "#std/clock.ts";
import { Heap } from "#std/heap.ts";
import { prefixEnd } from "#std/ordered-map.ts";
import type { Random } from "#std/random.ts";

import {
  type LogEntry,
  type LogEvent,
  type LogFollower,
  type Revision,
  Unavailable,
  UnreadableValue,
  type ValueForm,
} from "../log-store.ts";
import {
  EtcdError,
  type EtcdClient,
  type EtcdEvent,
  type EtcdWatch,
  type KeyValue,
  type KnownVersion,
  type WatchEnd,
} from "./client.ts";
import { readError } from "./errors.ts";
import type { EtcdKeys } from "./keys.ts";
import type { OwnWrites } from "./own-writes.ts";
import { readPages } from "./pages.ts";

/** The number of revisions that a watch may be behind before everything is read again. */
const defaultMissedMax = 20_000;
/** The share of the keys that counts as few changes. */
const missedShare = 1 / 20;
const pageMs = 15_000;
const presentMs = 5000;
const progressMs = 100;
/** The end of a watch after which everything is read again. */
const mustReadAgain: WatchEnd = { kind: "compacted", compacted: 0 };
/** A key that nobody has, at present. */
const nothingKnown = { key: "\0", revision: 0 };
const backOffMinMs = 50;
const backOffMaxMs = 2000;

interface FeedOptions {
  readonly client: EtcdClient;
  readonly keys: EtcdKeys;
  readonly own: OwnWrites;
  readonly clock: Clock;
  readonly random: Random;
  readonly form: ValueForm;
  readonly missedMax?: number;
  /** Called when etcd is no longer the one that was followed. */
  failed(error: EtcdError): void;
}

interface Waiter {
  readonly revision: Revision;
  wake(): void;
}

export class Feed {
  readonly #options: FeedOptions;
  readonly #end: string;
  readonly #closing = new AbortController();
  #follower!: LogFollower;
  #watch: EtcdWatch | undefined;
  readonly #waiters = new Heap<Waiter>((a, b) => a.revision < b.revision);
  #cancelProgress: (() => void) | undefined;
  #backOffMs = backOffMinMs;
  #keyCount = 0;
  /** The last version that was heard of. */
  #last: KnownVersion | undefined;
  /** The number of times that a member could not say whether it holds the store that is followed. */
  #doubts = 0;
  /** The number of them before everything was last read again, which settles them. */
  #settledDoubts = 0;
  /** The revision up to which everything was heard. */
  heard: Revision = 0;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#end = prefixEnd(options.keys.prefix)!;
    options.client.expect(
      () => this.#last,
      () => this.#doubt(),
    );
  }

  /** Asks for the revision at which the first state is read. */
  async prepare(): Promise<void> {
    this.#settledDoubts = this.#doubts;
    this.heard = await this.#present();
  }

  /** Reads all keys at the revision of `prepare`, and follows their changes from then on. */
  async start(follower: LogFollower): Promise<void> {
    this.#follower = follower;
    await this.#readAll(this.heard, (entry) => follower.load(entry));
    if (this.#isDoubtful) void this.#lost(mustReadAgain);
    else this.#open();
  }

  /** Resolves when everything up to a revision was heard. Rejects with `Unavailable` after `timeoutMs`. */
  async until(revision: Revision, timeoutMs: number): Promise<void> {
    if (revision <= this.heard && !this.#isDoubtful) return;
    await new Promise<void>((resolve, reject) => {
      const cancel = this.#options.clock.after(timeoutMs, () => {
        this.#waiters.filter((other) => other !== waiter);
        reject(new Unavailable(`etcd has not told of its changes up to revision ${revision}`));
      });
      const waiter: Waiter = {
        revision,
        wake() {
          cancel();
          resolve();
        },
      };
      this.#waiters.push(waiter);
      this.#askProgress();
    });
  }

  /**
   * Whether the store may be another one than was followed, an older state that others have written to since. Then its
   * revision says nothing about what was heard.
   */
  get #isDoubtful(): boolean {
    return this.#doubts > this.#settledDoubts;
  }

  /** Reads everything again, since nobody can say whether the store is still the same. */
  #doubt(): void {
    this.#doubts++;
    if (this.#watch === undefined) return; // it is being read, or will be
    this.#watch.close();
    void this.#lost(mustReadAgain);
  }

  /** Takes a version that the store has. */
  know(version: KnownVersion): void {
    if (version.revision >= (this.#last?.revision ?? 0)) this.#last = version;
  }

  close(): void {
    this.#closing.abort();
    this.#cancelProgress?.();
    this.#watch?.close();
  }

  /** Asks the watch how far it has come, again and again while somebody waits. */
  #askProgress(): void {
    if (this.#cancelProgress !== undefined) return;
    this.#watch?.requestProgress();
    this.#cancelProgress = this.#options.clock.after(progressMs, () => {
      this.#cancelProgress = undefined;
      if (this.#waiters.size > 0 && !this.#closing.signal.aborted) this.#askProgress();
    });
  }

  #hear(revision: Revision): void {
    if (revision > this.heard) this.heard = revision;
    if (this.#waiters.size === 0 || this.#isDoubtful) return;
    while (this.#waiters.size > 0 && this.#waiters.peek()!.revision <= this.heard) this.#waiters.pop()!.wake();
  }

  #open(): void {
    const { client, keys } = this.#options;
    this.#watch = client.watch(
      { key: keys.prefix, end: this.#end, from: this.heard + 1 },
      {
        changed: (events, revision) => this.#changed(events, revision),
        progressed: (revision) => this.#progressed(revision),
        ended: (end) => void this.#lost(end),
      },
    );
    if (this.#waiters.size > 0) this.#watch.requestProgress();
  }

  #changed(events: readonly EtcdEvent[], upTo: Revision): void {
    this.#backOffMs = backOffMinMs;
    let shown: LogEvent[] = [];
    for (const [at, event] of events.entries()) {
      const { revision } = event.entry;
      if (event.type === "put") this.know(event.entry);
      const own = this.#options.own.writeOf(event);
      const change = this.#changeOf(event);
      if (change !== undefined) shown.push({ ...change, write: own });
      if (events[at + 1]?.entry.revision === revision) continue;
      if (shown.length > 0) this.#follower.changed(shown);
      shown = [];
    }
    this.#progressed(upTo);
  }

  #progressed(revision: Revision): void {
    if (revision > this.heard) this.#follower.progressed(revision);
    this.#hear(revision);
  }

  #changeOf({ type, entry }: EtcdEvent): Omit<LogEvent, "write"> | undefined {
    if (type === "put") return this.#entryOf(entry);
    const key = this.#options.keys.fromEtcd(entry.key);
    return key === undefined ? undefined : { key, value: undefined, revision: entry.revision };
  }

  /** Returns an entry; `undefined` for a key that is not shown. */
  #entryOf(entry: KeyValue): LogEntry | undefined {
    return shownEntry(entry, this.#options.keys, this.#options.form);
  }

  /** Goes on after the watch has ended. */
  async #lost(end: WatchEnd): Promise<void> {
    this.#watch = undefined;
    if (end.kind === "closed" || this.#closing.signal.aborted) return;
    let mustReload = end.kind === "compacted";
    // Own writes may go on meanwhile, in a store that is not the same any more.
    const last = this.#last;
    for (;;) {
      try {
        mustReload ||= await this.#isFarBehind(last);
        if (mustReload || this.#isDoubtful) await this.#reload();
        if (this.#closing.signal.aborted) return;
        if (!this.#isDoubtful) {
          this.#open();
          return;
        }
      } catch (error) {
        if (!(error instanceof EtcdError)) throw error;
        if (error.kind === "replaced") return this.#options.failed(error);
      }
      const { clock, random } = this.#options;
      await pause(clock, this.#backOffMs * (0.5 + random.next()), this.#closing.signal);
      if (this.#closing.signal.aborted) return;
      this.#backOffMs = Math.min(2 * this.#backOffMs, backOffMaxMs);
    }
  }

  /**
   * Whether too much was missed, or the version that was heard of last is compacted: then nobody knows whether it is still
   * the same.
   */
  async #isFarBehind(last: KnownVersion | undefined): Promise<boolean> {
    const { missedMax = defaultMissedMax } = this.#options;
    try {
      const present = await this.#present(last);
      return present - this.heard > Math.max(missedMax, this.#keyCount * missedShare);
    } catch (error) {
      if (error instanceof EtcdError && error.kind === "compacted") return true;
      throw error;
    }
  }

  /** Resolves with the last revision of the cluster. Asks for a version, which may be compacted. */
  async #present({ key, revision }: Pick<KnownVersion, "key" | "revision"> = nothingKnown): Promise<Revision> {
    const { header } = await this.#options.client.range({ key, revision, countOnly: true }, { timeoutMs: presentMs });
    return header.revision;
  }

  async #reload(): Promise<void> {
    const doubts = this.#doubts;
    const revision = await this.#present();
    const entries: LogEntry[] = [];
    await this.#readAll(revision, (entry) => void entries.push(entry));
    if (this.#closing.signal.aborted) return;
    this.#options.own.changesLost();
    entries.sort((a, b) => (a.key < b.key ? -1 : 1));
    this.#follower.reloaded(entries, revision);
    this.#settledDoubts = doubts;
    this.#hear(revision);
  }

  /** Reads all keys at one revision. Rejects with an `EtcdError`, also if the revision was compacted meanwhile. */
  async #readAll(revision: Revision, take: (entry: LogEntry) => void): Promise<void> {
    const { client, keys } = this.#options;
    let count = 0;
    let last: KnownVersion | undefined;
    await readPages(client, { key: keys.prefix, end: this.#end, revision }, { timeoutMs: pageMs }, (entry) => {
      count++;
      if (last === undefined || entry.revision > last.revision) last = entry;
      const shown = this.#entryOf(entry);
      if (shown !== undefined) take(shown);
    });
    this.#keyCount = count;
    this.#last = last;
  }
}

/** Returns an entry as followers get it; `undefined` for a key that is not shown. */
export function shownEntry(
  { key: etcdKey, value: bytes, revision }: KeyValue,
  keys: EtcdKeys,
  form: ValueForm,
): LogEntry | undefined {
  const key = keys.fromEtcd(etcdKey);
  if (key === undefined) return undefined;
  try {
    return { key, value: form.unpack(bytes, key), revision };
  } catch (error) {
    if (!(error instanceof UnreadableValue)) throw error;
    return { key, value: { bytes: Buffer.alloc(0), revisionOffset: -1 }, revision, unreadable: error.message };
  }
}

/** Returns the error of a start that could not read the store. */
export const startError = (error: unknown): unknown => (error instanceof EtcdError ? readError(error) : error);
