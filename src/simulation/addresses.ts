/** Gives objects addresses of a network, each of which one object has at a time. */
import type { StoredObject } from "#client/kind.ts";

/**
 * Returns the function that finds an address for an object that none of all objects has; `undefined` when there is none
 * left.
 */
export function addressPool<T extends StoredObject>(
  size: number,
  addressAt: (index: number) => string,
  addressOf: (object: T) => string | undefined,
) {
  /** The addresses by the uid of their object, which memory may not show yet. */
  const given = new Map<string, string>();
  return ({ metadata }: T, all: readonly T[]): string | undefined => {
    const uids = new Set(all.map((one) => one.metadata.uid));
    for (const uid of given.keys()) if (!uids.has(uid)) given.delete(uid);
    const used = new Set([...all.map(addressOf), ...given.values()]);
    for (let index = 0; index < size && !given.has(metadata.uid); index++)
      if (!used.has(addressAt(index))) given.set(metadata.uid, addressAt(index));
    return given.get(metadata.uid);
  };
}
