/** Addresses of a network, each of which one object has at a time. */
import type { StoredObject } from "#client/kind.ts";

export class Addresses {
  readonly #addressAt: (index: number) => string;
  readonly #size: number;
  /** The addresses by the uid of their object, which memory may not show yet. */
  readonly #given = new Map<string, string>();
  #next = 0;

  constructor(size: number, addressAt: (index: number) => string) {
    this.#size = size;
    this.#addressAt = addressAt;
  }

  /** Returns an address for an object that none of the others has; `undefined` when there is none left. */
  give<T extends StoredObject>({ metadata: { uid } }: T, all: readonly T[], of: (one: T) => string | undefined) {
    const present = new Set(all.map(({ metadata }) => metadata.uid));
    for (const one of this.#given.keys()) if (!present.has(one)) this.#given.delete(one);
    const given = this.#given.get(uid);
    if (given !== undefined) return given;
    const used = new Set([...all.map(of), ...this.#given.values()]);
    for (let tries = 0; tries < this.#size; tries++) {
      const address = this.#addressAt(this.#next);
      this.#next = (this.#next + 1) % this.#size;
      if (used.has(address)) continue;
      this.#given.set(uid, address);
      return address;
    }
    return undefined;
  }
}
