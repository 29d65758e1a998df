/**
 * The data of etcd as a machine in memory, for tests: a command goes in, and a revision comes out. It keeps every state,
 * so that one machine serves members that have applied different parts of the log: a member at a position reads as if it
 * had taken no later command.
 *
 *     commands   put /a   put /a,/b   compact 3   delete /a
 *     index         1         2           3           4
 *     revision      2         3           3           4         a member at index 2 reads /a at revision 3
 */
import type {
  Comparison,
  EtcdErrorKind,
  EtcdEvent,
  EtcdOperation,
  KeyValue,
  RangeAnswer,
  RangeRequest,
  Transaction,
} from "./client.ts";

/** A change of the data that all members agree on. */
export type Command =
  | { readonly kind: "transaction"; readonly transaction: Transaction }
  | { readonly kind: "compact"; readonly revision: number }
  | { readonly kind: "grant"; readonly lease: string; readonly seconds: number }
  | { readonly kind: "revoke"; readonly lease: string };

/** A refusal of etcd, with its reason. */
export interface Failure {
  readonly failure: EtcdErrorKind;
  readonly message: string;
}

type RangeResult = Omit<RangeAnswer, "header">;

/** The result of a transaction. */
export interface Transacted {
  readonly revision: number;
  readonly succeeded: boolean;
  readonly ranges: readonly RangeResult[];
}

/** The state of the data after a command, as far as reads depend on it. */
export interface Position {
  readonly revision: number;
  /** The revision of the last compaction; -1: there was none. */
  readonly compacted: number;
}

/** The way in which an older state is restored. */
export interface Restoration {
  /** The number by which the revision moves on, and whether everything before it is declared as compacted. */
  readonly bump: number;
  readonly isCompacted: boolean;
}

/** The least time to live of a lease: one and a half of the time after which members elect another leader. */
const leaseSecondsMin = 2;
const leaseSecondsMax = 9_000_000_000;
const operationsMax = 128;
/** The revisions with changes of a watch that one message has at most while the watch catches up. */
const revisionsPerPage = 1000;

const nothing = Buffer.alloc(0);

export const refused = (failure: EtcdErrorKind, message: string): Failure => ({ failure, message });

export const isFailure = (answer: object | undefined): answer is Failure => answer !== undefined && "failure" in answer;

export class FakeStore {
  /** The position after each command; that before the first one has the index 0. */
  #positions: Position[] = [{ revision: 1, compacted: -1 }];
  /** The versions of each key, oldest first; a tombstone has the version 0. */
  readonly #versions = new Map<string, KeyValue[]>();
  /** All keys that ever were, in order. */
  readonly #keys: string[] = [];
  /** The changes of each revision. */
  #steps = new Map<number, readonly EtcdEvent[]>();
  /** The seconds of all leases that ever were granted, and the index of their end. */
  readonly #granted = new Map<string, { readonly seconds: number; readonly from: number; to: number }>();
  readonly #leases = new Map<string, { readonly seconds: number; readonly keys: Set<string> }>();
  /**
   * Whether there is room. `reached`: the quota is used up, and nobody knows yet: the next write is done, although it is
   * answered as if it were not. `alarm`: everything that needs room is refused.
   */
  room: "free" | "reached" | "alarm" = "free";

  /** The number of commands. */
  get index(): number {
    return this.#positions.length - 1;
  }

  at(index: number): Position {
    return this.#positions[index]!;
  }

  get leases(): ReadonlyMap<string, { readonly seconds: number }> {
    return this.#leases;
  }

