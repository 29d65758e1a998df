/**
 * Checks a recorded history of requests and answers against the event order of a watch from the beginning, which is
 * taken as the truth.
 */
import assert from "node:assert/strict";

/** One change, in the truth. */
export interface Change {
  readonly version: number;
  readonly type: string;
  /** `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly value: Value;
}

/** The content of simulated objects. */
export interface Value {
  /** Counted up by updates that name the version they saw. */
  readonly count: number;
  /** Names of unconditional patches, each added once. */
  readonly marks: readonly string[];
  readonly isMarked: boolean;
}

/** An answered write. */
export interface Write {
  readonly kind: "create" | "update" | "patch" | "delete";
  readonly key: string;
  readonly startedMs: number;
  readonly endedMs: number;
  /** Version it was given; of a deletion undefined. */
  readonly version: number | undefined;
  readonly uid: string;
  /** Name of a patch's mark. */
  readonly mark?: string;
}

/** An answered list. `version` is that of its metadata. */
export interface Listing {
  readonly startedMs: number;
  readonly prefix: string;
  readonly onlyMarked: boolean;
  readonly version: number;
  /** Version of each object by key. */
  readonly found: ReadonlyMap<string, number>;
  /** Requested without a version, so all earlier acknowledged writes must be present. */
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
  /** Keys of writes whose result is unknown, because the client had gone. */
  readonly unknown: ReadonlySet<string>;
}

type State = Map<string, { readonly version: number; readonly value: Value; readonly uid: string }>;

export function checkHistory(history: History): void {
  checkOrder(history.changes);
  checkWrites(history);
  for (const listing of history.listings) checkListing(history, listing);
  for (const watched of history.watches) checkWatch(history.changes, watched);
}

/** Versions rise strictly; objects are made, changed and removed in this order; no update is lost. */
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

/** Each answered write happened once, at its answer's version; all other changes are writes of clients that left. */
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
  // A write that ended before something else began comes before it.
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

/** A list is the state at its version, whole. */
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

/** A watch saw every change in its scope after its start, once and in order, up to where it ended. */
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
