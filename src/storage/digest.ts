/** Count and sum of the revisions of all live keys: equal for equal stores, and cheap to update with every write. */
import type { Revision } from "./log-store.ts";

export interface Digest {
  readonly revision: Revision;
  readonly keys: number;
  /** The sum that `digestSum` makes. */
  readonly sum: number;
}

const modulus = 2 ** 40;

/** A sum after something was added or taken away. */
export function digestSum(changed: number): number {
  const rest = changed % modulus;
  return rest < 0 ? rest + modulus : rest;
}
