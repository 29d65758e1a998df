/**
 * Values without and with their revision. A writer does not know the revision of its write, but clients see it in the
 * value. So a value is kept without the digits, with their place; readers insert them.
 *
 *     bytes        {"kind":"Pod",…,"resourceVersion":"","uid":…      place 47
 *     read at 57   {"kind":"Pod",…,"resourceVersion":"57","uid":…
 *     packed       00 00 00 2f {"kind":"Pod",…                       one piece of bytes, for logs
 */
import type { Revision, Unversioned } from "./log-store.ts";

/** `text` as a value; the digits belong where `before` first ends, and nowhere in a text without it. */
export function unversioned(text: string, before: string): Unversioned {
  const bytes = Buffer.from(text);
  return { bytes, place: placeIn(bytes, text, before) };
}

/** Where the digits belong in a text and its bytes. */
export function placeIn(bytes: Buffer, text: string, before: string): number {
  // In ASCII, as most are, characters are bytes.
  const isAscii = bytes.length === text.length;
  const at = isAscii ? text.indexOf(before) : bytes.indexOf(before);
  return at < 0 ? -1 : at + (isAscii ? before.length : Buffer.byteLength(before));
}

/** Bytes without a revision, the same at every revision. */
export const unversionedBytes = (bytes: Uint8Array): Unversioned => ({ bytes: Buffer.from(bytes), place: -1 });

/** The bytes at a revision, in memory of their own. */
export function atRevision({ bytes, place }: Unversioned, revision: Revision): Buffer {
  return withDigits(bytes, place, place, String(revision));
}

/** Shown bytes with the digits at `place` (of the revision `from`) replaced by those of `to`. */
export function moved(bytes: Buffer, place: number, from: Revision, to: Revision): Buffer {
  return withDigits(bytes, place, place + String(from).length, String(to));
}

/** A copy with `digits` instead of the bytes from `place` to `rest`; without a place, a plain copy. */
function withDigits(bytes: Buffer, place: number, rest: number, digits: string): Buffer {
  if (place < 0) {
    const copy = Buffer.allocUnsafeSlow(bytes.length);
    bytes.copy(copy);
    return copy;
  }
  const copy = Buffer.allocUnsafeSlow(place + digits.length + bytes.length - rest);
  bytes.copy(copy, 0, 0, place);
  copy.write(digits, place, "latin1");
  bytes.copy(copy, place + digits.length, rest);
  return copy;
}

/** Bytes before those of the value in its packed form. */
export const headerBytes = 4;
/** The place of values that show no revision. */
const nowhere = 0xffffffff;

/** Writes the packed form into `buffer` from `at` on. */
export function packInto(buffer: Buffer, at: number, { bytes, place }: Unversioned): void {
  buffer.writeUInt32BE(place < 0 ? nowhere : place, at);
  bytes.copy(buffer, at + headerBytes);
}

/** The packed form. */
export function packed(value: Unversioned): Buffer {
  const buffer = Buffer.allocUnsafe(headerBytes + value.bytes.length);
  packInto(buffer, 0, value);
  return buffer;
}

/** Reads the packed form, whose memory it shares. Of damaged bytes: something that shows no revision. */
export function unpacked(buffer: Buffer): Unversioned {
  if (buffer.length < headerBytes) return { bytes: buffer.subarray(buffer.length), place: -1 };
  const place = buffer.readUInt32BE(0);
  return { bytes: buffer.subarray(headerBytes), place: place > buffer.length - headerBytes ? -1 : place };
}
