/**
 * The calls of etcd that the log makes, and what can become of them. `members.ts` makes them on real members,
 * and a fake in memory. Keys are those of etcd, with their prefix, in UTF-8; revisions are numbers, which
 * are exact up to 2^53; ids of leases, members and clusters are hexadecimal texts, since they use all 64 bits.
 */

/** A current or former version of a key. A tombstone has an empty value, and `created` and `version` 0. */
export interface KeyValue {
  readonly key: string;
  /** It may share memory with other values of the same answer. */
  readonly value: Buffer;
  /** The revision of the last change of the key. */
  readonly revision: number;
  /** The revision at which the key was last created. */
  readonly created: number;
  /** The number of the version since the key was created; 1 for the first. */
  readonly version: number;
  /** The lease that the key is attached to; `undefined`: it has none. */
  readonly lease: string | undefined;
}

/** A version that a store has in its history, until that is compacted. */
export type KnownVersion = Pick<KeyValue, "key" | "value" | "revision">;

/** The part of every answer that is about the member that gave it. */
export interface AnswerHeader {
  readonly cluster: string;
  readonly member: string;
  /** The revision of the store when the member answered. */
  readonly revision: number;
  readonly term: number;
}

export interface RangeRequest {
  readonly key: string;
  /** The first key after the range; left out: one key is read. `"\0"` means all keys from `key` on. */
  readonly end?: string;
  /** The maximum number of keys; 0 or left out: all. */
  readonly limit?: number;
  /** The revision whose state is read; 0 or left out: the present. */
  readonly revision?: number;
  /** Whether a member may answer from what it has applied, without asking the others. */
  readonly isSerializable?: boolean;
  readonly keysOnly?: boolean;
  readonly countOnly?: boolean;
}

export interface RangeAnswer {
  readonly header: AnswerHeader;
  readonly entries: readonly KeyValue[];
  /** Whether keys of the range follow after the last entry. */
  readonly more: boolean;
  /** The number of keys of the whole range. */
  readonly count: number;
}

/**
 * A condition of a transaction on the revision of the last change of a key, which is 0 for a key that does not exist: it
 * is this one, or with `orLess` also an earlier one.
 */
export interface Comparison {
  readonly key: string;
  readonly revision: number;
  readonly orLess?: boolean;
}

export type EtcdOperation =
  | { readonly kind: "put"; readonly key: string; readonly value: Uint8Array; readonly lease?: string }
  | { readonly kind: "delete"; readonly key: string }
  | { readonly kind: "range"; readonly range: RangeRequest };

/** A transaction: when all comparisons hold, `then` is done, else `otherwise`. */
export interface Transaction {
  readonly compare: readonly Comparison[];
  readonly then: readonly EtcdOperation[];
  readonly otherwise: readonly EtcdOperation[];
}

export interface TransactionAnswer {
  readonly header: AnswerHeader;
  readonly succeeded: boolean;
  /** The answers of the operations of `range`, in order; puts and deletions have none. */
  readonly ranges: readonly RangeAnswer[];
}

/** One change of one key. */
export interface EtcdEvent {
  readonly type: "put" | "delete";
  /** The new version; for a deletion a tombstone at the revision of the deletion. */
  readonly entry: KeyValue;
  /** The version before, where the watch asked for it, and it is not compacted. */
  readonly previous: KeyValue | undefined;
}

export interface WatchRequest {
  readonly key: string;
  readonly end: string;
  /** The first revision whose changes are delivered. */
  readonly from: number;
  readonly withPrevious?: boolean;
}

/** The reason why a watch ended. After any of them the watch delivers nothing more. */
export type WatchEnd =
  | { readonly kind: "closed" }
  /** Changes from `compacted` on are kept; earlier ones are gone. */
  | { readonly kind: "compacted"; readonly compacted: number }
  /** The connection ended, the member has no leader, or it answered with an error. */
  | { readonly kind: "lost"; readonly error: EtcdError };

/** Takes what a watch delivers. Its methods are called synchronously, in the order of revisions. */
export interface WatchFollower {
  /**
   * Takes changes in the order of their revisions. All changes of one revision are in one call. `revision` is that up to
   * which everything has been delivered.
   */
  changed(events: readonly EtcdEvent[], revision: number): void;
  /** Takes the answer to `requestProgress`, or a notice of etcd: everything up to `revision` has been delivered. */
  progressed(revision: number): void;
  ended(end: WatchEnd): void;
}

export interface EtcdWatch {
  /** Asks the member to which revision the watch has come. */
  requestProgress(): void;
  close(): void;
}

