/**
 * Decodes long JSON texts, such as answers of webhooks, without blocking the event loop. A first pass finds the long
 * objects and lists; a second pass decodes their members, and groups short ones. Both passes pause after each piece.
 */
import { DecodeError } from "#schema/decode-error.ts";
import { plainNumbers, setKey } from "#schema/json-values.ts";
import type { Steps } from "#std/cooperative.ts";
import { decodeJson, depthMax } from "./json.ts";

/** The number of bytes that are decoded without a pause. The worst case (empty objects) takes a few milliseconds. */
const pieceBytes = 64 * 1024;
/** The number of bytes that the first pass scans without a pause. */
const surveyBytes = 256 * 1024;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;

const isOpening = (byte: number | undefined): boolean => byte === 0x7b || byte === 0x5b;
const isClosing = (byte: number | undefined): boolean => byte === 0x7d || byte === 0x5d;
const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

const invalid = (): DecodeError => new DecodeError("invalid JSON");

/** Decodes a short text: a whole body, or a complete object or list within a long one. */
type DecodeShort = (text: Buffer) => unknown;

/** Decodes a text to plain numbers, except 64-bit integers, which stay exact. */
export function decodePlain(text: Buffer): unknown {
  const { value, hasRawNumbers } = decodeJson(text);
  return hasRawNumbers ? plainNumbers(value) : value;
}

/** Decodes a text in steps. Throws `DecodeError`, and the errors of `decode`. */
export function* decodeInPieces(bytes: Buffer, decode: DecodeShort): Steps<unknown> {
  if (bytes.length <= pieceBytes) return decode(bytes);
  const long = yield* longParts(bytes);
  let start = 0;
  while (isSpace(bytes[start])) start++;
  const end = long.get(start);
  // The text is a single string or number.
  if (end === undefined) return decode(bytes);
  if (!isBlank(bytes, end + 1, bytes.length)) throw invalid();
  const whole = new LongPart(bytes, start, end, decode);
  const open = [whole];
  for (let innermost = open.at(-1); innermost !== undefined; innermost = open.at(-1)) {
    const inner = innermost.next(long);
    if (inner === undefined) open.pop();
    else if (inner !== "pause") open.push(inner);
    yield undefined;
  }
  return whole.value;
}

/** Returns the end of each long object and list by its start. */
function* longParts(bytes: Buffer): Steps<ReadonlyMap<number, number>> {
  const long = new Map<number, number>();
  const open: number[] = [];
  let pauseAt = surveyBytes;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === quote) at = stringEnd(bytes, at);
    else if (isOpening(byte)) {
      if (open.push(at) > depthMax) throw new DecodeError("exceeded max depth");
    } else if (isClosing(byte)) {
      const start = open.pop();
      if (start === undefined) throw invalid();
      if (at - start >= pieceBytes) long.set(start, at);
    }
    if (at >= pauseAt) {
      pauseAt = at + surveyBytes;
      yield undefined;
    }
  }
  if (open.length > 0) throw new DecodeError("unexpected end of JSON input");
  return long;
}

/** Returns the position of the quote that ends the string which begins at `at`. */
function stringEnd(bytes: Buffer, at: number): number {
  for (let end = bytes.indexOf(quote, at + 1); end >= 0; end = bytes.indexOf(quote, end + 1)) {
    let before = end - 1;
    while (bytes[before] === backslash) before--;
    if ((end - before) % 2 === 1) return end;
  }
  throw new DecodeError("unexpected end of JSON input");
}

function isBlank(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (!isSpace(bytes[at])) return false;
  return true;
}

const [openList, closeList, openObject, closeObject] = ["[", "]", "{", "}"].map((text) => Buffer.from(text)) as [
  Buffer,
  Buffer,
  Buffer,
  Buffer,
]; // the list has four texts
/**
 * Replaces a long value, so that its key can be decoded alone. Text between the key and this replacement is a syntax
 * error.
 */
const keyOnly = Buffer.from("null}");

/** A long list or object whose members are being decoded. */
class LongPart {
  readonly value: unknown[] | Record<string, unknown>;
  readonly #bytes: Buffer;
  readonly #end: number;
  readonly #decode: DecodeShort;
  /** The offset at which the next value to decode begins. */
  #from: number;
  #at: number;
  /** Whether the member before `#from` is long, and was decoded by itself. */
  #isAfterLong = false;
  /** Whether a member or a comma came before `#from`, so that another member must follow. */
  #isBegun = false;

