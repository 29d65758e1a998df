/**
 * Values without and with their revision. A writer does not know the revision of its write, but clients see it in the
 * value. So a value is kept without the digits, with the offset at which they belong; readers insert them.
 *
 *     bytes        {"kind":"Pod",…,"resourceVersion":"","uid":…      offset 47
 *     read at 57   {"kind":"Pod",…,"resourceVersion":"57","uid":…
 */
import type { Revision, Unversioned } from "./log-store.ts";

/** Makes a value of `text`. The digits belong where `before` first ends, and nowhere in a text without it. */
export function toUnversioned(text: string, before: string): Unversioned {
  const bytes = Buffer.from(text);
  return { bytes, revisionOffset: revisionOffsetIn(bytes, text, before) };
}

/** Returns the offset in the bytes of a text at which the digits belong, right after `before`; -1 for none. */
export function revisionOffsetIn(bytes: Buffer, text: string, before: string): number {
  // Most texts are ASCII, where characters are bytes.
  const isAscii = bytes.length === text.length;
  const at = isAscii ? text.indexOf(before) : bytes.indexOf(before);
  return at < 0 ? -1 : at + (isAscii ? before.length : Buffer.byteLength(before));
}

/** Makes a value that shows no revision, and is the same at each. */
export const withoutRevision = (bytes: Uint8Array): Unversioned => ({ bytes: Buffer.from(bytes), revisionOffset: -1 });

/** Returns the bytes at a revision, in memory of their own. */
export function insertRevision({ bytes, revisionOffset }: Unversioned, revision: Revision): Buffer {
  return withDigits(bytes, revisionOffset, revisionOffset, String(revision));
}

/** Returns the bytes with the digits at `offset`, those of the revision `from`, replaced by those of `to`. */
export function moveToRevision(bytes: Buffer, offset: number, from: Revision, to: Revision): Buffer {
  return withDigits(bytes, offset, offset + String(from).length, String(to));
}

/** Returns a copy with `digits` instead of the bytes from `offset` to `rest`; a plain copy where `offset` is -1. */
function withDigits(bytes: Buffer, offset: number, rest: number, digits: string): Buffer {
  if (offset < 0) {
    const copy = Buffer.allocUnsafeSlow(bytes.length);
    bytes.copy(copy);
    return copy;
  }
  const copy = Buffer.allocUnsafeSlow(offset + digits.length + bytes.length - rest);
  bytes.copy(copy, 0, 0, offset);
  copy.write(digits, offset, "latin1");
  bytes.copy(copy, offset + digits.length, rest);
  return copy;
}
