/**
 * The memory of one key: its `KeyHistory`, whose head begins a chain of versions back into recent history.
 *
 *     put a (rev 5), put a (rev 7), delete a (rev 9); nothing evicted yet:
 *       key a ── head: 9 (deleted) ─ older ─> 7 ─ older ─> 5
 *     history evicts event 5, then event 7 (an evicted event cuts its version's `older`):
 *       key a ── head: 9 (deleted) ─ older ─> 7
 *     history evicts event 9: the key's history is gone.
 */
import type { Revision } from "../log-store.ts";
import type { Entry } from "../watch-cache.ts";
import type { Bucket } from "./history.ts";

/** One version of a key. A deletion is a version too; its value is what the deletion event carries. */
export class Version implements Entry {
  readonly key: string;
  /** Written again only when an `UnreadableVersion` can be read. */
  value: Buffer;
  /** Where in the value the digits of the revision begin; -1: nowhere. */
  place: number;
  readonly revision: Revision;
  readonly created: Revision;
  readonly expiresAt: number;
  view: unknown = undefined;
  readonly deleted: boolean;
  /** The version this one replaced, while history still holds it. */
  older: Version | undefined = undefined;

  constructor(
    key: string,
    value: Buffer,
    place: number,
    revision: Revision,
    created: Revision,
    expiresAt: number,
    deleted: boolean,
  ) {
    this.key = key;
    this.value = value;
    this.place = place;
    this.revision = revision;
    this.created = created;
    this.expiresAt = expiresAt;
    this.deleted = deleted;
  }
}

/** A version whose value cannot be read, and is empty. A class of its own, so that all others need no field for it. */
export class UnreadableVersion extends Version {
  /** Why; `undefined` once the value could be read. */
  unreadable: string | undefined = "";
}

/** A key that lives, or has history in memory. */
export class KeyHistory {
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
