/**
 * Blocks of header fields without the dynamic table: a connection that announces a table of no bytes gets blocks that do not
 * depend on each other, so that those that come again and again are read once.
 */
import { BlockReader, HeaderBlockError } from "./hpack-reader.ts";

export type HeaderFields = ReadonlyMap<string, string>;

/** Writes a block of fields, as they are. */
export function encodeFields(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), encodeText(name), encodeText(value)]));
}

function encodeText(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  const head: number[] = [];
  let rest = bytes.length;
  if (rest < 0x7f) head.push(rest);
  else {
    head.push(0x7f);
    for (rest -= 0x7f; rest > 0x7f; rest >>= 7) head.push((rest & 0x7f) | 0x80);
    head.push(rest);
  }
  return Buffer.concat([Buffer.from(head), bytes]);
}

/** The fields of a list, and their bytes, each with 32 more. */
const limits = { fieldsMax: 1000, listBytesMax: 64 * 1024 };
/** The number of blocks that are kept, and the bytes of the longest. */
const keptMax = 32;
const keptBytesMax = 256;
/** A block that takes the bytes of the table away, which the connection has announced. */
const noTable = Buffer.from([0x20]);

/** Reads blocks, and keeps the last few that are short. */
export class FieldsReader {
  readonly #kept = new Map<string, HeaderFields>();
  readonly #reader = new BlockReader({ ...limits, tableBytesMax: 0 });

  constructor() {
    this.#reader.read(noTable);
  }

  /** Returns the fields of a block; of those with the same name the last. Throws an error for a block that is wrong. */
  read(block: Buffer): HeaderFields {
    if (block.length > keptBytesMax) return this.#read(block);
    const text = block.toString("latin1");
    let fields = this.#kept.get(text);
    if (fields !== undefined) return fields;
    fields = this.#read(block);
    if (this.#kept.size >= keptMax) this.#kept.clear();
    this.#kept.set(text, fields);
    return fields;
  }

  #read(block: Buffer): HeaderFields {
    const list = this.#reader.read(block);
    if (list === undefined) throw new HeaderBlockError("a block of headers is too long");
    const fields = new Map<string, string>();
    for (let at = 0; at < list.length; at += 2) fields.set(list[at]!, list[at + 1]!);
    return fields;
  }
}
