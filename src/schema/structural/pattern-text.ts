/**
 * Estimates by the text of a regular expression in RE2 syntax how large its program is and how long parsing takes, and
 * removes the names of its groups. Every function takes time in proportion to the text, for any text.
 */

/**
 * Estimates the number of instructions of a pattern: its characters, with repetitions multiplied. The size of a group
 * is that of its characters; a counted repetition multiplies the part before it. The result for an invalid pattern has
 * no meaning.
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

/**
 * Matches a named class inside of brackets. Names have up to six letters; longer words between these signs are not a
 * class, or an error.
 */
const namedClass = /\[:\^?\w{1,12}:\]/y;

/** Returns the end of the class that begins at `start`. */
function endOfClass(text: string, start: number): number {
  let at = start + 1;
  if (text[at] === "^") at++;
  if (text[at] === "]") at++;
  for (; at < text.length && text[at] !== "]"; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "[") {
      namedClass.lastIndex = at;
      if (namedClass.test(text)) at = namedClass.lastIndex - 1;
    }
  }
  return at;
}

/** The number of instructions whose time equals that of parsing one Unicode class, which has hundreds of ranges. */
const unicodeClassSize = 100;
/**
 * The number of characters whose time equals that of one instruction, in a range that ignores case: each character is
 * looked up.
 */
const foldedPerInstruction = 25;
/** The highest character that has two cases. */
const foldedMax = 0x1e943;
/** The number of characters of plain text whose time equals that of one instruction. */
const charactersPerInstruction = 4;

const ignoresCase = /\(\?[a-zA-Z]*i/;
const unicodeClass = /\\[pP]/g;
/**
 * Matches a range that may have more than a few characters. Outside of classes such a text is not a range, which is not
 * checked.
 */
const wideRange = /(?:\\x\{([0-9a-fA-F]+)\}|(.))-(?:\\x\{([0-9a-fA-F]+)\}|([^\0-\x7f]))/gsu;

/**
 * Estimates the time of parsing a pattern as a number of instructions, in addition to its own: a class is one
 * instruction, however many characters it has. The result is an upper bound.
 */
export function readingSize(text: string): number {
  let size = Math.ceil(text.length / charactersPerInstruction);
  size += (text.match(unicodeClass)?.length ?? 0) * unicodeClassSize;
  if (!ignoresCase.test(text)) return size;
  for (const [, lowHex, low, highHex, high] of text.matchAll(wideRange)) {
    const width = Math.min(codePoint(highHex, high), foldedMax) - codePoint(lowHex, low);
    size += Math.ceil(Math.max(0, width) / foldedPerInstruction);
  }
  return size;
}

/** Returns the approximate number of instructions whose time equals that of compiling the pattern. */
export const compiledSize = (text: string): number => expandedSize(text) + readingSize(text);

const codePoint = (hex: string | undefined, char: string | undefined): number =>
  hex === undefined ? char!.codePointAt(0)! : Number.parseInt(hex, 16); // one of the two is always set

/** Matches the beginning of a group that has a name. */
const namedGroup = /\(\?P?<\w+>/y;

/** Returns the pattern without the names of groups, which have no effect on whether a text matches. */
export function withoutNames(text: string): string {
  let unnamed = "";
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char === "\\" && text[at + 1] === "Q") {
      const end = text.indexOf("\\E", at + 2);
      at = end < 0 ? text.length : end + 1;
    } else if (char === "\\") at++;
    else if (char === "[") at = endOfClass(text, at);
    else if (char === "(") {
      namedGroup.lastIndex = at;
      if (!namedGroup.test(text)) continue;
      unnamed += text.slice(from, at + 1);
      from = namedGroup.lastIndex;
      at = from - 1;
    }
  }
  return unnamed + text.slice(from);
}
