/**
 * Checks a recorded history of requests and answers against the order of events in a watch from the beginning, which
 * counts as the truth.
 */
import assert from "node:assert/strict";

/** A change in the true order. */
export interface Change {
  readonly version: number;
  readonly type: string;
  /** The key of the object: `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly value: Value;
}

/** The content of simulated objects. */
export interface Value {
  /** The count of updates that named the version they saw. */
  readonly count: number;
  /** The names of unconditional patches, each added once. */
  readonly marks: readonly string[];
  readonly isMarked: boolean;
}

/** An answered write. */
export interface Write {
  readonly kind: "create" | "update" | "patch" | "delete";
  readonly key: string;
  readonly startedMs: number;
  readonly endedMs: number;
  /** The version of the write; `undefined` for a deletion. */
  readonly version: number | undefined;
  readonly uid: string;
  /** The name of a patch's mark. */
  readonly mark?: string;
}

/** An answered list. `version` is that of its metadata. */
export interface Listing {
  readonly startedMs: number;
  readonly prefix: string;
  readonly onlyMarked: boolean;
  readonly version: number;
  /** The version of each object by key. */
  readonly found: ReadonlyMap<string, number>;
  /** Whether it was requested without a version, so that all earlier acknowledged writes must be in it. */
  readonly isFresh: boolean;
}

/** The events of one watch after `after`. */
export interface Watched {
  readonly prefix: string;
  readonly onlyMarked: boolean;
  readonly after: number;
  readonly events: readonly { readonly version: number; readonly type: string; readonly key: string }[];
}

export interface History {
  readonly changes: readonly Change[];
  readonly writes: readonly Write[];
  readonly listings: readonly Listing[];
  readonly watches: readonly Watched[];
  /** The keys of writes with unknown results, since their client was stopped. */
  readonly unknown: ReadonlySet<string>;
}

type State = Map<string, { readonly version: number; readonly value: Value; readonly uid: string }>;

export function checkHistory(history: History): void {
  checkOrder(history.changes);
  checkWrites(history);
  for (const listing of history.listings) checkListing(history, listing);
  for (const watched of history.watches) checkWatch(history.changes, watched);
}

/**
 * Checks that versions increase, that objects are created, changed and removed in this order, and that no update is
 * lost.
 */
function checkOrder(changes: readonly Change[]): void {
  const state: State = new Map();
  const uids = new Set<string>();
  let last = 0;
  for (const change of changes) {
    const { version, type, key, uid, value } = change;
    assert.ok(version > last, `version ${version} after ${last}`);
    last = version;
    const before = state.get(key);
    if (type === "ADDED") {
      assert.equal(before, undefined, `${key} was added twice at ${version}`);
      assert.ok(!uids.has(uid), `${uid} was given out twice`);
      uids.add(uid);
      state.set(key, change);
      continue;
    }
    assert.ok(before !== undefined, `${type} of ${key} at ${version}, which was not there`);
    assert.equal(uid, before.uid, `${key} changed its uid at ${version}`);
    if (type === "DELETED") {
      assert.deepEqual(value, before.value, `the last state of ${key} differs at ${version}`);
      state.delete(key);
      continue;
    }
    const counted = value.count - before.value.count;
    const marked = value.marks.filter((mark) => !before.value.marks.includes(mark));
    const lost = before.value.marks.filter((mark) => !value.marks.includes(mark));
    assert.deepEqual(lost, [], `${key} lost a patch at ${version}`);
    assert.ok(counted === 0 || counted === 1, `the count of ${key} went up by ${counted} at ${version}`);
    assert.ok(counted + marked.length <= 1, `two writes became one for ${key} at ${version}`);
    state.set(key, change);
  }
}

/**
 * Checks that each answered write happened once, at the version of its answer. All other changes must be writes of
 * stopped clients.
 */
function checkWrites({ changes, writes, unknown }: History): void {
  const types = { create: "ADDED", update: "MODIFIED", patch: "MODIFIED", delete: "DELETED" } as const;
  const byVersion = new Map(changes.map((change) => [change.version, change]));
  const deletions = new Map(changes.filter(({ type }) => type === "DELETED").map((change) => [change.uid, change]));
  const explained = new Set<number>();
  for (const write of writes) {
    const change = write.version === undefined ? deletions.get(write.uid) : byVersion.get(write.version);
    assert.ok(change !== undefined, `a ${write.kind} of ${write.key} was acknowledged and never seen`);
    assert.equal(change.key, write.key);
    assert.equal(change.type, types[write.kind], `${write.kind} of ${write.key} at ${change.version}`);
    if (write.mark !== undefined) assert.ok(change.value.marks.includes(write.mark));
    assert.ok(!explained.has(change.version), `two answers speak of version ${change.version}`);
    explained.add(change.version);
  }
  for (const change of changes) {
    if (explained.has(change.version)) continue;
    assert.ok(unknown.has(change.key), `${change.type} of ${change.key} at ${change.version}: nobody did this`);
  }
  // A write that ended before another began has the lower version.
  const ordered = writes.filter((write) => write.version !== undefined).sort((a, b) => a.startedMs - b.startedMs);
  const ended = ordered.toSorted((a, b) => a.endedMs - b.endedMs);
  let highest = 0;
  let next = 0;
  for (const write of ordered) {
    while (next < ended.length && ended[next]!.endedMs < write.startedMs)
      highest = Math.max(highest, ended[next++]!.version!);
    assert.ok(
      write.version! > highest,
      `${write.kind} of ${write.key} got ${write.version} after ${highest} was answered`,
    );
  }
}

/** Checks that a list is the whole state at its version. */
function checkListing({ changes, writes }: History, listing: Listing): void {
  const wanted = new Map<string, number>();
  for (const change of changes) {
    if (change.version > listing.version) break;
    if (!change.key.startsWith(listing.prefix)) continue;
    if (change.type === "DELETED" || (listing.onlyMarked && !change.value.isMarked)) wanted.delete(change.key);
    else wanted.set(change.key, change.version);
  }
  assert.deepEqual(Object.fromEntries(listing.found), Object.fromEntries(wanted), `list at ${listing.version}`);
  if (!listing.isFresh) return;
  for (const { version, endedMs, kind, key } of writes) {
    if (version === undefined || endedMs >= listing.startedMs) continue;
    assert.ok(
      listing.version >= version,
      `a list at ${listing.version} began after ${kind} of ${key} at ${version} was answered`,
    );
  }
}

/** Checks that a watch showed every change in its scope after its start, once and in order, up to its end. */
function checkWatch(changes: readonly Change[], { prefix, onlyMarked, after, events }: Watched): void {
  const end = events.at(-1)?.version ?? after;
  const wanted: string[] = [];
  const shown = new Map<string, boolean>();
  for (const { version, type, key, value } of changes) {
    if (!key.startsWith(prefix)) continue;
    const was = shown.get(key) ?? false;
    const is = type !== "DELETED" && (!onlyMarked || value.isMarked);
    shown.set(key, is);
    if (version <= after || version > end) continue;
    if (is) wanted.push(`${version} ${was ? "MODIFIED" : "ADDED"} ${key}`);
    else if (was) wanted.push(`${version} DELETED ${key}`);
  }
  assert.deepEqual(
    events.map(({ version, type, key }) => `${version} ${type} ${key}`),
    wanted,
    `a watch of "${prefix}" from ${after}`,
  );
}
