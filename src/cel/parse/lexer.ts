/**
 * Splits a source into tokens, each the longest possible. A character that begins no token is an error and is skipped,
 * as in cel-go: the error shows the text up to the first character that did not fit, and the next token begins after
 * it. Each character is read a constant number of times.
 */
import type { Issue } from "../ast.ts";
import { endOfString, type StringScan } from "./strings.ts";
import { kinds, type TokenKind } from "./tokens.ts";

/** The tokens in order, as columns; the last token is the end. Positions are indices of the string. */
export interface Tokens {
  readonly source: string;
  readonly kinds: readonly TokenKind[];
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** The pieces of the source that are not tokens: start and end of each, in order. */
  readonly skipped: readonly number[];
  readonly issues: readonly LexicalIssue[];
}

interface LexicalIssue extends Issue {
  /** The index of the next token. */
  readonly token: number;
}

const keywords: ReadonlyMap<string, TokenKind> = new Map([
  ["in", kinds.relation],
  ["true", kinds.true],
  ["false", kinds.false],
  ["null", kinds.null],
]);

const code = (character: string): number => character.charCodeAt(0);
const [quote, doubleQuote, slash, newline, dot, zero, equals] = Array.from("'\"/\n.0=", code);

const single: ReadonlyMap<number, TokenKind> = new Map(
  (
    [
      ["[", kinds.openBracket],
      ["]", kinds.closeBracket],
      ["{", kinds.openBrace],
      ["}", kinds.closeBrace],
      ["(", kinds.openParenthesis],
      [")", kinds.closeParenthesis],
      [".", kinds.dot],
      [",", kinds.comma],
      ["-", kinds.minus],
      ["!", kinds.not],
      ["?", kinds.question],
      [":", kinds.colon],
      ["+", kinds.plus],
      ["*", kinds.multiply],
      ["/", kinds.multiply],
      ["%", kinds.multiply],
      ["<", kinds.relation],
      [">", kinds.relation],
    ] as const
  ).map(([character, kind]) => [code(character), kind]),
);

const isDigit = (character: number): boolean => character >= 0x30 && character <= 0x39;
const isLetter = (character: number): boolean =>
  (character >= 0x61 && character <= 0x7a) || (character >= 0x41 && character <= 0x5a) || character === 0x5f;
const isHexDigit = (character: number): boolean =>
  isDigit(character) || (character >= 0x61 && character <= 0x66) || (character >= 0x41 && character <= 0x46);
const isSpace = (character: number): boolean =>
  character === 0x20 || character === newline || character === 0x09 || character === 0x0d || character === 0x0c;

/** Splits a source into tokens. `offsetOf` converts an index of the string to code points. */
export function tokenize(source: string, offsetOf: (index: number) => number): Tokens {
  const lexer = new Lexer(source, offsetOf);
  lexer.run();
  return lexer;
}

class Lexer implements Tokens {
  readonly source: string;
  readonly kinds: TokenKind[] = [];
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  readonly skipped: number[] = [];
  readonly issues: LexicalIssue[] = [];
  readonly #offsetOf: (index: number) => number;
  readonly #strings: StringScan;

  constructor(source: string, offsetOf: (index: number) => number) {
    this.source = source;
    this.#offsetOf = offsetOf;
    this.#strings = { source, unclosed: new Set() };
  }

  run(): void {
    const { source } = this;
    let at = 0;
    while (at < source.length) {
      const character = source.charCodeAt(at);
      if (isSpace(character)) at++;
      else if (character === slash && source.charCodeAt(at + 1) === slash) {
        const end = source.indexOf("\n", at);
        at = end < 0 ? source.length : end;
      } else at = this.#token(at, character);
    }
    this.#add(kinds.end, at, at);
  }

