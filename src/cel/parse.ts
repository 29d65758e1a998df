/**
 * Parses a source to a syntax tree, or to cel-go's errors. Time and memory are linear in the source for every input:
 * tokens are read once, and nesting is bounded. `optMap` and `optFlatMap` repeat their target, so the repeated size is
 * bounded.
 */
import type { Expression, Issue } from "./ast.ts";
import { codePoints } from "./issues.ts";
import { Grammar } from "./parse/grammar.ts";
import { tokenize } from "./parse/lexer.ts";
import { Nodes, type Repetition } from "./parse/nodes.ts";
import { GivenUp, TokenReader } from "./parse/token-reader.ts";

/** Environments differ in these. */
export interface ParseOptions {
  /** Whether the macros with two variables are there: `all(i, v, …)`, `transformMap`, … By default they are not. */
  readonly hasTwoVariables?: boolean;
  /** The maximum depth of nested expressions; default 250. */
  readonly depthMax?: number;
  /** The largest source, in code points; default 100,000. */
  readonly sizeMax?: number;
  /** Expressions that are kept together share what they may repeat; by default each has its own. */
  readonly repetition?: Repetition;
}

/** The maximum number of nodes that macros of one expression may repeat. */
const repeatedMax = 2000;

export type { Repetition } from "./parse/nodes.ts";

/** Issues come in the order they were found in; `showIssues` sorts them. */
type ParseResult = { readonly ast: Expression } | { readonly issues: readonly Issue[] };

export function parse(source: string, options: ParseOptions = {}): ParseResult {
  const { hasTwoVariables = false, depthMax = 250, sizeMax = 100_000, repetition = { left: repeatedMax } } = options;
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
  const grammar = new Grammar(input, new Nodes(repetition), issues, { hasTwoVariables, depthMax });
  try {
    const ast = grammar.start();
    const allIssues = [...syntaxIssues, ...issues];
    return allIssues.length === 0 ? { ast } : { issues: allIssues };
  } catch (error) {
    if (!(error instanceof GivenUp)) throw error;
    return { issues: syntaxIssues };
  }
}

/** Leads from an index of the string to code points, which are fewer where there are surrogate pairs. */
function codePointOffsets(source: string): (index: number) => number {
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
