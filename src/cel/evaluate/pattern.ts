/**
 * Matches regular expressions in RE2 syntax, in linear time. A short pattern such as `(abc){1000}` can make a large
 * program, so the size of programs is bounded, and their cost depends on it.
 */
import { LinearRegExp, patternSizes } from "#schema/structural.ts";
import type { EvaluationContext } from "../functions.ts";
import { CelError } from "../values.ts";
import { remember } from "./remember.ts";

interface CompiledPattern {
  readonly program: LinearRegExp;
  /** The approximate number of instructions. */
  readonly size: number;
}

function compile(pattern: string): CompiledPattern | CelError {
  const sizes = patternSizes(pattern);
  if ("excess" in sizes) return new CelError(sizes.excess);
  try {
    return { program: new LinearRegExp(pattern), size: sizes.size };
  } catch (error) {
    return new CelError((error as Error).message); // the package throws nothing else
  }
}

/**
 * Returns the compiled pattern, or an error in Go's words. The cache contains at most about 50 MB of patterns, and 64
 * MB of their states.
 */
export const compilePattern: (pattern: string) => CompiledPattern | CelError = remember(500, compile, {
  of: (result) => (result instanceof CelError ? 0 : result.size),
  max: 400_000,
});

const compileWork = 6000;
const instructionWork = 140;

/**
 * Compiles a pattern that is not a constant, and counts the work of its compilation, even if the pattern is cached or
 * invalid.
 */
export function compileCounted(pattern: string, context: EvaluationContext): CompiledPattern | CelError {
  // A pattern that is too large is not compiled.
  const sizes = patternSizes(pattern);
  context.work(compileWork + instructionWork * ("excess" in sizes ? pattern.length : sizes.compiledSize));
  return compilePattern(pattern);
}

/** The work of one test beside its characters; `stateWork` is the work of making one part of a state. */
const testWork = 80;
const stateWork = 25;

/** Returns whether a pattern matches somewhere in a text. Counts the work. */
export function testPattern(text: string, { program }: CompiledPattern, context: EvaluationContext): boolean {
  context.work(testWork + text.length * 8);
  return program.test(text, { spend: (parts) => context.work(parts * stateWork) });
}

/**
 * Counts the work of a search for the position of matches: for each character an amount in proportion to the number of
 * instructions, most of which do nothing.
 */
export const countSearch = (length: number, { size, program }: CompiledPattern, context: EvaluationContext): void =>
  context.work(testWork + length * (40 + (program.isOnePass ? size >> 2 : size * 2)));
