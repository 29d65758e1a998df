/**
 * Counts and compares texts by code points, since JavaScript uses UTF-16 units. Half of a surrogate pair counts as one.
 */

/**
 * The minimum length of a text that is first searched for surrogates: the runtime knows without reading whether a text
 * has only Latin letters.
 */
const askedLength = 16;
const surrogate = /[\ud800-\udfff]/;

/** Whether code points and UTF-16 units of a text have the same count and order. */
const isUniform = (text: string): boolean => !surrogate.test(text);

export function codePointCount(text: string): number {
  const { length } = text;
  if (length > askedLength && isUniform(text)) return length;
  let pairs = 0;
  for (let at = 0; at < length - 1; at++) {
    if ((text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) {
      pairs++;
      at++;
    }
  }
  return length - pairs;
}

/** Compares by code points, which is the order of UTF-8 bytes: negative, 0 or positive. */
export function compareCodePoints(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  if (length > askedLength && isUniform(a) && isUniform(b)) return a < b ? -1 : 1;
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    // Surrogates represent code points above all others of 16 bits.
    if (x >= 0xd800 && y >= 0xd800) return ((x + 0x2000) & 0xffff) - ((y + 0x2000) & 0xffff);
    return x - y;
  }
  return a.length - b.length;
}
