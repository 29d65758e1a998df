/**
 * Regular expressions of schemas (`re2.ts`). The size of each pattern and the sum per schema are bounded; upstream accepts
 * larger ones (up to 3,355,443 instructions).
 */
import { expandedSize, readingSize } from "./pattern-text.ts";
import { LinearRegExp, type StateCount } from "./re2.ts";

export interface Pattern {
  readonly text: string;
  /** Approximate number of instructions: what one character costs at most. */
  readonly size: number;
  /** Compiling it takes about as long as so many instructions. */
  readonly compiledSize: number;
  /** Whether a text was tested before. The first test compiles it. */
  readonly isCompiled: boolean;
  /** Whether it matches anywhere in `text`. */
  test(text: string, count: StateCount): boolean;
}

/** Longest pattern, in characters. */
const patternLengthMax = 16 * 1024;
/** Largest program, and largest part that only reading takes: about 10 ms, and 40 ms. */
const patternSizeMax = 10_000;
const readingSizeMax = 40_000;
/** Sum of the sizes of a schema's different patterns. */
export const patternsSizeMax = 250_000;

/** Patterns known to be valid, so that an unchanged schema is checked at no cost. */
const knownPatterns = new Set<string>();
const knownMax = 20_000;

/** The error of a pattern, in Go's words; `undefined` for a valid one. */
export function patternError(text: string): string | undefined {
  if (knownPatterns.has(text)) return undefined;
  const sizes = patternSizes(text);
  if ("excess" in sizes) return sizes.excess;
  try {
    new LinearRegExp(text);
  } catch (error) {
    return wording((error as Error).message, text);
  }
  if (knownPatterns.size >= knownMax) knownPatterns.clear();
  if (text.length < 1024) knownPatterns.add(text);
  return undefined;
}

/** A pattern's approximate numbers of instructions, to run and to compile it; or why it is refused unseen. */
type PatternSizes = { readonly size: number; readonly compiledSize: number } | { readonly excess: string };

/** Measures a pattern. It is not compiled. */
export function patternSizes(text: string): PatternSizes {
  if (text.length > patternLengthMax) return { excess: tooLarge(`must be at most ${patternLengthMax} characters`) };
  const size = expandedSize(text);
  if (size > patternSizeMax) return { excess: tooLarge(`must be at most ${patternSizeMax} instructions`) };
  const reading = readingSize(text);
  if (reading > readingSizeMax) return { excess: tooLarge("classes of too many characters") };
  return { size, compiledSize: size + reading };
}

const tooLarge = (why: string): string => `error parsing regexp: expression too large: ${why}`;

/** Go names the expression where the package does not. */
function wording(message: string, text: string): string {
  if (message.endsWith("trailing backslash at end of expression")) return `${message}: \`\``;
  if (/expression (too large|nests too deeply)$/.test(message)) return `${message}: \`${text}\``;
  return message;
}

/** `text` must have passed `patternError`. Compiled when first used. */
export function openPattern(text: string): Pattern {
  let program: LinearRegExp | undefined;
  const size = expandedSize(text);
  return {
    text,
    size,
    compiledSize: size + readingSize(text),
    get isCompiled() {
      return program !== undefined;
    },
    test(value, count) {
      program ??= new LinearRegExp(text);
      return program.test(value, count);
    },
  };
}
