/**
 * Checks and opens the regular expressions of schemas (`re2.ts`). The size of each pattern and the sum per schema are
 * bounded; upstream accepts larger ones (up to 3,355,443 instructions).
 */
import { expandedSize, readingSize } from "./pattern-text.ts";
import { LinearRegExp, type StateCount } from "./re2.ts";

/** A regular expression of a schema. */
export interface Pattern {
  readonly text: string;
  /** The approximate number of instructions, which is the maximum cost of one character. */
  readonly size: number;
  /** The approximate number of instructions whose time equals that of compiling the pattern. */
  readonly compiledSize: number;
  /** Whether a text was tested before. The first test compiles the pattern. */
  readonly isCompiled: boolean;
  /** Returns whether it matches anywhere in `text`. */
  test(text: string, count: StateCount): boolean;
}

/** The maximum length of a pattern in characters. */
const patternLengthMax = 16 * 1024;
/**
 * The maximum size of a program, which takes about 10 ms; `readingSizeMax` limits the part that only parsing takes,
 * about 40 ms.
 */
const patternSizeMax = 10_000;
const readingSizeMax = 40_000;
/** The maximum sum of the sizes of a schema's different patterns. */
export const patternsSizeMax = 250_000;

/** The patterns that are known to be valid, so that an unchanged schema is checked at no cost. */
const knownPatterns = new Set<string>();
const knownMax = 20_000;

/** Returns the error of a pattern in Go's words; `undefined` if it is valid. */
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

/**
 * The approximate numbers of instructions to run and to compile a pattern; or the reason why it is refused without
 * being compiled.
 */
type PatternSizes = { readonly size: number; readonly compiledSize: number } | { readonly excess: string };

/** Returns the sizes of a pattern, without compiling it. */
export function patternSizes(text: string): PatternSizes {
  if (text.length > patternLengthMax) return { excess: tooLarge(`must be at most ${patternLengthMax} characters`) };
  const size = expandedSize(text);
  if (size > patternSizeMax) return { excess: tooLarge(`must be at most ${patternSizeMax} instructions`) };
  const reading = readingSize(text);
  if (reading > readingSizeMax) return { excess: tooLarge("classes of too many characters") };
  return { size, compiledSize: size + reading };
}

const tooLarge = (why: string): string => `error parsing regexp: expression too large: ${why}`;

/**
 * Returns Go's words for an error of the package. Go names the expression in some errors in which the package does not.
 */
function wording(message: string, text: string): string {
  if (message.endsWith("trailing backslash at end of expression")) return `${message}: \`\``;
  if (/expression (too large|nests too deeply)$/.test(message)) return `${message}: \`${text}\``;
  return message;
}

/** Opens a pattern, which must have passed `patternError`. It is compiled on first use. */
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
