/**
 * Regular expressions in RE2 syntax, in linear time. A short pattern can make a large program, such as `(abc){1000}`, so
 * the size of programs is bounded, and their cost depends on it.
 */
import { LinearRegExp, patternSizes } from "#schema/structural.ts";
import type { EvaluationContext } from "../functions.ts";
import { CelError } from "../values.ts";
import { remember } from "./remember.ts";

interface CompiledPattern {
  readonly program: LinearRegExp;
  /** The approximate number of its instructions. */
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

/** The compiled pattern, or an error in Go's words. About 50 MB of them, and 64 MB of their states, are remembered at most. */
export const compilePattern: (pattern: string) => CompiledPattern | CelError = remember(500, compile, {
  of: (made) => (made instanceof CelError ? 0 : made.size),
  max: 400_000,
});

const compileWork = 6000;
const instructionWork = 140;

/** A pattern that no constant gives; counts its compilation, known or not, and that of a wrong one, too. */
export function compileCounted(pattern: string, context: EvaluationContext): CompiledPattern | CelError {
  // A pattern that is too large is not compiled.
  const sizes = patternSizes(pattern);
  context.work(compileWork + instructionWork * ("excess" in sizes ? pattern.length : sizes.compiledSize));
  return compilePattern(pattern);
}

/** A test counts as so much beside its characters, and so does a part of a state that it makes. */
const testWork = 80;
const stateWork = 25;

/** Whether a pattern matches somewhere in a text. */
export function testPattern(text: string, { program }: CompiledPattern, context: EvaluationContext): boolean {
  context.work(testWork + text.length * 8);
  return program.test(text, { spend: (parts) => context.work(parts * stateWork) });
}

/**
 * Counts what a search that finds where a text matches may do: for each character, a part of the instructions, of which most
 * do nothing.
 */
export const countSearch = (length: number, { size, program }: CompiledPattern, context: EvaluationContext): void =>
  context.work(testWork + length * (40 + (program.isOnePass ? size >> 2 : size * 2)));