  /**
   * Returns a store with the data after a command, as a snapshot of that time restores it; its revision moves on by `bump`,
   * which `isCompacted` declares as compacted.
   */
  restored(index: number, { bump, isCompacted }: Restoration): FakeStore {
    const store = new FakeStore();
    const { revision, compacted } = this.at(index);
    store.#positions = this.#positions.slice(0, index + 1);
    if (bump > 0) {
      const moved = revision + bump;
      store.#positions.push({ revision: moved, compacted: isCompacted ? moved : compacted });
    }
    store.#steps = new Map([...this.#steps].filter(([at]) => at <= revision));
    for (const [lease, { seconds, from, to }] of this.#granted) {
      if (from > index) continue;
      store.#granted.set(lease, { seconds, from, to: to <= index ? to : Number.POSITIVE_INFINITY });
      if (to > index) store.#leases.set(lease, { seconds, keys: new Set() });
    }
    for (const key of this.#keys) {
      const versions = this.#versions.get(key)!.filter((version) => version.revision <= revision);
      if (versions.length === 0) continue;
      store.#keys.push(key);
      store.#versions.set(key, versions);
      const { lease } = versions.at(-1)!;
      if (lease !== undefined) store.#leases.get(lease)?.keys.add(key);
    }
    return store;
  }

  /** Returns the index of the last command before a revision. */
  indexBefore(revision: number): number {
    return this.#positions.findLastIndex((position) => position.revision < revision);
  }

  /** Whether a revision has a new value of a key with this prefix. */
  hasValue(revision: number, prefix: string): boolean {
    const events = this.#steps.get(revision) ?? [];
    return events.some(({ type, entry }) => type === "put" && entry.key.startsWith(prefix));
  }

  /** Carries a command out. All members get the same result, or the same failure. */
  apply(command: Command): Transacted | Failure | undefined {
    const now = this.at(this.index);
    let { revision, compacted } = now;
    let result: Transacted | Failure | undefined;
    if (command.kind === "compact") {
      result = checkCompaction(command.revision, now);
      if (result === undefined) compacted = command.revision;
    } else if (command.kind === "grant") result = this.#grant(command.lease, command.seconds);
    else {
      result = command.kind === "revoke" ? this.#revoke(command.lease, now) : this.#transact(command.transaction, now);
      revision += this.#steps.has(revision + 1) ? 1 : 0;
    }
    this.#positions.push({ revision, compacted });
    return result;
  }

  /** Reads a range as a member at a position does. */
  range(request: RangeRequest, now: Position): RangeResult | Failure {
    const { limit = 0, keysOnly = false, countOnly = false } = request;
    if (request.key === "") return emptyKey;
    const failed = checkRevision(request, now);
    if (failed !== undefined) return failed;
    const at = (request.revision ?? 0) > 0 ? request.revision! : now.revision;
    const all: KeyValue[] = [];
    for (const key of this.#keysOf(request)) {
      const found = this.#versionAt(key, at);
      if (found !== undefined && found.version > 0) all.push(found);
    }
    if (countOnly) return { entries: [], more: false, count: all.length };
    const entries = limit > 0 ? all.slice(0, limit) : all;
    return {
      entries: keysOnly ? entries.map((entry) => ({ ...entry, value: nothing })) : entries,
      more: entries.length < all.length,
      count: all.length,
    };
  }

  /** Carries a transaction out that only reads, as a member at a position does. */
  read({ compare, then, otherwise }: Transaction, now: Position): Transacted | Failure {
    const succeeded = compare.every((comparison) => this.#holds(comparison, now));
    const ranges: RangeResult[] = [];
    for (const operation of succeeded ? then : otherwise) {
      if (operation.kind !== "range") continue;
      const range = this.range(operation.range, now);
      if (isFailure(range)) return range;
      ranges.push(range);
    }
    return { revision: now.revision, succeeded, ranges };
  }

  /**
   * Returns the next changes of a watch that has got everything before `from`, as a member at a position sends them;
   * `next` is the `from` of the following ones.
   */
  page(
    range: { readonly key: string; readonly end: string },
    from: number,
    now: Position,
  ): {
    readonly steps: readonly (readonly EtcdEvent[])[];
    readonly next: number;
  } {
    const steps: (readonly EtcdEvent[])[] = [];
    let revision = from;
    for (; revision <= now.revision && steps.length < revisionsPerPage; revision++) {
      const step = (this.#steps.get(revision) ?? []).filter(({ entry }) => isIn(entry.key, range));
      if (step.length > 0) steps.push(step.map((event) => withKeptPrevious(event, now)));
    }
    return { steps, next: revision };
  }

  #holds({ key, revision, orLess = false }: Comparison, now: Position): boolean {
    const found = this.#versionAt(key, now.revision);
    const present = found === undefined || found.version === 0 ? 0 : found.revision;
    return orLess ? present <= revision : present === revision;
  }

  #keysOf({ key, end }: RangeRequest): readonly string[] {
    if (end === undefined) return this.#versions.has(key) ? [key] : [];
    return this.#keys.filter((each) => isIn(each, { key, end }));
  }

