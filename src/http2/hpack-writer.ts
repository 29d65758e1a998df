/**
 * Writes blocks of header fields of HTTP/2. Fields that come again take one byte, since they are kept in the dynamic table
 * that the blocks of one connection share; fields that differ each time are not kept, and secrets are marked so that
 * nobody keeps them. Texts are not coded: most of them are sent once on a connection.
 *
 * Hot path. Source: RFC 7541, sections 4 to 7.
 */
import { dynamicStart, fieldOverheadBytes, staticNames, staticValues, tableBytesDefault } from "./hpack-tables.ts";

/** The names whose values are different most times they are written. A status that is usual is in the static table. */
const changingNames: ReadonlySet<string> = new Set([
  ":path",
  ":status",
  "age",
  "audit-id",
  "content-length",
  "date",
  "etag",
  "last-modified",
  "location",
]);

/** The names whose values are secrets, which nobody on the way may keep in a table either (RFC 7541, section 7.1.3). */
const secretNames: ReadonlySet<string> = new Set(["authorization", "cookie", "proxy-authorization", "set-cookie"]);

/** The names that a `FieldNames` keeps; it grows no further, since others may name headers. */
const namesMax = 1024;
/** The bytes of values that are too long to be kept in the table. */
const keptValueLengthMax = 1024;
/** The number of values of one name that are compared with the one that is written. */
const comparedMax = 8;

/** Knowledge about the name of a header, which is the same for every connection. */
interface FieldName {
  /** A number for each name, from 0; -1 for a name that is not remembered. */
  readonly id: number;
  /** The name in lower case. */
  readonly text: string;
  /** The first index of the name in the static table; 0 if it is not there. */
  readonly index: number;
  /** The values of the static table from that index on. */
  readonly values: readonly string[];
  readonly isChanging: boolean;
  readonly isSecret: boolean;
}

/** Remembers the names of headers in the cases in which they are written. The writers of many connections may share it. */
export class FieldNames {
  readonly #names = new Map<string, FieldName>();
  #ids = 0;

  /** Returns what is known about a name in any case. Throws an error for a text that is no name. */
  get(name: string): FieldName {
    return this.#names.get(name) ?? this.#learn(name);
  }

  #learn(name: string): FieldName {
    if (!/^:?[\w!#$%&'*+\-.^`|~]+$/.test(name)) throw new Error(`${JSON.stringify(name)} is not the name of a header`);
    const text = name.toLowerCase();
    const isRemembered = this.#names.size < namesMax;
    const known = this.#names.get(text) ?? fieldName(text, isRemembered ? this.#ids++ : -1);
    if (isRemembered) this.#names.set(text, known).set(name, known);
    return known;
  }
}

function fieldName(text: string, id: number): FieldName {
  const first = staticNames.indexOf(text);
  return {
    id,
    text,
    index: Math.max(first, 0),
    values:
      first < 0 ? [] : staticValues.slice(first, staticNames.lastIndexOf(text) + 1).filter((value) => value !== ""),
    isChanging: changingNames.has(text),
    isSecret: secretNames.has(text),
  };
}

/** A field of the dynamic table. */
interface KeptField {
  readonly value: string;
  readonly bytes: number;
  /** The number of the field with the same name that was kept before; 0 if there is none. */
  readonly previous: number;
}

/** The bytes of a field besides its name and its value: up to 3 for an index, and up to 5 for the length of a text. */
const headBytesMax = 13;
/** The bytes of two changes of the size of the table. */
const changesBytesMax = 6;

/**
 * Writes the blocks of header fields of one connection. Every block that is written must be sent, in order: a field that is
 * kept is named by its place in later blocks.
 */
export class BlockWriter {
  readonly #names: FieldNames;
  #tableBytesMax = tableBytesDefault;
  #tableBytes = 0;
  /** The smallest limit since the last block, if the peer is to be told about a change. */
  #smallestLimit: number | undefined;
  /**
   * A ring of the dynamic table. The fields that were ever kept have numbers from 1; `#oldest` is that of the oldest that is
   * still in the table, and field n is at n & ringMask.
   */
  readonly #ring: KeptField[] = [];
  #oldest = 1;
  #newest = 0;
  /** The numbers of the fields that were kept last, by the id of their name; 0 if there is none. */
  readonly #latest: number[] = [];

  constructor(names: FieldNames = new FieldNames()) {
    this.#names = names;
  }

