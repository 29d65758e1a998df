/**
 * Members that were given without content (`[]`, `{}`, and the first moment of the first year, which is written as null):
 * decoding drops them from the value, as encoding does in upstream, but some checks forbid them. Types that ask for it have
 * their names noted beside the value, where no encoding, comparison or ownership sees them.
 */

const noted: unique symbol = Symbol("given empty");

/** Notes the names of such members at an object that nobody else has yet. */
export function noteEmpty(object: object, names: readonly string[]): void {
  Object.defineProperty(object, noted, { value: names, enumerable: true });
}

/** The names that were noted. */
export function emptyMembers(object: object): readonly string[] {
  return (object as { readonly [noted]?: readonly string[] })[noted] ?? []; // only `noteEmpty` writes it
}
