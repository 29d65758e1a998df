/** A client of etcd that tells an observer of its calls and watches, for metrics. It changes nothing about them. */
import type { Clock } from "#std/clock.ts";
import { prefixEnd } from "#std/ordered-map.ts";

import type {
  EtcdCallOptions,
  EtcdClient,
  EtcdWatch,
  KnownVersion,
  MemberStatus,
  RangeAnswer,
  RangeRequest,
  Transaction,
  TransactionAnswer,
  WatchFollower,
  WatchRequest,
} from "./client.ts";
import type { EtcdKeys } from "./keys.ts";

/** The kinds of requests as kube-apiserver's metrics name them. */
type EtcdRequestKind = "get" | "list" | "listWithCount" | "create" | "update" | "delete";

/** The type of requests that are not about the objects of one resource. */
export const anyType = "*";

/** Callbacks for metrics of etcd. Each is called synchronously and must not throw. */
export interface EtcdObserver {
  /**
   * Called after a read or a transaction with its duration. `type` is the resource with its group, as in `configmaps` or
   * `leases.coordination.k8s.io`, or `anyType`. A transaction whose comparison fails is done.
   */
  request(kind: EtcdRequestKind, type: string, seconds: number, isDone: boolean): void;
  /** Called when a lease is followed by another for the same time, with the number of writes that used it. */
  leaseUsed(writes: number): void;
  /** Called when etcd tells how far a watch has come without an event. */
  progressed(): void;
  /** Called with the bytes of the database of the member in use; `undefined`: it did not answer. */
  sized(bytes: number | undefined): void;
}

interface LeaseUse {
  readonly lease: string;
  writes: number;
}

export class MeasuredClient implements EtcdClient {
  readonly #inner: EtcdClient;
  readonly #observer: EtcdObserver;
  readonly #clock: Clock;
  readonly #keys: EtcdKeys;
  readonly #end: string;
  /** The last lease of each time to live, in seconds, and the same by the id of the lease. */
  readonly #leases = new Map<number, LeaseUse>();
  readonly #leasesById = new Map<string, LeaseUse>();

  constructor(inner: EtcdClient, observer: EtcdObserver, clock: Clock, keys: EtcdKeys) {
    this.#inner = inner;
    this.#observer = observer;
    this.#clock = clock;
    this.#keys = keys;
    this.#end = prefixEnd(keys.prefix)!; // the prefix is not empty
  }

  get endpoint(): string {
    return this.#inner.endpoint;
  }

  range(request: RangeRequest, options: EtcdCallOptions): Promise<RangeAnswer> {
    const { key, end, countOnly = false } = request;
    const type = end === this.#end ? anyType : this.#typeOf(key);
    const many = countOnly ? "listWithCount" : "list";
    return this.#measure(end === undefined ? "get" : many, type, this.#inner.range(request, options));
  }

  transact(transaction: Transaction, options: EtcdCallOptions): Promise<TransactionAnswer> {
    const { compare, then } = transaction;
    const [first] = then;
    const key = first === undefined || first.kind === "range" ? (first?.range.key ?? "") : first.key;
    let kind: EtcdRequestKind = "get";
    if (first?.kind === "delete") kind = "delete";
    else if (first?.kind === "put") kind = compare[0]?.revision === 0 ? "create" : "update";
    const use = first?.kind === "put" && first.lease !== undefined ? this.#leasesById.get(first.lease) : undefined;
    if (use !== undefined) use.writes++;
    return this.#measure(kind, this.#typeOf(key), this.#inner.transact(transaction, options));
  }

  watch(request: WatchRequest, follower: WatchFollower): EtcdWatch {
    return this.#inner.watch(request, {
      changed: (events, revision) => follower.changed(events, revision),
      progressed: (revision) => {
        this.#observer.progressed();
        follower.progressed(revision);
      },
      ended: (end) => follower.ended(end),
    });
  }

  compact(revision: number, options: EtcdCallOptions): Promise<void> {
    return this.#inner.compact(revision, options);
  }

  async grantLease(seconds: number, options: EtcdCallOptions): Promise<string> {
    const lease = await this.#inner.grantLease(seconds, options);
    const before = this.#leases.get(seconds);
    if (before !== undefined) {
      this.#leasesById.delete(before.lease);
      this.#observer.leaseUsed(before.writes);
    }
    const use = { lease, writes: 0 };
    this.#leases.set(seconds, use);
    this.#leasesById.set(lease, use);
    return lease;
  }

  renewLease(lease: string, options: EtcdCallOptions): Promise<number> {
    return this.#inner.renewLease(lease, options);
  }

  revokeLease(lease: string, options: EtcdCallOptions): Promise<void> {
    return this.#inner.revokeLease(lease, options);
  }

  leaseSeconds(lease: string, options: EtcdCallOptions): Promise<number> {
    return this.#inner.leaseSeconds(lease, options);
  }

  status(options: EtcdCallOptions): Promise<MemberStatus> {
    return this.#inner.status(options);
  }

  expect(known: () => KnownVersion | undefined, doubted: () => void): void {
    this.#inner.expect(known, doubted);
  }

  close(): void {
    this.#inner.close();
  }

  /** Returns the call itself, so that its answer comes no later. */
  #measure<T>(kind: EtcdRequestKind, type: string, call: Promise<T>): Promise<T> {
    const startMs = this.#clock.monotonic();
    const ended = (isDone: boolean): void =>
      this.#observer.request(kind, type, (this.#clock.monotonic() - startMs) / 1000, isDone);
    call.then(
      () => ended(true),
      () => ended(false),
    );
    return call;
  }

  #typeOf(key: string): string {
    const [, , group, resource] = this.#keys.fromEtcd(key)?.split("/", 4) ?? [];
    if (resource === undefined) return anyType;
    return group === "core" ? resource : `${resource}.${group}`;
  }
}
