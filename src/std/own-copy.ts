/** Bytes and texts in memory of their own. */

/**
 * Returns a copy that shares its memory with nothing. A part of a larger block would keep the whole block, and a message
 * to a thread would copy it.
 */
export function ownCopy(bytes: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

/** The length from which on V8 may keep a part of a text as a reference to the whole text. */
const sliceLengthMin = 13;

/**
 * Returns a text that keeps no longer one in memory: a name that is a part of a path would keep all of the path, which has
 * 64 KB when a stranger wants it.
 */
export const ownText = (text: string): string => (text.length < sliceLengthMin ? text : Buffer.from(text).toString());