  /** Takes the bytes of the table that the peer permits (its SETTINGS_HEADER_TABLE_SIZE). No more than 4096 are used. */
  limitTable(bytes: number): void {
    const limit = Math.min(bytes, tableBytesDefault);
    if (limit === this.#tableBytesMax) return;
    this.#smallestLimit = Math.min(limit, this.#smallestLimit ?? limit);
    this.#tableBytesMax = limit;
    this.#evict(limit);
  }

  /** Returns the bytes that `write` needs at most. */
  lengthMax(fields: readonly string[]): number {
    let length = changesBytesMax + headBytesMax * (fields.length >> 1);
    for (const text of fields) length += text.length;
    return length;
  }

  /**
   * Writes a block at `at` of `out`, and returns the index after it. Names and values alternate; names are written in lower
   * case. Throws an error for a text that is no name, and for a value with a character above 0xff or with CR, LF or NUL;
   * what is in `out` must not be sent then, but other blocks may be written.
   */
  write(fields: readonly string[], out: Buffer, at: number): number {
    try {
      let end = this.#smallestLimit === undefined ? at : this.#writeLimits(out, at);
      for (let each = 0; each < fields.length; each += 2) {
        end = this.#writeField(this.#names.get(fields[each]!), fields[each + 1]!, out, end);
      }
      if (end > out.length) throw new Error("a block of headers is longer than its space");
      return end;
    } catch (error) {
      // The peer does not get fields that are kept by now: the next block empties the table on both sides.
      this.#evict(0);
      this.#smallestLimit = 0;
      throw error;
    }
  }

  #writeLimits(out: Buffer, at: number): number {
    const smallest = this.#smallestLimit!;
    this.#smallestLimit = undefined;
    const next = smallest < this.#tableBytesMax ? writeInteger(smallest, 0x20, 0x1f, out, at) : at;
    return writeInteger(this.#tableBytesMax, 0x20, 0x1f, out, next);
  }

  #writeField(name: FieldName, value: string, out: Buffer, at: number): number {
    for (let known = 0; known < name.values.length; known++) {
      if (name.values[known] === value) return writeInteger(name.index + known, 0x80, 0x7f, out, at);
    }
    const latest = this.#latest[name.id] ?? 0;
    const index = name.index > 0 || latest < this.#oldest ? name.index : this.#indexOf(latest);
    if (name.isSecret) return writeText(value, out, writeName(name.text, index, neverKept, out, at));
    // A name that is in no table is kept once with its value, so that it takes one byte afterwards.
    const isAlike = !name.isChanging || index === 0;
    for (let number = latest, compared = 0; isAlike && number >= this.#oldest && compared < comparedMax; compared++) {
      const field = this.#ring[number & ringMask]!;
      if (field.value === value) return writeInteger(this.#indexOf(number), 0x80, 0x7f, out, at);
      number = field.previous;
    }
    const bytes = name.text.length + value.length + fieldOverheadBytes;
    if (!isAlike || name.id < 0 || value.length > keptValueLengthMax || bytes > this.#tableBytesMax)
      return writeText(value, out, writeName(name.text, index, notKept, out, at));
    const end = writeText(value, out, writeName(name.text, index, kept, out, at));
    this.#keep(name.id, { value, bytes, previous: latest });
    return end;
  }

  #keep(id: number, field: KeptField): void {
    this.#evict(this.#tableBytesMax - field.bytes);
    this.#tableBytes += field.bytes;
    this.#newest += 1;
    this.#ring[this.#newest & ringMask] = field;
    while (this.#latest.length <= id) this.#latest.push(0);
    this.#latest[id] = this.#newest;
  }

  /** Drops the oldest fields until the table has `bytes` or less. */
  #evict(bytes: number): void {
    for (; this.#tableBytes > bytes; this.#oldest++) this.#tableBytes -= this.#ring[this.#oldest & ringMask]!.bytes;
  }

  /** Returns the index of a field of the dynamic table in the block that is written. */
  #indexOf(kept: number): number {
    return dynamicStart + this.#newest - kept;
  }
}

/** The most fields that a table can have, less 1. */
const ringMask = tableBytesDefault / fieldOverheadBytes - 1;

/** The first bits of the kinds of literal fields. */
const kept = 0x40;
const notKept = 0x00;
const neverKept = 0x10;

/** Writes the head of a literal field: the index of its name, or the name if that is 0. */
function writeName(text: string, index: number, kind: number, out: Buffer, at: number): number {
  const end = writeInteger(index, kind, kind === kept ? 0x3f : 0x0f, out, at);
  return index > 0 ? end : writeText(text, out, end);
}

function writeInteger(value: number, first: number, mask: number, out: Buffer, at: number): number {
  if (value < mask) {
    out[at] = first | value;
    return at + 1;
  }
  out[at++] = first | mask;
  let rest = value - mask;
  for (; rest > 0x7f; rest >>= 7) out[at++] = (rest & 0x7f) | 0x80;
  out[at++] = rest;
  return at;
}

function writeText(text: string, out: Buffer, at: number): number {
  const start = writeInteger(text.length, 0x00, 0x7f, out, at);
  for (let each = 0; each < text.length; each++) {
    const code = text.charCodeAt(each);
    // CR, LF and NUL would end the value for a reader of HTTP/1.
    if (code > 0xff || code === 0x0d || code === 0x0a || code === 0)
      throw new Error("the value of a header has a character that is not allowed in it");
    out[start + each] = code;
  }
  return start + text.length;
}
