/**
 * Leases of keys that expire. One lease serves many keys, since each costs the cluster more than a key: those that are
 * written within a short time and live for as long. A key then lives a little longer than it was to.
 */
import type { Clock } from "#std/clock.ts";

import type { EtcdCallOptions, EtcdClient } from "./client.ts";

/** The maximum number of keys of a lease. */
const keysMax = 1000;
/** The part of its time by which a key may outlive it, so that leases are shared; for short times 2 seconds. */
const shareMax = 0.05;
const shareSecondsMin = 2;

interface SharedLease {
  readonly id: Promise<string>;
  /** The time, on the monotonic clock, until which keys may join. */
  readonly joinUntilMs: number;
  keys: number;
}

export class Leases {
  readonly #client: EtcdClient;
  readonly #clock: Clock;
  readonly #reuseSeconds: number;
  /** The present leases by the time that their keys live, in seconds. */
  readonly #shared = new Map<number, SharedLease>();

  /** `reuseSeconds` is the longest time for which keys join a lease. */
  constructor(client: EtcdClient, clock: Clock, reuseSeconds: number) {
    this.#client = client;
    this.#clock = clock;
    this.#reuseSeconds = reuseSeconds;
  }

  /** Resolves with a lease that ends `ttlSeconds` after now, or a little later. */
  async leaseOf(ttlSeconds: number, options: EtcdCallOptions): Promise<string> {
    const now = this.#clock.monotonic();
    const present = this.#shared.get(ttlSeconds);
    if (present !== undefined && present.joinUntilMs > now && present.keys < keysMax) {
      present.keys++;
      return present.id;
    }
    const reuseSeconds = Math.floor(Math.min(this.#reuseSeconds, Math.max(shareSecondsMin, ttlSeconds * shareMax)));
    const lease: SharedLease = {
      id: this.#client.grantLease(Math.max(1, Math.ceil(ttlSeconds)) + reuseSeconds, options),
      joinUntilMs: now + reuseSeconds * 1000,
      keys: 1,
    };
    this.#shared.set(ttlSeconds, lease);
    try {
      return await lease.id;
    } catch (error) {
      this.#forget(ttlSeconds, lease);
      throw error;
    }
  }

  /** Forgets all leases, since one of them is gone. */
  forgetAll(): void {
    this.#shared.clear();
  }

  #forget(ttlSeconds: number, lease: SharedLease): void {
    if (this.#shared.get(ttlSeconds) === lease) this.#shared.delete(ttlSeconds);
  }
}
