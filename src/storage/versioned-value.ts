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

/** Returns memory for a number of bytes. */
export type Allocate = (length: number) => Buffer;

/** Returns memory that is shared with nothing. */
export const allocateOwn: Allocate = (length) => Buffer.allocUnsafeSlow(length);

/** Returns the bytes at a revision, in memory of `allocate`, or of their own. */
export function insertRevision(
  { bytes, revisionOffset }: Unversioned,
  revision: Revision,
  allocate: Allocate = allocateOwn,
): Buffer {
  return withDigits(bytes, { from: revisionOffset, to: revisionOffset, digits: String(revision) }, allocate);
}

/**
 * Returns the bytes with the digits at `offset`, those of the revision `from`, replaced by those of `to`, in memory of
 * `allocate`.
 */
export function moveToRevision(
  bytes: Buffer,
  offset: number,
  { from, to }: { readonly from: Revision; readonly to: Revision },
  allocate: Allocate = allocateOwn,
): Buffer {
  return withDigits(bytes, { from: offset, to: offset + String(from).length, digits: String(to) }, allocate);
}

/** Digits that take the place of the bytes in [from, to). */
interface Splice {
  readonly from: number;
  readonly to: number;
  readonly digits: string;
}

/** Returns a copy with the digits in their place; a plain copy where that is at -1. */
function withDigits(bytes: Buffer, { from: offset, to: rest, digits }: Splice, allocate: Allocate): Buffer {
  if (offset < 0) {
    const copy = allocate(bytes.length);
    bytes.copy(copy);
    return copy;
  }
  const copy = allocate(offset + digits.length + bytes.length - rest);
  bytes.copy(copy, 0, 0, offset);
  copy.write(digits, offset, "latin1");
  bytes.copy(copy, offset + digits.length, rest);
  return copy;
}
