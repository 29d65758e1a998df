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
import { insertRevision, moveToRevision } from "../versioned-value.ts";
import type { Entry } from "../watch-cache.ts";
import type { Bucket } from "./event-history.ts";

/** One version of a key. A deletion is a version too; its value is what the deletion event carries. */
export class Version implements Entry {
  readonly key: string;
  /** Written again only when an `UnreadableVersion` can be read. */
  value: Buffer;
  /** The offset in the value at which the digits of the revision begin; -1: the value shows none. */
  revisionOffset: number;
  readonly revision: Revision;
  readonly created: Revision;
  expiresAt = 0;
  decoded: unknown = undefined;
  deleted = false;
  /** The version this one replaced, while history still holds it. */
  older: Version | undefined = undefined;

  constructor(key: string, value: Buffer, revisionOffset: number, revision: Revision, created: Revision) {
    this.key = key;
    this.value = value;
    this.revisionOffset = revisionOffset;
    this.revision = revision;
    this.created = created;
  }
}

/** A version whose value cannot be read, and is empty. A class of its own, so that all others need no field for it. */
export class UnreadableVersion extends Version {
  /** The reason why it cannot be read; `undefined` once it could be read. */
  unreadable: string | undefined;

  constructor({ key, value, revisionOffset, revision, created, expiresAt, deleted }: Version, unreadable: string) {
    super(key, value, revisionOffset, revision, created);
    this.expiresAt = expiresAt;
    this.deleted = deleted;
    this.unreadable = unreadable;
  }
}

/** Makes the version that is visible once `value` was written to `key`. */
export function newVersion(
  key: string,
  value: Unversioned,
  { revision, expiresAt, unreadable }: Pick<LogEntry, "revision" | "expiresAt" | "unreadable">,
  created: Revision,
): Version {
  const version = new Version(key, insertRevision(value, revision), value.revisionOffset, revision, created);
  version.expiresAt = expiresAt;
  return unreadable === undefined ? version : new UnreadableVersion(version, unreadable);
}

/** Makes the version that is visible once the key of `last` was deleted: its last state, at the deletion's revision. */
export function deletedVersion(last: Version, revision: Revision): Version {
  const { key, value, revisionOffset, created } = last;
  const bytes = moveToRevision(value, revisionOffset, last.revision, revision);
  const version = new Version(key, bytes, revisionOffset, revision, created);
  version.deleted = true;
  const why = last instanceof UnreadableVersion ? last.unreadable : undefined;
  return why === undefined ? version : new UnreadableVersion(version, why);
}

/** A key that exists, or that recent history still knows. */
export class VersionChain {
  readonly key: string;
  readonly bucket: Bucket;
  /** Newest visible version, a deletion included. */
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

/** The version of a chain that was current at `revision`; `undefined` when the key did not exist then. */
export function versionAt(head: Version | undefined, revision: Revision): Version | undefined {
  let version = head;
  while (version !== undefined && version.revision > revision) version = version.older;
  return version === undefined || version.deleted ? undefined : version;
}
