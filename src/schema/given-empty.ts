/**
 * Records members that a client sent without content (`[]`, `{}`, and the first moment of the first year, which is
 * written as null). Decoding drops them from the value, as encoding does in upstream, but some checks forbid them. For
 * types with `notesEmpty`, their names are recorded beside the value, where no encoding, comparison or ownership sees
 * them.
 */

const noted: unique symbol = Symbol("given empty");

/** Records the names of such members at an object that no other code refers to yet. */
export function noteEmpty(object: object, names: readonly string[]): void {
  Object.defineProperty(object, noted, { value: names, enumerable: true });
}

/** Returns the recorded names. */
export function emptyMembers(object: object): readonly string[] {
  return (object as { readonly [noted]?: readonly string[] })[noted] ?? []; // only `noteEmpty` writes it
}
