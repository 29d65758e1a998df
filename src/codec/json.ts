/**
 * Decodes and encodes JSON with the limits, leniency and error messages of Go's decoder. `JSON.parse` does the work;
 * one pass over the bytes before it finds the properties that `JSON.parse` cannot report: nesting, the number of keys
 * (to detect duplicates), and numbers that a JavaScript number would change.
 *
 * Hot path; figures in docs/performance.md.
 */
import { isUtf8 } from "node:buffer";
import { DecodeError } from "#schema/decode-error.ts";
import { escapeHtml } from "#std/escape-html.ts";
import { syntaxError } from "./json-syntax.ts";
import { exactValue } from "./strict.ts";

interface DecodedJson {
  /**
   * The value. Numbers that JavaScript would change are `JSON.rawJSON` objects. The last of several members with the
   * same key wins.
   */
  readonly value: unknown;
  /** The number of keys of all objects in the text. If the value has fewer, some keys are duplicates. */
  readonly keys: number;
  /** Whether the value may hold numbers as `JSON.rawJSON` objects. */
  readonly hasRawNumbers: boolean;
  /** The parsed text: the bytes with invalid Unicode replaced. */
  readonly text: string;
}

/** The maximum nesting that Go's decoder accepts. */
export const depthMax = 10_000;

/** Decodes one JSON text. Throws `DecodeError` with Go's words. */
export function decodeJson(bytes: Uint8Array): DecodedJson {
  const valid = isUtf8(bytes) ? bytes : repairUtf8(bytes);
  const seen = survey(valid);
  if (seen.depth > depthMax) throw new DecodeError(syntaxError(valid, depthMax));
  const buffer = Buffer.isBuffer(valid) ? valid : Buffer.from(valid.buffer, valid.byteOffset, valid.byteLength);
  let text = buffer.toString(seen.ascii ? "latin1" : "utf8");
  if (seen.surrogates) text = text.replace(surrogateEscapes, repairSurrogate);
  try {
    const value: unknown = JSON.parse(text);
    return { value: seen.numbers ? exactValue(text) : value, keys: seen.keys, text, hasRawNumbers: seen.numbers };
  } catch (error) {
    if (error instanceof RangeError) throw new DecodeError("exceeded max depth", { cause: error });
    throw new DecodeError(syntaxError(valid, depthMax), { cause: error });
  }
}

interface Survey {
  keys: number;
  depth: number;
  ascii: boolean;
  /** Whether there may be numbers that a JavaScript number would change. */
  numbers: boolean;
  /** Whether there are escapes of surrogates, which may be unpaired. */
  surrogates: boolean;
}

/** Surveys a text in one pass. The result has no meaning if the text is not JSON. */
function survey(bytes: Uint8Array): Survey {
  const seen: Survey = { keys: 0, depth: 0, ascii: true, numbers: false, surrogates: false };
  const length = bytes.length;
  let keys = 0;
  let open = 0;
  let deepest = 0;
  let high = 0;
  for (let at = 0; at < length; at++) {
    const byte = bytes[at]!;
    switch (byte) {
      case 0x22: {
        for (at++; at < length; at++) {
          const inner = bytes[at]!;
          if (inner === 0x22) break;
          if (inner === 0x5c) {
            at++;
            // The escape is one from \uD800 to \uDFFF.
            if (bytes[at] === 0x75 && (bytes[at + 1]! | 0x20) === 0x64) seen.surrogates = true;
          }
          high |= inner;
        }
        break;
      }
      case 0x3a:
        keys++;
        break;
      case 0x7b:
      case 0x5b:
        if (++open > deepest) deepest = open;
        break;
      case 0x7d:
      case 0x5d:
        open--;
        break;
      default:
        if (byte === 0x2d || (byte >= 0x30 && byte <= 0x39)) {
          const start = at;
          let plain = true;
          for (; at + 1 < length; at++) {
            const next = bytes[at + 1]!;
            if (next >= 0x30 && next <= 0x39) continue;
            if (next !== 0x2e && (next | 0x20) !== 0x65 && next !== 0x2b && next !== 0x2d) break;
            plain = false;
          }
          if (!plain || at - start >= 15 || (byte === 0x2d && bytes[start + 1] === 0x30)) seen.numbers = true;
        } else high |= byte;
    }
  }
  seen.keys = keys;
  seen.depth = deepest;
  seen.ascii = high < 0x80;
  return seen;
}

