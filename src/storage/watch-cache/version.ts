/**
 * The versions of one key in memory: a chain from the newest one back into recent history.
 *
 *     put a (rev 5), put a (rev 7), delete a (rev 9); nothing evicted yet:
 *       key a ── head: 9 (deleted) ─ older ─> 7 ─ older ─> 5
 *     history evicts event 5, then event 7 (an evicted event cuts its version's `older`):
 *       key a ── head: 9 (deleted) ─ older ─> 7
 *     history evicts event 9: the chain is gone.
 */
import type { LogEntry, Revision, Unversioned } from "../log-store.ts";
import { atRevision, movedToRevision, type SplicedBytes, splicedLength, writeSpliced } from "../versioned-value.ts";
import type { Entry } from "../watch-cache.ts";
import type { Bucket } from "./event-history.ts";
import { type Placed, type ValueSlabs } from "./value-slabs.ts";

/** One version of a key. A deletion is a version too; its value is what the deletion event carries. */
export class Version implements Entry, Placed {
  readonly key: string;
  /** The place of the value, which is empty while it cannot be read. A million views would be a hundred megabytes. */
  memory: Buffer = noMemory;
  start = 0;
  valueLength = 0;
  /** The offset in the value at which the digits of the revision begin; -1: the value shows none. */
  revisionOffset: number;
  readonly revision: Revision;
  readonly created: Revision;
  /** The reason why the value cannot be read. */
  unreadable: string | undefined;
  decoded: unknown = undefined;
  deleted = false;
  /** The version that this one replaced, while history still has it. */
  older: Version | undefined = undefined;

  constructor({ key, revisionOffset, revision, created, unreadable }: VersionFields) {
    this.key = key;
    this.revisionOffset = revisionOffset;
    this.revision = revision;
    this.created = created;
    this.unreadable = unreadable;
  }

  get value(): Buffer {
    return this.memory.subarray(this.start, this.start + this.valueLength);
  }

  /** The length of the value without the digits of its revision. */
  get unversionedLength(): number {
    return this.revisionOffset < 0 ? this.valueLength : this.valueLength - String(this.revision).length;
  }

  get ownValue(): Buffer {
    const { memory, start, valueLength } = this;
    if (memory.length === valueLength) return memory;
    const copy = Buffer.allocUnsafe(valueLength);
    memory.copy(copy, 0, start, start + valueLength);
    return copy;
  }

  beginsWith(bytes: Buffer): boolean {
    const { length } = bytes;
    return length <= this.valueLength && this.memory.compare(bytes, 0, length, this.start, this.start + length) === 0;
  }

  copyValue(target: Buffer, at: number, from: number, to: number): number {
    return this.memory.copy(target, at, this.start + from, this.start + to);
  }

  /** Writes the value into memory of `slabs`. */
  write(value: SplicedBytes, slabs: ValueSlabs): void {
    slabs.allocate(this, splicedLength(value));
    writeSpliced(value, this.memory, this.start);
  }
}

type VersionFields = Pick<Version, "key" | "revisionOffset" | "revision" | "created" | "unreadable">;

const noMemory = Buffer.alloc(0);

/** Makes the version that is visible once a value was written to `key`, with memory of `slabs`. */
export function newVersion(
  key: string,
  value: Unversioned,
  { revision, unreadable }: Pick<LogEntry, "revision" | "unreadable">,
  created: Revision,
  slabs: ValueSlabs,
): Version {
  const { revisionOffset } = value;
  const version = new Version({ key, revisionOffset, revision, created, unreadable });
  version.write(atRevision(value, revision), slabs);
  return version;
}

/** Makes the version that is visible once the key of `last` was deleted: its last state, at the deletion's revision. */
export function deletedVersion(last: Version, revision: Revision, slabs: ValueSlabs): Version {
  const { key, revisionOffset, created, unreadable } = last;
  const version = new Version({ key, revisionOffset, revision, created, unreadable });
  version.write(movedToRevision(last.value, revisionOffset, last.revision, revision), slabs);
  version.deleted = true;
  return version;
}

/** The versions of a key that exists, or that recent history still has. */
export class VersionChain {
  readonly key: string;
  readonly bucket: Bucket;
  /** The newest visible version, a deletion included. */
  head: Version | undefined = undefined;

  constructor(key: string, bucket: Bucket) {
    this.key = key;
    this.bucket = bucket;
  }

  /** The visible version, if the key exists. */
  get current(): Version | undefined {
    return this.head === undefined || this.head.deleted ? undefined : this.head;
  }
}

/** Returns the version of a chain that was current at `revision`; `undefined` when the key did not exist then. */
export function versionAt(head: Version | undefined, revision: Revision): Version | undefined {
  let version = head;
  while (version !== undefined && version.revision > revision) version = version.older;
  return version === undefined || version.deleted ? undefined : version;
}
