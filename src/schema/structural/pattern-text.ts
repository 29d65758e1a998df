/**
 * The text of a regular expression in RE2 syntax: how large a program it makes, how long it takes to read, and its groups.
 * Everything here takes time in proportion to the text, whatever it is.
 */

/**
 * Estimates the number of instructions of a pattern: its characters, with repetitions multiplied out. Wrong patterns
 * get some number. A group's size is that of its characters; counted repetition multiplies what is before it.
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

/** Names have up to six letters; what else stands between such signs is no class, or a mistake. */
const namedClass = /\[:\^?\w{1,12}:\]/y;

/** Finds the end of the class that begins at `start`. */
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

/** A class of Unicode has hundreds of ranges: reading it takes as long as so many instructions. */
const unicodeClassSize = 100;
/** A range that disregards case has each of its characters looked up; so many take as long as an instruction. */
const foldedPerInstruction = 25;
/** Characters above have one case. */
const foldedMax = 0x1e943;
/** The number of characters of plain text that take as long as an instruction. */
const charactersPerInstruction = 4;

const ignoresCase = /\(\?[a-zA-Z]*i/;
const unicodeClass = /\\[pP]/g;
/** A range that may have more than a few characters. Outside of classes it is none; that is not looked at. */
const wideRange = /(?:\\x\{([0-9a-fA-F]+)\}|(.))-(?:\\x\{([0-9a-fA-F]+)\}|([^\0-\x7f]))/gsu;

/**
 * Estimates the time of reading a pattern as a number of instructions, beside those that it has: a class is one
 * instruction however many characters it names. The result is an upper bound.
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

/** Returns about how many instructions take as long as compiling a pattern does. */
export const compiledSize = (text: string): number => expandedSize(text) + readingSize(text);

const codePoint = (hex: string | undefined, char: string | undefined): number =>
  hex === undefined ? char!.codePointAt(0)! : Number.parseInt(hex, 16); // one of them is there

/** Begins a group that has a name. */
const namedGroup = /\(\?P?<\w+>/y;

/** Returns the pattern without the names of groups, which mean nothing to those who only ask whether a text matches. */
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
