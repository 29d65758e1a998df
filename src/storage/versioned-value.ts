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
  const at = before === "" ? -1 : value.indexOf(before, headerBytes);
  value.writeUInt32BE(at < 0 ? nowhere : at + before.length - headerBytes, 0);
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

/** The bytes at a revision, in memory of their own. */
export function atRevision(value: Uint8Array, revision: Revision): Buffer {
  const place = placeOf(value);
  if (place < 0) {
    const rest = value.subarray(headerBytes);
    const bytes = Buffer.allocUnsafeSlow(rest.length);
    bytes.set(rest);
    return bytes;
  }
  const digits = String(revision);
  const bytes = Buffer.allocUnsafeSlow(value.length - headerBytes + digits.length);
  bytes.set(value.subarray(headerBytes, headerBytes + place));
  bytes.write(digits, place, "latin1");
  bytes.set(value.subarray(headerBytes + place), place + digits.length);
  return bytes;
}

/** Shown bytes with the digits at `place` (of the revision `from`) replaced by those of `to`. */
export function moved(bytes: Buffer, place: number, from: Revision, to: Revision): Buffer {
  if (place < 0) return bytes;
  const rest = place + String(from).length;
  return Buffer.concat([bytes.subarray(0, place), Buffer.from(String(to)), bytes.subarray(rest)]);
}
