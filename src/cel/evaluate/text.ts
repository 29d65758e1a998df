/** Strings in code points, while JavaScript counts UTF-16 units; and UTF-8. */

/** Number of code points. A surrogate that stands alone is one. */
export function codePointCount(text: string): number {
  const { length } = text;
  let pairs = 0;
  for (let at = 0; at < length; at++) {
    if ((text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) {
      pairs++;
      at++;
    }
  }
  return length - pairs;
}

/** Whether indices of code points and UTF-16 units are the same. */
export const isPlain = (text: string): boolean => codePointCount(text) === text.length;

/** Order by code points; negative, 0 or positive. UTF-16 order differs beyond U+FFFF. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  if (at === length) return a.length - b.length;
  const left = a.charCodeAt(at);
  const right = b.charCodeAt(at);
  const isHigh = (unit: number): boolean => (unit & 0xf800) === 0xd800;
  // A surrogate belongs to a code point above all others.
  if (isHigh(left) !== isHigh(right)) return isHigh(left) ? 1 : -1;
  return left - right;
}

export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

export const encodeUtf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** `undefined` where the bytes are no UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
