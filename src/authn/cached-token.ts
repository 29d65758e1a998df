/**
 * What was found out about tokens, by their digest: neither a memory dump nor the time a look-up takes tells anything
 * about a token. Bounded: two generations of at most `sizeMax` each; the older one goes when the younger is full, and
 * what is used stays.
 */
import { hash } from "node:crypto";

/** Digest of a token's UTF-8 bytes, short to compare: a character for each of its bytes. */
export const tokenDigest = (token: string): string => hash("sha256", token, "latin1");

export class TokenCache<T> {
  readonly #sizeMax: number;
  #young = new Map<string, T>();
  #old = new Map<string, T>();

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  get(digest: string): T | undefined {
    const found = this.#young.get(digest);
    if (found !== undefined) return found;
    const older = this.#old.get(digest);
    if (older !== undefined) this.set(digest, older);
    return older;
  }

  set(digest: string, value: T): void {
    if (this.#young.size >= this.#sizeMax) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(digest, value);
  }
}
