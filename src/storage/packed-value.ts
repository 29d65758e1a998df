/**
 * The form in which the logs of this process store a value: the offset of its revision, and its bytes.
 *
 *     value     {"kind":"Pod",…,"resourceVersion":"","uid":…      offset 47
 *     packed    00 00 00 2f {"kind":"Pod",…
 */
import type { Unversioned, ValueForm } from "./log-store.ts";

/** Bytes before those of the value in its packed form. */
export const headerBytes = 4;
/** The offset in the packed form of values that show no revision. */
const nowhere = 0xffffffff;

/** Writes the packed form into `buffer` from `at` on. */
export function packInto(buffer: Buffer, at: number, { bytes, revisionOffset }: Unversioned): void {
  buffer.writeUInt32BE(revisionOffset < 0 ? nowhere : revisionOffset, at);
  bytes.copy(buffer, at + headerBytes);
}

/** Returns the packed form. */
function pack(value: Unversioned): Buffer {
  const buffer = Buffer.allocUnsafe(headerBytes + value.bytes.length);
  packInto(buffer, 0, value);
  return buffer;
}

/** Reads the packed form, whose memory it shares. Damaged bytes become a value that shows no revision. */
export function unpack(buffer: Buffer): Unversioned {
  if (buffer.length < headerBytes) return { bytes: buffer.subarray(buffer.length), revisionOffset: -1 };
  const offset = buffer.readUInt32BE(0);
  return { bytes: buffer.subarray(headerBytes), revisionOffset: offset > buffer.length - headerBytes ? -1 : offset };
}

/** The form of the logs of this process. Encrypted values are bound to the key. */
export const packedForm: ValueForm = { pack, unpack, nameOf: (key) => Buffer.from(key) };
