/** Prints errors about a source as cel-go does: the message, the line, and a mark below the position. */
import type { Issue } from "./ast.ts";

/**
 * The maximum number of errors that are shown; further errors are only counted. A parse ends after as many syntax
 * errors.
 */
export const shownMax = 100;
/** The length in bytes above which a line is not shown. */
const lineBytesMax = 16_384;

/** The offset of an error in an expression that could not be read. The reference shows it before the first line. */
export const unknownOffset = -2;

/**
 * Returns the text of the first `shownMax` errors in the order of the source. Errors at the same position keep their
 * order.
 */
export function showIssues(source: string, issues: readonly Issue[]): string {
  const lines = new Lines(source);
  const shown = issues
    .slice(0, shownMax)
    .map((issue) => ({ issue, position: lines.position(issue.offset) }))
    .sort((one, other) => one.position.line - other.position.line || one.position.column - other.position.column)
    .map(
      ({ issue, position }) =>
        `ERROR: <input>:${position.line}:${position.column + 1}: ${issue.message}${lines.mark(position)}`,
    );
  if (issues.length > shownMax) shown.push(`${issues.length - shownMax} more errors were truncated`);
  return shown.join("\n");
}

/** A line, counted from 1, and a column in code points, counted from 0. Both are -1 if there is no position. */
interface Position {
  readonly line: number;
  readonly column: number;
}

class Lines {
  readonly #lines: readonly string[];
  /** The offsets at which the lines begin, in code points. */
  readonly #starts: readonly number[];

  constructor(source: string) {
    this.#lines = source.split("\n");
    const starts: number[] = [];
    let start = 0;
    for (const line of this.#lines) {
      starts.push(start);
      start += codePoints(line) + 1;
    }
    this.#starts = starts;
  }

  position(offset: number): Position {
    if (offset < 0) return { line: offset === unknownOffset ? 1 : -1, column: -1 };
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#starts[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - this.#starts[low]! };
  }

  /**
   * Returns the line, and a mark below the position. The dots below wide characters are wide, so that the mark is in
   * the right column.
   */
  mark(position: Position): string {
    const line = this.#lines[position.line - 1];
    if (line === undefined || Buffer.byteLength(line) > lineBytesMax) return "";
    const characters = Array.from(line);
    const dots = characters.slice(0, Math.max(position.column, 0)).map((character) => (isWide(character) ? "．" : "."));
    const mark = isWide(characters[Math.max(position.column, 0)] ?? "") ? "＾" : "^";
    return `\n | ${line.replaceAll("\t", " ")}\n | ${dots.join("")}${mark}`;
  }
}

const isWide = (character: string): boolean => character !== "" && character.codePointAt(0)! > 0x7f;

/** Returns the length of a text in code points. */
export function codePoints(text: string): number {
  let count = text.length;
  for (let at = 0; at + 1 < text.length; at++) if (text.codePointAt(at)! > 0xffff) count--;
  return count;
}
