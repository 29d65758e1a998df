/**
 * What memory holds for one key: its `KeyHistory`, and from its head a chain of versions back into recent history.
 *
 *     put a (rev 5), put a (rev 7), delete a (rev 9); nothing evicted yet:
 *       key a ── head: 9 (deleted) ─ older ─> 7 ─ older ─> 5
 *     history evicts event 5, then event 7 (an evicted event cuts its version's `older`):
 *       key a ── head: 9 (deleted) ─ older ─> 7
 *     history evicts event 9: the key's history is gone.
 */
import type { Entry, Revision, WriteResult } from "../backend.ts";
import type { Bucket } from "./history.ts";

/** One version of a key. A deletion is a version too; its value is what the deletion event carries. */
export class Version implements Entry {
  readonly key: string;
  value: Buffer;
  readonly revision: Revision;
  readonly created: Revision;
  readonly expiresAt: number;
  view: unknown;
  readonly deleted: boolean;
  /** The version this one replaced, while history still holds it. */
  older: Version | undefined = undefined;

  constructor(
    key: string,
    value: Buffer,
    revision: Revision,
    created: Revision,
    expiresAt: number,
    view: unknown,
    deleted: boolean,
  ) {
    this.key = key;
    this.value = value;
    this.revision = revision;
    this.created = created;
    this.expiresAt = expiresAt;
    this.view = view;
    this.deleted = deleted;
  }
}

/** A key that lives, has history in memory, or is about to be written. */
export class KeyHistory {
  readonly key: string;
  readonly bucket: Bucket;
  /** Newest visible version, a deletion included. */
  head: Version | undefined = undefined;
  /** Newest write that has a revision but is not durable yet. */
  pending: PendingWrite | undefined = undefined;

  constructor(key: string, bucket: Bucket) {
    this.key = key;
    this.bucket = bucket;
  }

  /** The visible version, if the key exists. */
  get current(): Version | undefined {
    return this.head === undefined || this.head.deleted ? undefined : this.head;
  }
}

/** A write on its way to the log. */
export class PendingWrite {
  readonly versions: KeyHistory;
  readonly version: Version;
  /** Revision of the version it replaces, itself possibly pending; 0 when there is none. */
  readonly replaces: Revision;
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (error: Error) => void;
  /** Called once the outcome is known. */
  waiters: (() => void)[] | undefined = undefined;

  constructor(
    versions: KeyHistory,
    version: Version,
    replaces: Revision,
    resolve: (result: WriteResult) => void,
    reject: (error: Error) => void,
  ) {
    this.versions = versions;
    this.version = version;
    this.replaces = replaces;
    this.resolve = resolve;
    this.reject = reject;
  }
}

/** The version of a chain that was current at `revision`; `undefined` when the key did not exist then. */
export function versionAt(head: Version | undefined, revision: Revision): Version | undefined {
  let version = head;
  while (version !== undefined && version.revision > revision) version = version.older;
  return version === undefined || version.deleted ? undefined : version;
}