  constructor(bytes: Buffer, start: number, end: number, decode: DecodeShort) {
    const isList = bytes[start] === 0x5b;
    if ((bytes[end] === 0x5d) !== isList) throw invalid();
    this.value = isList ? [] : {};
    this.#bytes = bytes;
    this.#end = end;
    this.#decode = decode;
    this.#from = start + 1;
    this.#at = start + 1;
  }

  /** Decodes some members. Returns a long member, which must be decoded first; `undefined` at the end. */
  next(long: ReadonlyMap<number, number>): LongPart | "pause" | undefined {
    const bytes = this.#bytes;
    let depth = 0;
    for (; this.#at < this.#end; this.#at++) {
      const byte = bytes[this.#at]!;
      if (byte === quote) this.#at = stringEnd(bytes, this.#at);
      else if (isOpening(byte)) {
        const end = depth === 0 ? long.get(this.#at) : undefined;
        if (end !== undefined) return this.#long(end);
        depth++;
      } else if (isClosing(byte)) depth--;
      else if (byte === comma && depth === 0 && (this.#isAfterLong || this.#at - this.#from >= pieceBytes)) {
        this.#take(this.#at);
        this.#from = ++this.#at;
        this.#isBegun = true;
        return "pause";
      }
    }
    const isEmpty = !this.#isBegun && isBlank(bytes, this.#from, this.#end);
    if (!isEmpty) this.#take(this.#end);
    return undefined;
  }

  /**
   * Adds the long member at the current offset, which ends at `end`, to the value, and returns it. Its own members are
   * decoded later.
   */
  #long(end: number): LongPart {
    const inner = new LongPart(this.#bytes, this.#at, end, this.#decode);
    const { value } = this;
    const keyFrom = this.#beforeMember();
    if (Array.isArray(value)) {
      if (!isBlank(this.#bytes, keyFrom, this.#at)) throw invalid();
      value.push(inner.value);
    } else {
      const named = this.#decode(Buffer.concat([openObject, this.#bytes.subarray(keyFrom, this.#at), keyOnly]));
      const [key, other] = Object.keys(named as object); // the text was put in braces
      if (key === undefined || other !== undefined) throw invalid();
      setKey(value, key, inner.value);
    }
    this.#isAfterLong = true;
    this.#isBegun = true;
    this.#at = end + 1;
    this.#from = end + 1;
    return inner;
  }

  /** Decodes the members before the member at the current offset. Returns the offset at which this member begins. */
  #beforeMember(): number {
    if (this.#isAfterLong) throw invalid();
    const last = this.#lastComma();
    if (last === undefined) return this.#from;
    this.#take(last);
    return last + 1;
  }

  /** Returns the offset of the last comma before the current offset. */
  #lastComma(): number | undefined {
    let offset: number | undefined;
    let depth = 0;
    for (let at = this.#from; at < this.#at; at++) {
      const byte = this.#bytes[at]!;
      if (byte === quote) at = stringEnd(this.#bytes, at);
      else if (isOpening(byte)) depth++;
      else if (isClosing(byte)) depth--;
      else if (byte === comma && depth === 0) offset = at;
    }
    return offset;
  }

  /** Decodes the members up to `to`, of which there is at least one. */
  #take(to: number): void {
    if (this.#isAfterLong) {
      if (!isBlank(this.#bytes, this.#from, to)) throw invalid();
      this.#isAfterLong = false;
      return;
    }
    if (isBlank(this.#bytes, this.#from, to)) throw invalid();
    const text = this.#bytes.subarray(this.#from, to);
    const { value } = this;
    if (Array.isArray(value)) {
      // The decoded value is a list, since the text was put in brackets. It may have too many items to be arguments of
      // `push`.
      for (const item of this.#decode(Buffer.concat([openList, text, closeList])) as unknown[]) value.push(item);
      return;
    }
    // The value is an object, since the text was put in braces.
    const members = this.#decode(Buffer.concat([openObject, text, closeObject])) as Record<string, unknown>;
    for (const [key, member] of Object.entries(members)) setKey(value, key, member);
  }
}