export interface EtcdCallOptions {
  /** The time after which the call is given up, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * The address of a member that must not answer, as in `EtcdError.endpoint`: the call goes to another one, if there is
   * another. For settling a transaction whose answer is missing.
   */
  readonly avoid?: string;
}

export interface MemberStatus {
  readonly header: AnswerHeader;
  /** The version of etcd, as in `3.5.16`. */
  readonly version: string;
  readonly dbBytes: number;
  readonly dbBytesInUse: number;
  /** The hexadecimal id of the leader; `undefined`: there is none. */
  readonly leader: string | undefined;
  /** The alarms of the cluster, as in `NOSPACE`. */
  readonly alarms: readonly string[];
}

/**
 * All calls reject with an `EtcdError`. A call waits for a member that can be used, for as long as its time allows, and
 * is then sent once.
 */
export interface EtcdClient {
  /** The address of the member in use, for messages. */
  readonly endpoint: string;
  range(request: RangeRequest, options: EtcdCallOptions): Promise<RangeAnswer>;
  /** Sends a transaction once, to one member. Repeating it is the caller's task, since an answer can be lost. */
  transact(transaction: Transaction, options: EtcdCallOptions): Promise<TransactionAnswer>;
  /** Opens a watch on the member in use. It ends with `lost` as soon as the member has no leader. */
  watch(request: WatchRequest, follower: WatchFollower): EtcdWatch;
  /** Forgets history before `revision`. A revision that was compacted before is an `EtcdError` of the kind `compacted`. */
  compact(revision: number, options: EtcdCallOptions): Promise<void>;
  /** Grants a lease; resolves with its id. */
  grantLease(seconds: number, options: EtcdCallOptions): Promise<string>;
  /** Renews a lease; resolves with the seconds that it has now, 0 when it is gone. */
  renewLease(lease: string, options: EtcdCallOptions): Promise<number>;
  revokeLease(lease: string, options: EtcdCallOptions): Promise<void>;
  /** Resolves with the seconds that a lease still has, 0 when it is gone. */
  leaseSeconds(lease: string, options: EtcdCallOptions): Promise<number>;
  status(options: EtcdCallOptions): Promise<MemberStatus>;
  /**
   * Takes a function that returns a version which every member must have. A member is asked for it before it is used; one
   * that does not have it holds another store. `doubted` is called when a member is going to be used that cannot say
   * whether it had the version, since it has compacted it.
   */
  expect(known: () => KnownVersion | undefined, doubted: () => void): void;
  /** Ends all calls and watches. */
  close(): void;
}

/** The reasons why a call failed, as far as callers decide by them. */
export type EtcdErrorKind =
  /** The call did not reach a member, or the member refused it before it did anything: it was certainly not done. */
  | "unsent"
  /** The answer is missing, or does not say whether the call was done. */
  | "unanswered"
  /** The revision that was asked for is compacted. */
  | "compacted"
  /** The revision that was asked for is in the future of this member. */
  | "future"
  /**
   * The members hold another store than before: that of another cluster, or one that went back to an earlier revision.
   * None of them was asked.
   */
  | "replaced"
  /** There is no room (alarm NOSPACE). The writes that etcd is at work with when it notices are done all the same. */
  | "full"
  /** The data of a member is damaged (alarm CORRUPT). */
  | "corrupt"
  /** The request is larger than the cluster takes. */
  | "tooLarge"
  /** The answer is larger than this client takes. */
  | "answerTooLarge"
  /** Credentials are missing, wrong, or have no right. */
  | "unauthorized"
  /** The lease that is named does not exist. */
  | "noLease"
  /** The answer breaks the protocol, or the request does; `mayBeDone` tells them apart. */
  | "invalid";

interface EtcdErrorOptions extends ErrorOptions {
  readonly mayBeDone?: boolean;
}

export class EtcdError extends Error {
  readonly kind: EtcdErrorKind;
  /** The address of the member; `undefined` when none was reached. */
  readonly endpoint: string | undefined;
  /** Whether the member may have done what the call asks for. `false`: it certainly has not. */
  readonly mayBeDone: boolean;

  constructor(kind: EtcdErrorKind, message: string, endpoint?: string, options: EtcdErrorOptions = {}) {
    super(message, options);
    this.name = "EtcdError";
    this.kind = kind;
    this.endpoint = endpoint;
    this.mayBeDone = options.mayBeDone ?? (kind === "unanswered" || kind === "full");
  }
}
