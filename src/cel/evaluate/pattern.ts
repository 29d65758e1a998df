/**
 * Regular expressions in RE2 syntax, in linear time. `re2js` is loaded with the first one. A short pattern can make a
 * large program, such as `(abc){1000}`, so the size of programs is bounded, and their cost depends on it.
 */
import { createRequire } from "node:module";
import type { RE2JS } from "re2js";
import { expandedSize } from "#schema/structural.ts";
import type { EvaluationContext } from "../functions.ts";
import { CelError } from "../values.ts";
import { remember } from "./remember.ts";

const load = remember(
  1,
  () => (createRequire(import.meta.url)("re2js") as { RE2JS: typeof RE2JS }).RE2JS, // what the package exports
);

/** Longest pattern, in characters, and largest program, in instructions. */
const lengthMax = 16 * 1024;
const sizeMax = 10_000;

export interface CompiledPattern {
  readonly program: RE2JS;
  /** About how many instructions it has. */
  readonly size: number;
}

const tooLarge = (bound: string): CelError =>
  new CelError(`error parsing regexp: expression too large: must be at most ${bound}`);

function compile(pattern: string): CompiledPattern | CelError {
  if (pattern.length > lengthMax) return tooLarge(`${lengthMax} characters`);
  const size = expandedSize(pattern);
  if (size > sizeMax) return tooLarge(`${sizeMax} instructions`);
  try {
    return { program: load("").compile(pattern), size };
  } catch (error) {
    return new CelError((error as Error).message); // the package throws nothing else
  }
}

/** The compiled pattern, or an error in Go's words. About 50 MB of them are remembered at most. */
export const compilePattern: (pattern: string) => CompiledPattern | CelError = remember(500, compile, {
  of: (made) => (made instanceof CelError ? 0 : made.size),
  max: 400_000,
});

/** A pattern that no constant gives; counts its compilation, known or not. */
export function compileCounted(pattern: string, context: EvaluationContext): CompiledPattern | CelError {
  context.work(6000 + 140 * Math.min(expandedSize(pattern), sizeMax));
  return compilePattern(pattern);
}

/** What the beginning of a test counts as. */
const testWork = 80;

/**
 * Counts what a test, or a search that finds where a text matches, may do: an instruction for each character, of which
 * most take no part.
 */
export const countTest = (length: number, { size }: CompiledPattern, context: EvaluationContext): void =>
  context.work(testWork + length * (8 + (size >> 3)));
export const countSearch = (length: number, { size }: CompiledPattern, context: EvaluationContext): void =>
  context.work(testWork + length * (40 + (size >> 2)));