  #versionAt(key: string, revision: number): KeyValue | undefined {
    const versions = this.#versions.get(key);
    if (versions === undefined) return undefined;
    let at = versions.length - 1;
    while (at >= 0 && versions[at]!.revision > revision) at--;
    return versions[at];
  }

  #grant(lease: string, seconds: number): Failure | undefined {
    if (seconds > leaseSecondsMax) return refused("invalid", "too large lease TTL");
    if (this.room === "alarm") return noSpace;
    const granted = Math.max(seconds, leaseSecondsMin);
    this.#leases.set(lease, { seconds: granted, keys: new Set() });
    this.#granted.set(lease, { seconds: granted, from: this.index + 1, to: Number.POSITIVE_INFINITY });
    return this.#takeRoom();
  }

  #revoke(lease: string, now: Position): Failure | undefined {
    const granted = this.#leases.get(lease);
    if (granted === undefined) return noLease;
    this.#leases.delete(lease);
    this.#granted.get(lease)!.to = this.index + 1;
    const keys = [...granted.keys].sort();
    this.#write(
      keys.map((key) => ({ kind: "delete", key })),
      now,
    );
    return undefined;
  }

  #transact(transaction: Transaction, now: Position): Transacted | Failure {
    const { compare, then, otherwise } = transaction;
    const needsRoom = [...then, ...otherwise].some(({ kind }) => kind === "put");
    if (this.room === "alarm" && needsRoom) return noSpace;
    const succeeded = compare.every((comparison) => this.#holds(comparison, now));
    const operations = succeeded ? then : otherwise;
    const failed = this.#checkLeases(operations) ?? checkRevisions(operations, now);
    if (failed !== undefined) return failed;
    const lost = needsRoom ? this.#takeRoom() : undefined;
    const { revision, ranges } = this.#write(operations, now);
    return lost ?? { revision, succeeded, ranges };
  }

  #checkLeases(operations: readonly EtcdOperation[]): Failure | undefined {
    const lacksLease = (operation: EtcdOperation): boolean =>
      operation.kind === "put" && operation.lease !== undefined && !this.#leases.has(operation.lease);
    return operations.some(lacksLease) ? noLease : undefined;
  }

  /** Returns the failure of the write that finds the quota used up, which is done all the same. */
  #takeRoom(): Failure | undefined {
    if (this.room !== "reached") return undefined;
    this.room = "alarm";
    return noSpace;
  }

  /** Does operations in one revision, if they change anything. A range sees the changes before it. */
  #write(
    operations: readonly EtcdOperation[],
    { revision: before, compacted }: Position,
  ): Omit<Transacted, "succeeded"> {
    const revision = before + 1;
    const events: EtcdEvent[] = [];
    const ranges: RangeResult[] = [];
    for (const operation of operations) {
      if (operation.kind === "range") {
        const at = events.length > 0 ? revision : before;
        ranges.push(this.range(operation.range, { revision: at, compacted }) as RangeResult); // it was checked before
        continue;
      }
      const event = this.#change(operation, revision);
      if (event !== undefined) events.push(event);
    }
    if (events.length === 0) return { revision: before, ranges };
    this.#steps.set(revision, events);
    return { revision, ranges };
  }

  #change(operation: Exclude<EtcdOperation, { readonly kind: "range" }>, revision: number): EtcdEvent | undefined {
    const { key } = operation;
    const last = this.#versionAt(key, revision);
    const previous = last === undefined || last.version === 0 ? undefined : last;
    if (operation.kind === "delete" && previous === undefined) return undefined;
    if (previous?.lease !== undefined) this.#leases.get(previous.lease)?.keys.delete(key);
    const entry: KeyValue =
      operation.kind === "delete"
        ? { key, value: nothing, revision, created: 0, version: 0, lease: undefined }
        : {
            key,
            value: Buffer.from(operation.value),
            revision,
            created: previous?.created ?? revision,
            version: (previous?.version ?? 0) + 1,
            lease: operation.lease,
          };
    if (entry.lease !== undefined) this.#leases.get(entry.lease)!.keys.add(key);
    if (last === undefined) {
      this.#keys.splice(placeIn(this.#keys, key), 0, key);
      this.#versions.set(key, [entry]);
    } else this.#versions.get(key)!.push(entry);
    return { type: operation.kind, entry, previous };
  }
}

