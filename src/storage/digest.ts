/**
 * The number and the sum of the revisions of all live keys: equal for equal stores, and cheap to update with every
 * write.
 */
import type { Revision } from "./log-store.ts";

export interface Digest {
  readonly revision: Revision;
  readonly keys: number;
  /** The sum, computed by `digestSum`. */
  readonly sum: number;
}

const modulus = 2 ** 40;

/** Returns a sum in the range of digests, after a revision was added or subtracted. */
export function digestSum(changed: number): number {
  const rest = changed % modulus;
  return rest < 0 ? rest + modulus : rest;
}
