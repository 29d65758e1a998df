/** Bytes in memory of their own. */

/**
 * Returns a copy that shares its memory with nothing. A part of a larger block would keep the whole block, and a message
 * to a thread would copy it.
 */
export function ownCopy(bytes: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}