const emptyKey = refused("invalid", "key is not provided");
const noLease = refused("noLease", "requested lease not found");
const noSpace = refused("full", "mvcc: database space exceeded");
const compactedRevision = refused("compacted", "mvcc: required revision has been compacted");
const futureRevision = refused("future", "mvcc: required revision is a future revision");

/** Returns why a member refuses a transaction before it tells the others. */
export function checkTransaction(
  { compare, then, otherwise }: Transaction,
  requestBytesMax: number,
): Failure | undefined {
  if (Math.max(compare.length, then.length, otherwise.length) > operationsMax)
    return refused("invalid", "too many operations in txn request");
  const operations = [...then, ...otherwise];
  const keys = operations.map((operation) => (operation.kind === "range" ? operation.range.key : operation.key));
  if ([...compare.map(({ key }) => key), ...keys].includes("")) return emptyKey;
  if (hasDuplicate(then) || hasDuplicate(otherwise)) return refused("invalid", "duplicate key given in txn request");
  let bytes = 0;
  for (const operation of operations) bytes += operation.kind === "put" ? operation.value.length : 0;
  return bytes > requestBytesMax ? refused("tooLarge", "request is too large") : undefined;
}

/** Whether a key is put twice, or put and deleted. */
function hasDuplicate(operations: readonly EtcdOperation[]): boolean {
  const put = new Set<string>();
  for (const operation of operations) {
    if (operation.kind !== "put") continue;
    if (put.has(operation.key)) return true;
    put.add(operation.key);
  }
  return operations.some((operation) => operation.kind === "delete" && put.has(operation.key));
}

/** Whether a transaction reads only, so that members need not agree on it. */
export const isReadOnly = ({ then, otherwise }: Transaction): boolean =>
  [...then, ...otherwise].every(({ kind }) => kind === "range");

function checkRevision({ revision = 0 }: RangeRequest, now: Position): Failure | undefined {
  if (revision > now.revision) return futureRevision;
  return revision > 0 && revision < now.compacted ? compactedRevision : undefined;
}

function checkRevisions(operations: readonly EtcdOperation[], now: Position): Failure | undefined {
  for (const operation of operations) {
    const failed = operation.kind === "range" ? checkRevision(operation.range, now) : undefined;
    if (failed !== undefined) return failed;
  }
  return undefined;
}

function checkCompaction(revision: number, now: Position): Failure | undefined {
  if (revision <= now.compacted) return compactedRevision;
  return revision > now.revision ? futureRevision : undefined;
}

function isIn(key: string, range: { readonly key: string; readonly end: string }): boolean {
  return key >= range.key && (range.end === "\0" || key < range.end);
}

/** Returns an event without its previous version, where that is compacted. */
function withKeptPrevious(event: EtcdEvent, { compacted }: Position): EtcdEvent {
  return event.previous === undefined || event.entry.revision - 1 >= compacted
    ? event
    : { ...event, previous: undefined };
}

function placeIn(keys: readonly string[], key: string): number {
  let [low, high] = [0, keys.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
