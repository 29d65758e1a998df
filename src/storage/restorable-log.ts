/**
 * A log around another one that remembers the present version of each key, so that a test can have an earlier state
 * written again. Restoring is a batch of ordinary writes with expected revisions: revisions go on, and history, watches
 * and informers see each change. The values of the present are in memory twice, so only test servers use it.
 */
import { ForwardingLog } from "./forwarding-log.ts";
import type { LogEntry, LogEvent, LogFollower, LogStore, LogWrite, Revision, Unversioned } from "./log-store.ts";

interface Remembered {
  /** The value as it was written. A restored key has the same object, so that it counts as unchanged. */
  readonly value: Unversioned;
  readonly revision: Revision;
  /**
   * The time at which the key expires, in milliseconds since the epoch; 0 for never, and for values that another process
   * wrote.
   */
  readonly expiresAt: number;
}

/** The state of a store at one revision. It stays valid as long as the log is open. */
export interface StoreSnapshot {
  readonly revision: Revision;
  readonly takenAtMs: number;
  readonly keys: ReadonlyMap<string, Remembered>;
}

export class RestorableLog extends ForwardingLog {
  readonly #now: () => number;
  readonly #keys = new Map<string, Remembered>();

  /** `now` returns the time in milliseconds since the epoch. */
  constructor(log: LogStore, now: () => number) {
    super(log);
    this.#now = now;
  }

  override follow(follower: LogFollower): Promise<void> {
    return super.follow({
      load: (entry) => {
        this.#remember(entry);
        follower.load(entry);
      },
      changed: (events) => {
        for (const event of events) this.#remember(event, event.write?.ttlSeconds);
        follower.changed(events);
      },
      progressed: (revision) => follower.progressed(revision),
      reloaded: (entries, revision) => {
        this.#keys.clear();
        for (const entry of entries) this.#remember(entry);
        follower.reloaded(entries, revision);
      },
      compacted: (revision) => follower.compacted(revision),
      recovered: (entries) => {
        for (const entry of entries) if (this.#keys.get(entry.key)?.revision === entry.revision) this.#remember(entry);
        follower.recovered(entries);
      },
    });
  }

  #remember({ key, value, revision }: LogEntry | LogEvent, ttlSeconds = 0): void {
    if (value === undefined) this.#keys.delete(key);
    else this.#keys.set(key, { value, revision, expiresAt: ttlSeconds > 0 ? this.#now() + ttlSeconds * 1000 : 0 });
  }

  takeSnapshot(): StoreSnapshot {
    return { revision: this.revision, takenAtMs: this.#now(), keys: new Map(this.#keys) };
  }

  /**
   * Writes the keys that differ from the snapshot: removes new keys, and puts changed and removed ones back. `order`
   * compares two keys; they are put back in this order, and removed in the opposite one. Resolves with the keys that
   * were written. A key that another writer changes meanwhile keeps the other's version.
   */
  async restore(snapshot: StoreSnapshot, order: (a: string, b: string) => number): Promise<readonly string[]> {
    const removed = [...this.#keys.keys()].filter((key) => !snapshot.keys.has(key)).sort((a, b) => order(b, a));
    const changed = [...snapshot.keys.keys()]
      .filter((key) => this.#keys.get(key)?.value !== snapshot.keys.get(key)?.value)
      .sort(order);
    const writes = [
      ...removed.map((key) => this.#writeOf(key, undefined, snapshot)),
      ...changed.map((key) => this.#writeOf(key, snapshot.keys.get(key), snapshot)),
    ];
    const results = await Promise.all(writes.map((write) => this.commit(write)));
    return writes.filter((_write, index) => results[index]?.committed === true).map(({ key }) => key);
  }

  #writeOf(key: string, saved: Remembered | undefined, { takenAtMs }: StoreSnapshot): LogWrite {
    const expires = saved !== undefined && saved.expiresAt !== 0;
    return {
      key,
      expected: this.#keys.get(key)?.revision ?? 0,
      value: saved?.value,
      ttlSeconds: expires ? Math.max(1, (saved.expiresAt - takenAtMs) / 1000) : 0,
      isForDeletion: true,
      requires: [],
      turn: undefined,
      note: undefined,
    };
  }
}
