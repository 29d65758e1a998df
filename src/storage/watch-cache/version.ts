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
import { type Allocate, insertRevision, moveToRevision } from "../versioned-value.ts";
import type { Entry } from "../watch-cache.ts";
import type { Bucket } from "./event-history.ts";

/** One version of a key. A deletion is a version too; its value is what the deletion event carries. */
export class Version implements Entry {
  readonly key: string;
  /** The value; empty while it cannot be read. */
  value: Buffer;
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

  constructor({ key, value, revisionOffset, revision, created, unreadable }: VersionFields) {
    this.key = key;
    this.value = value;
    this.revisionOffset = revisionOffset;
    this.revision = revision;
    this.created = created;
    this.unreadable = unreadable;
  }
}

type VersionFields = Pick<Version, "key" | "value" | "revisionOffset" | "revision" | "created" | "unreadable">;

/** Makes the version that is visible once a value was written to `key`, with memory of `allocate`. */
export function newVersion(
  key: string,
  value: Unversioned,
  { revision, unreadable }: Pick<LogEntry, "revision" | "unreadable">,
  created: Revision,
  allocate: Allocate,
): Version {
  const { revisionOffset } = value;
  const bytes = insertRevision(value, revision, allocate);
  return new Version({ key, value: bytes, revisionOffset, revision, created, unreadable });
}

/** Makes the version that is visible once the key of `last` was deleted: its last state, at the deletion's revision. */
export function deletedVersion(last: Version, revision: Revision, allocate: Allocate): Version {
  const value = moveToRevision(last.value, last.revisionOffset, { from: last.revision, to: revision }, allocate);
  const { key, revisionOffset, created, unreadable } = last;
  const version = new Version({ key, value, revisionOffset, revision, created, unreadable });
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