  #add(kind: TokenKind, start: number, end: number): number {
    this.kinds.push(kind);
    this.starts.push(start);
    this.ends.push(end);
    return end;
  }

  #token(start: number, first: number): number {
    const { source } = this;
    if (isLetter(first)) return this.#word(start);
    const second = source.charCodeAt(start + 1);
    if (isDigit(first) || (first === dot && isDigit(second))) return this.#number(start);
    if (first === quote || first === doubleQuote) return this.#string(start, start, kinds.string, false);
    if (second === equals && "=!<>".includes(source[start]!)) return this.#add(kinds.relation, start, start + 2);
    if ((first === 0x26 || first === 0x7c) && second === first)
      return this.#add(first === 0x26 ? kinds.and : kinds.or, start, start + 2);
    const kind = single.get(first);
    if (kind !== undefined) return this.#add(kind, start, start + 1);
    return this.#unknown(start, "=&|".includes(source[start]!) ? start + 1 : start);
  }

  /**
   * Reports and skips a text that begins no token. `failed` is the index of the character that does not fit; it is
   * skipped too.
   */
  #unknown(start: number, failed: number): number {
    const next = failed >= this.source.length ? failed : failed + (this.source.codePointAt(failed)! > 0xffff ? 2 : 1);
    const text = this.source.slice(start, next);
    const message = `Syntax error: token recognition error at: '${text}'`;
    this.issues.push({ offset: this.#offsetOf(start), message, token: this.kinds.length });
    this.skipped.push(start, next);
    return next;
  }

  #word(start: number): number {
    const { source } = this;
    let end = start + 1;
    for (let character = source.charCodeAt(end); isLetter(character) || isDigit(character); ) {
      character = source.charCodeAt(++end);
    }
    const next = source.charCodeAt(end);
    if ((next === quote || next === doubleQuote) && end - start <= 2) {
      const prefix = source.slice(start, end).toLowerCase();
      if (prefix === "r") return this.#string(start, end, kinds.string, true);
      if (prefix === "b" || prefix === "br") return this.#string(start, end, kinds.bytes, prefix === "br");
    }
    const keyword = end - start <= 5 ? keywords.get(source.slice(start, end)) : undefined;
    return this.#add(keyword ?? kinds.identifier, start, end);
  }

  /**
   * Reads a string whose quote is at `open`, after its prefix. If the string has no end, the prefix alone is a name.
   */
  #string(start: number, open: number, kind: TokenKind, isRaw: boolean): number {
    const { end, failed } = endOfString(this.#strings, open, isRaw);
    if (end !== undefined) return this.#add(kind, start, end);
    return open > start ? this.#add(kinds.identifier, start, open) : this.#unknown(start, failed);
  }

  #number(start: number): number {
    const { source } = this;
    let end = start;
    if (source.charCodeAt(start) === zero && source[start + 1] === "x" && isHexDigit(source.charCodeAt(start + 2))) {
      end += 2;
      while (isHexDigit(source.charCodeAt(end))) end++;
      return this.#integer(start, end);
    }
    end = this.#digits(start);
    let isDouble = false;
    if (source.charCodeAt(end) === dot && isDigit(source.charCodeAt(end + 1))) {
      isDouble = true;
      end = this.#digits(end + 1);
    }
    if (source[end] === "e" || source[end] === "E") {
      const digits = source[end + 1] === "+" || source[end + 1] === "-" ? end + 2 : end + 1;
      if (isDigit(source.charCodeAt(digits))) {
        isDouble = true;
        end = this.#digits(digits);
      }
    }
    return isDouble ? this.#add(kinds.double, start, end) : this.#integer(start, end);
  }

  #integer(start: number, end: number): number {
    const isUnsigned = this.source[end] === "u" || this.source[end] === "U";
    return isUnsigned ? this.#add(kinds.uint, start, end + 1) : this.#add(kinds.int, start, end);
  }

  #digits(start: number): number {
    let end = start;
    while (isDigit(this.source.charCodeAt(end))) end++;
    return end;
  }
}