const surrogateEscapes =
  /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\[^]/g;

/** Replaces an unpaired surrogate with the replacement character, as Go does; other matches stay. */
const repairSurrogate = (match: string): string => (match.length === 6 ? "\\ufffd" : match);

/** Replaces every byte that is not part of valid UTF-8 with one replacement character, as Go does. */
function repairUtf8(bytes: Uint8Array): Uint8Array {
  const out = Buffer.allocUnsafe(bytes.length * 3);
  let end = 0;
  for (let at = 0; at < bytes.length; ) {
    const length = sequenceLength(bytes, at);
    if (length === 0) {
      end += out.write("\ufffd", end);
      at++;
    } else {
      for (const next = at + length; at < next; at++) out[end++] = bytes[at]!;
    }
  }
  return out.subarray(0, end);
}

/** Returns the length of the valid UTF-8 sequence at `at`; 0 if there is none. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!;
  if (first < 0x80) return 1;
  const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length === 0 || at + length > bytes.length) return 0;
  for (let i = 1; i < length; i++) if ((bytes[at + i]! & 0xc0) !== 0x80) return 0;
  return isUtf8(bytes.subarray(at, at + length)) ? length : 0;
}

/**
 * The number of levels that are indented. Deeper values are on one line, so that the spaces cannot outgrow the value.
 */
export const indentedLevelsMax = 64;

/**
 * Returns indented JSON as Go writes it, two spaces a level, down to `indentedLevelsMax`, without a line feed at the
 * end. Throws the runtime's `RangeError` (`isTooDeep`) if the value is nested deeper than the stack.
 */
export function encodePrettyJson(value: unknown): Buffer {
  const compact = escapeHtml(JSON.stringify(value));
  return Buffer.from(nestingDepth(compact) <= indentedLevelsMax ? indentJson(value) : indentedText(compact));
}

const indentJson = (value: unknown): string => escapeHtml(JSON.stringify(value, undefined, 2));

/** Returns the depth to which objects and lists are nested in JSON text. */
function nestingDepth(json: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === 0x22) at = stringEnd(json, at);
    else if (code === 0x7b || code === 0x5b) deepest = Math.max(deepest, ++depth);
    else if (code === 0x7d || code === 0x5d) depth--;
  }
  return deepest;
}

/** Returns the position of the quote that ends the string which begins at `at`. */
function stringEnd(json: string, at: number): number {
  let end = at + 1;
  while (json.charCodeAt(end) !== 0x22) end += json.charCodeAt(end) === 0x5c ? 2 : 1;
  return end;
}

/** Returns compact JSON with line feeds and spaces inserted. */
function indentedText(json: string): string {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  const breakAt = (at: number, levels: number): void => {
    parts.push(json.slice(from, at), "\n", "  ".repeat(levels));
    from = at;
  };
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    const isShallow = depth <= indentedLevelsMax;
    if (code === 0x22) at = stringEnd(json, at);
    else if (code === 0x7b || code === 0x5b) {
      depth++;
      const next = json.charCodeAt(at + 1);
      if (next !== 0x7d && next !== 0x5d && depth <= indentedLevelsMax) breakAt(at + 1, depth);
    } else if (code === 0x7d || code === 0x5d) {
      const before = json.charCodeAt(at - 1);
      depth--;
      if (before !== 0x7b && before !== 0x5b && isShallow) breakAt(at, depth);
    } else if (code === 0x2c && isShallow) breakAt(at + 1, depth);
    else if (code === 0x3a && isShallow) {
      parts.push(json.slice(from, at + 1), " ");
      from = at + 1;
    }
  }
  parts.push(json.slice(from));
  return parts.join("");
}

/** Returns the maximum number of objects in a text, which is the number of its opening braces. */
export function bracesIn(bytes: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === brace) count++;
  return count;
}

const brace = 0x7b;
