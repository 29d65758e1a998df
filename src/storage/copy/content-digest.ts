/**
 * A digest of the keys and the clear values of a store, whatever their order and their revisions: equal for a store and
 * its copy. Keys that expire are left out, since they may be gone already.
 */
import { createHash } from "node:crypto";

const modulus = 2n ** 128n;

export class ContentDigest {
  #sum = 0n;
  /** The number of keys. */
  count = 0;

  add(key: string, value: Buffer): void {
    const digest = createHash("sha256").update(key).update("\0").update(value).digest();
    this.#sum += (digest.readBigUInt64BE(0) << 64n) | digest.readBigUInt64BE(8);
    this.count++;
  }

  /** Returns the sum of the digests of all keys, in hexadecimal, and their number. */
  toString(): string {
    return `${(this.#sum % modulus).toString(16)}-${this.count}`;
  }
}
