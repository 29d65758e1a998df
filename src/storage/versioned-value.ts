/**
 * Values without and with their revision. A writer does not know the revision of its write, but clients see it in the
 * value. So the log stores the value without the digits, and their offset; readers of the log insert them.
 *
 *     in the log   00 00 00 2f {"kind":"Pod",…,"resourceVersion":"","uid":…     the place, then the bytes
 *     read at 57               {"kind":"Pod",…,"resourceVersion":"57","uid":…
 */
import type { Revision } from "./log-store.ts";

const headerBytes = 4;
/** The place of values that show no revision. */
const nowhere = 0xffffffff;

/** `text` as the log keeps it; the digits belong where `before` first ends, and nowhere in a text without it. */
export function unversioned(text: string, before: string): Buffer {
  // Four characters of one byte, in whose place the header comes.
  const value = Buffer.from(`\0\0\0\0${text}`);
  // In ASCII, as most are, characters are bytes.
  const isAscii = value.length === headerBytes + text.length;
  const at = before === "" ? -1 : isAscii ? text.indexOf(before) : value.indexOf(before, headerBytes) - headerBytes;
  value.writeUInt32BE(at < 0 ? nowhere : at + (isAscii ? before.length : Buffer.byteLength(before)), 0);
  return value;
}

/** Bytes without a revision, the same at every revision. */
export function unversionedBytes(bytes: Uint8Array): Buffer {
  const value = Buffer.allocUnsafe(headerBytes + bytes.length);
  value.writeUInt32BE(nowhere, 0);
  value.set(bytes, headerBytes);
  return value;
}

/** How long a value is, but for the digits. */
export const lengthOf = (value: Uint8Array): number => value.length - headerBytes;

/** Where in the shown bytes the digits of the revision begin; -1: nowhere, as in what is no value of ours. */
export function placeOf(value: Uint8Array): number {
  if (value.length < headerBytes) return -1;
  const place = ((value[0]! << 24) | (value[1]! << 16) | (value[2]! << 8) | value[3]!) >>> 0;
  return place > value.length - headerBytes ? -1 : place;
}

/** The bytes at a revision, in memory of their own; `place` is that of the value. */
export function atRevision(value: Uint8Array, revision: Revision, place = placeOf(value)): Buffer {
  const source = Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (source.length <= headerBytes) return Buffer.alloc(0);
  const digits = place < 0 ? "" : String(revision);
  const bytes = Buffer.allocUnsafeSlow(source.length - headerBytes + digits.length);
  if (place < 0) {
    source.copy(bytes, 0, headerBytes);
    return bytes;
  }
  source.copy(bytes, 0, headerBytes, headerBytes + place);
  bytes.write(digits, place, "latin1");
  source.copy(bytes, place + digits.length, headerBytes + place);
  return bytes;
}

/** Shown bytes with the digits at `place` (of the revision `from`) replaced by those of `to`. */
export function moved(bytes: Buffer, place: number, from: Revision, to: Revision): Buffer {
  if (place < 0) return bytes;
  const digits = String(to);
  const rest = place + String(from).length;
  const copy = Buffer.allocUnsafeSlow(place + digits.length + bytes.length - rest);
  bytes.copy(copy, 0, 0, place);
  copy.write(digits, place, "latin1");
  bytes.copy(copy, place + digits.length, rest);
  return copy;
}
