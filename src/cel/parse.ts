/**
 * Parses a source to a syntax tree, or to cel-go's errors. Time and memory are linear in the source for every input:
 * tokens are read once, and nesting is bounded. `optMap` and `optFlatMap` repeat their target, so the size that they
 * repeat is bounded.
 */
import type { Expression, Issue } from "./ast.ts";
import { codePoints, unknownOffset } from "./issues.ts";
import { Grammar } from "./parse/grammar.ts";
import { tokenize } from "./parse/lexer.ts";
import { Nodes, type Repetition } from "./parse/nodes.ts";
import { GivenUp, TokenReader } from "./parse/token-reader.ts";

/** The properties in which environments and callers differ. */
export interface ParseOptions {
  /** Whether the macros with two variables exist: `all(i, v, …)`, `transformMap`, …. Default: false. */
  readonly hasTwoVariables?: boolean;
  /** Whether the macro `cel.bind` exists. Default: false. */
  readonly hasBindings?: boolean;
  /** The maximum depth of nested expressions; default 250. */
  readonly depthMax?: number;
  /** The maximum size of the source, in code points; default 100,000. */
  readonly sizeMax?: number;
  /**
   * The number of nodes that macros may repeat. Expressions of one object share it; by default each expression has its
   * own.
   */
  readonly repetition?: Repetition;
}

/** The maximum number of nodes that the macros of one expression may repeat. */
const repeatedMax = 2000;

export type { Repetition } from "./parse/nodes.ts";

/** The tree, or the issues in the order in which they were found; `showIssues` sorts them. */
type ParseResult = { readonly ast: Expression } | { readonly issues: readonly Issue[] };

/** Parses a source. Returns its tree or its issues. */
export function parse(source: string, options: ParseOptions = {}): ParseResult {
  const { hasTwoVariables = false, hasBindings = false, depthMax = 250, sizeMax = 100_000 } = options;
  if (source.length > sizeMax) {
    const size = codePoints(source);
    const message = `expression code point size exceeds limit: size: ${size}, limit ${sizeMax}`;
    if (size > sizeMax) return { issues: [{ offset: -1, message }] };
  }
  const offsetOf = codePointOffsets(source);
  const tokens = tokenize(source, offsetOf);
  const syntaxIssues: Issue[] = [];
  const issues: Issue[] = [];
  const input = new TokenReader(tokens, syntaxIssues, offsetOf);
  const grammar = new Grammar(input, new Nodes(options.repetition ?? { left: repeatedMax }), issues, {
    hasTwoVariables,
    hasBindings,
    depthMax,
  });
  try {
    const ast = grammar.start();
    const allIssues = [...syntaxIssues, ...issues];
    return allIssues.length === 0 ? { ast } : { issues: allIssues };
  } catch (error) {
    if (!(error instanceof GivenUp)) throw error;
    return { issues: syntaxIssues };
  }
}

/** Returns a function from an index of the string to an offset in code points. They differ after surrogate pairs. */
function codePointOffsets(source: string): (index: number) => number {
  if (source === "") return () => unknownOffset; // as the reference shows the end of an empty source
  const pairs: number[] = [];
  for (let at = 0; at < source.length; at++) if (source.codePointAt(at)! > 0xffff) pairs.push(at++);
  if (pairs.length === 0) return (index) => index;
  return (index) => {
    let low = 0;
    for (let high = pairs.length; low < high; ) {
      const middle = (low + high) >> 1;
      if (pairs[middle]! < index) low = middle + 1;
      else high = middle;
    }
    return index - low;
  };
}
