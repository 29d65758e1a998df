/** Reads string and bytes literals: finds their ends and computes their values. */

/** A source, and the triple quotes for which a search found no end, so that each is searched for only once. */
export interface StringScan {
  readonly source: string;
  readonly unclosed: Set<string>;
}

/**
 * The index after the literal; or, if it is not complete, the index of the character that does not fit (the length of
 * the source if there is none).
 */
type StringEnd = { readonly end: number; readonly failed?: never } | { readonly end?: never; readonly failed: number };

/** Finds the end of the literal whose quote is at `open`. */
export function endOfString(scan: StringScan, open: number, isRaw: boolean): StringEnd {
  const { source } = scan;
  const quote = source[open]!;
  if (source[open + 1] === quote && source[open + 2] === quote) {
    const end = endOfTriple(scan, open + 3, quote.repeat(3), isRaw);
    // Without an end, the first two quotes are an empty string, and another string follows.
    return { end: end ?? open + 2 };
  }
  for (let at = open + 1; at < source.length; ) {
    const character = source[at]!;
    if (character === quote) return { end: at + 1 };
    if (character === "\n" || character === "\r") return { failed: at };
    if (character !== "\\" || isRaw) {
      at++;
      continue;
    }
    const length = escapeLength(source, at);
    if (length < 0) return { failed: at - length };
    at += length;
  }
  return { failed: source.length };
}

/**
 * Finds the end of a literal in triple quotes. Invariant of `unclosed`: the failed search passed each later opening of
 * the same quotes as text (as an escaped quote and two more), and read the text after it in the same way, so the later
 * literal has no end either.
 */
function endOfTriple(scan: StringScan, from: number, quotes: string, isRaw: boolean): number | undefined {
  const { source } = scan;
  if (isRaw) {
    const end = source.indexOf(quotes, from);
    return end < 0 ? undefined : end + 3;
  }
  if (scan.unclosed.has(quotes)) return undefined;
  for (let at = from; at < source.length; ) {
    const character = source[at]!;
    if (character === "\\") {
      const length = escapeLength(source, at);
      if (length < 0) return undefined;
      at += length;
    } else if (character === quotes[0] && source.startsWith(quotes, at)) return at + 3;
    else at++;
  }
  scan.unclosed.add(quotes);
  return undefined;
}

const plainEscapes: ReadonlyMap<string, string> = new Map([
  ["a", "\x07"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
  ['"', '"'],
  ["'", "'"],
  ["\\", "\\"],
  ["?", "?"],
  ["`", "`"],
]);

const hexLengths: ReadonlyMap<string, number> = new Map([
  ["x", 2],
  ["X", 2],
  ["u", 4],
  ["U", 8],
]);

/**
 * Returns the length of the escape at a backslash. If it is invalid, returns the negative distance to the character
 * that does not fit.
 */
function escapeLength(source: string, at: number): number {
  const kind = source[at + 1] ?? "";
  if (plainEscapes.has(kind)) return 2;
  const digits = hexLengths.get(kind);
  if (digits !== undefined) {
    for (let count = 0; count < digits; count++) if (!isHex(source[at + 2 + count])) return -(2 + count);
    return 2 + digits;
  }
  for (let count = 0; count < 3; count++) {
    const digit = source[at + 1 + count] ?? "";
    if (digit === "" || digit < "0" || digit > (count === 0 ? "3" : "7")) return -(1 + count);
  }
  return 4;
}

const isHex = (character: string | undefined): boolean => character !== undefined && /^[0-9a-fA-F]$/.test(character);

/** Returns the text of a literal without its prefix and quotes, and whether it has escapes. */
function content(literal: string, prefixLength: number, isRaw: boolean): { text: string; hasEscapes: boolean } {
  const quote = literal[prefixLength]!;
  const isTriple = literal.length >= prefixLength + 6 && literal.startsWith(quote.repeat(3), prefixLength);
  const width = isTriple ? 3 : 1;
  const text = literal.slice(prefixLength + width, literal.length - width);
  return { text, hasEscapes: !isRaw && text.includes("\\") };
}

/** Returns the value of a string literal; `undefined` if one of its escapes is not a code point. */
export function stringValue(literal: string): string | undefined {
  const isRaw = literal[0] === "r" || literal[0] === "R";
  const { text, hasEscapes } = content(literal, isRaw ? 1 : 0, isRaw);
  if (!hasEscapes) return text;
  let value = "";
  for (const piece of pieces(text)) {
    if (typeof piece === "string") value += piece;
    else if (piece.code > 0x10ffff) return undefined;
    // A half of a surrogate pair is not a character.
    else value += piece.code >= 0xd800 && piece.code <= 0xdfff ? "\ufffd" : String.fromCodePoint(piece.code);
  }
  return value;
}

/**
 * Returns the value of a bytes literal; `undefined` if it has an escape of a code point, which only strings may have.
 */
export function bytesValue(literal: string): Uint8Array | undefined {
  const isRaw = literal[1] === "r" || literal[1] === "R";
  const { text, hasEscapes } = content(literal, isRaw ? 2 : 1, isRaw);
  const encoder = new TextEncoder();
  if (!hasEscapes) return encoder.encode(text);
  const bytes: number[] = [];
  for (const piece of pieces(text)) {
    if (typeof piece !== "string") {
      if (piece.isUnicode) return undefined;
      bytes.push(piece.code);
    } else for (const byte of encoder.encode(piece)) bytes.push(byte);
  }
  return Uint8Array.from(bytes);
}

interface Code {
  readonly code: number;
  readonly isUnicode: boolean;
}

/** Yields the pieces of a text with valid escapes: plain text, and the codes of numeric escapes. */
function* pieces(text: string): Iterable<string | Code> {
  let from = 0;
  for (let at = text.indexOf("\\"); at >= 0; at = text.indexOf("\\", from)) {
    if (at > from) yield text.slice(from, at);
    const kind = text[at + 1]!;
    const length = escapeLength(text, at);
    const plain = plainEscapes.get(kind);
    if (plain !== undefined) yield plain;
    else if (hexLengths.has(kind)) {
      yield { code: Number.parseInt(text.slice(at + 2, at + length), 16), isUnicode: kind === "u" || kind === "U" };
    } else yield { code: Number.parseInt(text.slice(at + 1, at + 4), 8), isUnicode: false };
    from = at + length;
  }
  if (from < text.length) yield text.slice(from);
}
