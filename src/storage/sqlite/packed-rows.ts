/**
 * Rows as bytes in one buffer, for messages between the main thread and the thread that owns the log: per row a header of
 * 36 bytes, the key in UTF-8, the value.
 *
 * Hot path: one `addWrite` per write.
 */
import type { PendingWrite } from "../commit-sequencer.ts";
import type { Revision, Unversioned } from "../log-store.ts";
import { headerBytes as valueHeaderBytes, packInto } from "../packed-value.ts";
import type { LogRow } from "./log-file.ts";

const headerBytes = 36;

/** The maximum number of bytes of a row with this key and a value of `valueBytes` bytes. */
const rowBytesMax = (key: string, valueBytes: number): number => headerBytes + key.length * 3 + valueBytes;

const packedLength = (value: Unversioned): number => valueHeaderBytes + value.bytes.length;

/** The maximum number of bytes of a packed write. */
export const packedBytesMax = ({ key, write: { value, note } }: PendingWrite): number =>
  rowBytesMax(key, value === undefined ? Buffer.byteLength(note ?? "") : packedLength(value));

/** Packs rows into one buffer: the given one, or a new one. A buffer that gets too small is replaced. */
export class RowWriter {
  #buffer: Buffer;
  #length = 0;

  constructor(space: number | ArrayBuffer | Buffer) {
    if (typeof space === "number") this.#buffer = Buffer.allocUnsafeSlow(space);
    else this.#buffer = Buffer.isBuffer(space) ? space : Buffer.from(space);
  }

  get length(): number {
    return this.#length;
  }

  addWrite({ write: { value, note = "" }, key, revision, replaces, expiresAt }: PendingWrite): void {
    // The row of a deletion has its note in the place of a value.
    const valueBytes = value === undefined ? Buffer.byteLength(note) : packedLength(value);
    const start = this.#begin(key, valueBytes);
    this.#writeNumbers(start, revision, replaces, expiresAt, value === undefined ? 1 : 0);
    if (value !== undefined) packInto(this.#buffer, this.#length - valueBytes, value);
    else if (valueBytes > 0) this.#buffer.write(note, this.#length - valueBytes);
  }

  addRow({ revision, key, previous, expires, deleted, value }: LogRow): void {
    const start = this.#begin(key, value.length);
    this.#writeNumbers(start, revision, previous, expires, deleted);
    this.#buffer.set(value, this.#length - value.length);
  }

  /**
   * Adds a row with its key and the lengths of key and value. Returns the index at which the row begins. The caller
   * adds the value.
   */
  #begin(key: string, valueBytes: number): number {
    const needed = this.#length + rowBytesMax(key, valueBytes);
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
      larger.set(this.#buffer.subarray(0, this.#length));
      this.#buffer = larger;
    }
    const buffer = this.#buffer;
    const start = this.#length;
    const keyBytes = buffer.write(key, start + headerBytes, "utf8");
    buffer.writeUInt32LE(keyBytes, start + 24);
    buffer.writeUInt32LE(valueBytes, start + 28);
    this.#length = start + headerBytes + keyBytes + valueBytes;
    return start;
  }

  #writeNumbers(start: number, revision: Revision, previous: Revision, expires: number, deleted: number): void {
    const buffer = this.#buffer;
    buffer.writeDoubleLE(revision, start);
    buffer.writeDoubleLE(previous, start + 8);
    buffer.writeDoubleLE(expires, start + 16);
    buffer.writeUInt32LE(deleted, start + 32);
  }

  /**
   * Returns the rows so far, in a buffer of their own that may be transferred to another thread. The writer must not be
   * used afterwards.
   */
  take(): Uint8Array<ArrayBuffer> {
    const { buffer, byteOffset } = this.#buffer;
    return new Uint8Array(buffer as ArrayBuffer, byteOffset, this.#length);
  }
}

/** Unpacks the rows of a `RowWriter`. The values share the memory of `bytes`. */
export function* readRows(bytes: Uint8Array): Generator<LogRow & { readonly value: Buffer }> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < buffer.length; ) {
    const keyEnd = at + headerBytes + buffer.readUInt32LE(at + 24);
    const valueEnd = keyEnd + buffer.readUInt32LE(at + 28);
    yield {
      revision: buffer.readDoubleLE(at),
      key: buffer.toString("utf8", at + headerBytes, keyEnd),
      previous: buffer.readDoubleLE(at + 8),
      expires: buffer.readDoubleLE(at + 16),
      deleted: buffer.readUInt32LE(at + 32),
      value: buffer.subarray(keyEnd, valueEnd),
    };
    at = valueEnd;
  }
}
