/**
 * The changes that an etcd in memory has really made, for tests that compare with them what servers say. Each value has a
 * number of its own, so that a change tells the write that made it.
 */
import assert from "node:assert/strict";
import type { Revision } from "../log-store.ts";
import type { EtcdEvent } from "./client.ts";
import type { FakeEtcd } from "./fake-etcd-for-tests.ts";
import type { EtcdKeys } from "./keys.ts";

/** A change of a key that servers show. */
export interface TrueChange {
  readonly key: string;
  readonly revision: Revision;
  /** The time of the commit, in milliseconds. */
  readonly atMs: number;
  /** The number of the value; `undefined`: the key was deleted. */
  readonly id: number | undefined;
  /** The version before; `undefined`: there was none. */
  readonly previous: TrueChange | undefined;
}

/** Returns the text of a value. The digits of the revision belong between the quotes. */
export const textOf = (id: number, revision: Revision | ""): string =>
  `{"metadata":{"resourceVersion":"${revision}"},"id":${id}}`;

export class Truth {
  readonly #store: FakeEtcd["store"];
  readonly #commitTimes: readonly number[];
  readonly #keys: EtcdKeys;
  readonly #changes: TrueChange[] = [];
  readonly #states: Map<string, TrueChange>[] = [new Map()];
  #next = 2;

  /** Takes the changes that an etcd has and gets, until it is restored. */
  constructor({ store, commitTimes }: FakeEtcd, keys: EtcdKeys) {
    this.#store = store;
    this.#commitTimes = commitTimes;
    this.#keys = keys;
  }

  /** The last revision. */
  get revision(): Revision {
    return this.#store.at(this.#store.index).revision;
  }

  get compacted(): Revision {
    return this.#store.at(this.#store.index).compacted;
  }

  /** All changes, in order. */
  get changes(): readonly TrueChange[] {
    this.#update();
    return this.#changes;
  }

  /** Returns the state at a revision. */
  at(revision: Revision): ReadonlyMap<string, TrueChange> {
    this.#update();
    assert.ok(revision <= this.revision, `revision ${revision} is in the future`);
    return this.#states[revision] ?? new Map();
  }

  /** Returns the entries of a prefix at a revision, in order. */
  range(prefix: string, revision: Revision): TrueChange[] {
    const entries = [...this.at(revision).values()].filter(({ key }) => key.startsWith(prefix));
    return entries.sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** Returns the revision that the store had at a time. */
  revisionAt(ms: number): Revision {
    let { revision } = this;
    // Revisions that were passed over have no time.
    while (revision > 1 && !(this.#commitTimes[revision]! <= ms)) revision--;
    return revision;
  }

  /** Returns the versions that a key had in a span of time, oldest first; `undefined` when it did not exist. */
  versionsIn(key: string, startMs: number, endMs: number): (TrueChange | undefined)[] {
    const versions: (TrueChange | undefined)[] = [];
    const last = this.revisionAt(endMs);
    for (let revision = this.revisionAt(startMs); revision <= last; revision++) {
      const version = this.at(revision).get(key);
      if (versions.length === 0 || versions.at(-1) !== version) versions.push(version);
    }
    return versions;
  }

  #update(): void {
    const { revision } = this;
    while (this.#next <= revision) {
      const page = this.#store.page({ key: "/", end: "0" }, this.#next, { revision, compacted: -1 });
      for (const step of page.steps) this.#add(step);
      this.#next = page.next;
    }
    for (let at = this.#states.length; at <= revision; at++) this.#states[at] = this.#states[at - 1]!;
  }

  #add(step: readonly EtcdEvent[]): void {
    const { revision } = step[0]!.entry;
    for (let at = this.#states.length; at < revision; at++) this.#states[at] = this.#states[at - 1]!;
    const state = new Map(this.#states[revision - 1]);
    for (const { type, entry } of step) {
      const key = this.#keys.fromEtcd(entry.key);
      if (key === undefined) continue;
      const id = type === "put" ? idOf(entry.value) : undefined;
      const change = { key, revision, atMs: this.#commitTimes[revision]!, id, previous: state.get(key) };
      this.#changes.push(change);
      if (id === undefined) state.delete(key);
      else state.set(key, change);
    }
    this.#states[revision] = state;
  }
}

/** Returns the number of a value. */
const idOf = (value: Buffer): number => Number(/"id":(\d+)/.exec(value.toString("latin1"))?.[1]);
