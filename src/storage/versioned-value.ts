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
export function insertRevision(value: Unversioned, revision: Revision): Buffer {
  const spliced = atRevision(value, revision);
  const copy = Buffer.allocUnsafeSlow(splicedLength(spliced));
  writeSpliced(spliced, copy, 0);
  return copy;
}

/** Bytes of which those in [from, to) are replaced by digits; none are where `from` is -1. */
export interface SplicedBytes {
  readonly bytes: Buffer;
  readonly from: number;
  readonly to: number;
  readonly digits: string;
}

/** Returns the bytes of a value at a revision. */
export const atRevision = ({ bytes, revisionOffset }: Unversioned, revision: Revision): SplicedBytes => ({
  bytes,
  from: revisionOffset,
  to: revisionOffset,
  digits: String(revision),
});

/** Returns bytes of a value at the revision `last`, whose digits are at `offset`, at another revision. */
export const movedToRevision = (bytes: Buffer, offset: number, last: Revision, revision: Revision): SplicedBytes => ({
  bytes,
  from: offset,
  to: offset + String(last).length,
  digits: String(revision),
});

export const splicedLength = ({ bytes, from, to, digits }: SplicedBytes): number =>
  from < 0 ? bytes.length : bytes.length - (to - from) + digits.length;

/** Writes the bytes into `target` at `at`. */
export function writeSpliced({ bytes, from, to, digits }: SplicedBytes, target: Buffer, at: number): void {
  if (from < 0) {
    bytes.copy(target, at);
    return;
  }
  bytes.copy(target, at, 0, from);
  target.write(digits, at + from, "latin1");
  bytes.copy(target, at + from + digits.length, to);
}
