/**
 * Regular expressions of schemas (`re2.ts`). The size of each pattern and the sum per schema are bounded; upstream accepts
 * larger ones (up to 3,355,443 instructions).
 */
import { LinearRegExp, type StateCount } from "./re2.ts";

export interface Pattern {
  readonly text: string;
  /** Approximate number of instructions: what one character costs at most. */
  readonly size: number;
  /** Whether a text was tested before. The first test compiles it. */
  readonly isCompiled: boolean;
  /** Whether it matches anywhere in `text`. */
  test(text: string, count: StateCount): boolean;
}

/** Longest pattern, in characters, and largest program. */
export const patternLengthMax = 16 * 1024;
export const patternSizeMax = 10_000;
/** Sum of the sizes of a schema's different patterns. */
export const patternsSizeMax = 250_000;

/** Patterns known to be valid, so that an unchanged schema is checked at no cost. */
const known = new Set<string>();
const knownMax = 20_000;

/** The error of a pattern, in Go's words; `undefined` for a valid one. */
export function patternError(text: string): string | undefined {
  if (known.has(text)) return undefined;
  if (text.length > patternLengthMax) {
    return `error parsing regexp: expression too large: must be at most ${patternLengthMax} characters`;
  }
  if (expandedSize(text) > patternSizeMax) {
    return `error parsing regexp: expression too large: must be at most ${patternSizeMax} instructions`;
  }
  try {
    new LinearRegExp(text);
  } catch (error) {
    return wording((error as Error).message, text);
  }
  if (known.size >= knownMax) known.clear();
  if (text.length < 1024) known.add(text);
  return undefined;
}

/** Go names the expression where the package does not. */
function wording(message: string, text: string): string {
  if (message.endsWith("trailing backslash at end of expression")) return `${message}: \`\``;
  if (/expression (too large|nests too deeply)$/.test(message)) return `${message}: \`${text}\``;
  return message;
}

/** `text` must have passed `patternError`. Compiled when first used. */
export function openPattern(text: string): Pattern {
  let program: LinearRegExp | undefined;
  return {
    text,
    size: expandedSize(text),
    get isCompiled() {
      return program !== undefined;
    },
    test(value, count) {
      program ??= new LinearRegExp(text);
      return program.test(value, count);
    },
  };
}

/**
 * About how many instructions a pattern has: its characters, with repetitions multiplied out. Wrong patterns get some
 * number. A group's size is that of its characters; counted repetition multiplies what is before it.
 */
export function expandedSize(text: string): number {
  const groups: number[] = [];
  let total = 0;
  let last = 0;
  const add = (size: number): void => {
    total += size;
    last = size;
  };
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char === "\\") {
      at++;
      add(1);
    } else if (char === "(") {
      groups.push(total);
      total = 2;
      last = 0;
    } else if (char === ")") {
      const inner = total;
      total = groups.pop() ?? 0;
      add(inner);
    } else if (char === "[") {
      const end = endOfClass(text, at);
      add(1 + ((end - at) >> 3));
      at = end;
    } else if (char === "{") {
      const counts = /^\{(\d{1,5})(?:,(\d{0,5}))?\}/.exec(text.slice(at, at + 14));
      if (counts === null) add(1);
      else {
        const times = Math.max(1, Number(counts[1]), Number(counts[2] === "" ? 0 : (counts[2] ?? 0)));
        total += last * (times - 1);
        last *= times;
        at += counts[0].length - 1;
      }
    } else if (char === "*" || char === "+" || char === "?") total++;
    else add(1);
    if (total > 1e9) return total;
  }
  for (const outer of groups) total += outer;
  return total;
}

function endOfClass(text: string, start: number): number {
  let at = start + 1;
  if (text[at] === "^") at++;
  if (text[at] === "]") at++;
  for (; at < text.length && text[at] !== "]"; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "[" && text[at + 1] === ":") {
      const end = text.indexOf(":]", at + 2);
      if (end > 0) at = end + 1;
    }
  }
  return at;
}
