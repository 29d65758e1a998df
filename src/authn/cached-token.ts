/**
 * A cache of token results, keyed by digest, so that neither a memory dump nor look-up time reveals a token. Bounded:
 * two generations of at most `sizeMax` entries; a full young generation replaces the old one, and used entries move to
 * the young one.
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
