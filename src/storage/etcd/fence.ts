/**
 * Keeps a write whose answer is missing from being done later. Most writes compare a version that never comes back, but a
 * key that does not exist may not exist again: a creation that waits in a stopped member could bring an object back that
 * was deleted since. So each write that compares such a key also compares the key of the fence, which is moved before the
 * write is sent again: what was sent before is then done already, or never.
 *
 *     create /a, fence at 0     no answer
 *     move the fence            now at 7: the changes up to 7 say whether /a was created
 *     create /a, fence at 7     if it was not; the first one, should it arrive after all, fails
 */
import type { Comparison, EtcdCallOptions, EtcdClient, Transaction } from "./client.ts";
import type { Leases } from "./leases.ts";

/** The time after which the key of a server that is gone is removed, in seconds. Nothing waits as long in a member. */
const lifeSeconds = 3600;

export class Fence {
  readonly #client: EtcdClient;
  readonly #leases: Leases;
  readonly #key: string;
  /** The revision of the key as far as is known; 0: it does not exist. */
  #revision = 0;
  /** The number of times that it was moved: no two versions of its key are alike, also where etcd was put back between. */
  #moves = 0;

  /** `key` is one that no other process has. */
  constructor(client: EtcdClient, leases: Leases, key: string) {
    this.#client = client;
    this.#leases = leases;
    this.#key = key;
  }

  /** Returns what a write compares. */
  comparison(): Comparison {
    return { key: this.#key, revision: this.#revision };
  }

  /** Notes the revision that an answer shows. Returns whether the comparison of a write did not hold. */
  hear(compared: Comparison, revision: number): boolean {
    if (compared.revision === revision) return false;
    // An answer may be older than one that was heard before, unless it says so of the newest one: etcd has gone back.
    const isNewest = compared.revision === this.#revision;
    if (isNewest || revision > this.#revision || revision === 0) this.#revision = revision;
    return true;
  }

  /**
   * Makes sure that no write with this comparison is done any more. Resolves with a revision before which it was done,
   * if it was.
   */
  async pass(compared: Comparison, options: EtcdCallOptions): Promise<number> {
    // Another write has moved the fence since.
    if (this.#revision > compared.revision) return this.#revision;
    const lease = await this.#leases.leaseOf(lifeSeconds, options);
    const move: Transaction = {
      compare: [],
      then: [{ kind: "put", key: this.#key, value: Buffer.from(String(++this.#moves)), lease }],
      otherwise: [],
    };
    const { header } = await this.#client.transact(move, options);
    this.#revision = Math.max(this.#revision, header.revision);
    return header.revision;
  }
}
