/** The exceptions of `tidy-shape.ts` for older code. The list only becomes shorter. Functions have no exceptions. */

/**
 * Variables of modules that change, by file; `*` for a file that is a thread of its own. Most cache pure values,
 * `scratch` holds nothing between two calls, and the queue of `cooperative.ts` belongs to the event loop, which servers
 * share.
 */
export const excusedState: Readonly<Record<string, readonly string[]>> = {
  "src/authn/jwt.ts": ["scratch"],
  "src/codec/yaml/library.ts": ["loaded"],
  "src/http/negotiation.ts": ["acceptHeaders", "contentTypes"],
  "src/schema/structural/pattern.ts": ["knownPatterns"],
  "src/schema/structural/re2.ts": ["package_"],
  "src/std/cooperative.ts": ["waiting"],
};
