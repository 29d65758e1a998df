/** Decodes and encodes base64 as Go's standard decoder and encoder do. */

const plain = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * Returns the text that Go's encoder writes for the decoded bytes: no line breaks, spare bits zero. Returns `undefined`
 * if the text is not base64.
 */
export function canonicalBase64(text: string): string | undefined {
  const length = text.length;
  if (length % 4 === 0 && plain.test(text)) {
    if (length === 0 || text.charCodeAt(length - 1) !== 61) return text;
    if (text.charCodeAt(length - 2) !== 61) {
      if ("AEIMQUYcgkosw048".includes(text[length - 2]!)) return text;
    } else if ("AQgw".includes(text[length - 3]!)) return text;
    return Buffer.from(text, "base64").toString("base64");
  }
  if (!/[\r\n]/.test(text)) return undefined;
  return canonicalBase64(text.replace(/[\r\n]/g, ""));
}

/** Returns the error of Go's decoder, which names the position at which it stops. */
export function base64Error(text: string): string {
  return `illegal base64 data at input byte ${faultyByte(Buffer.from(text))}`;
}

const isDigit = (byte: number): boolean =>
  (byte >= 65 && byte <= 90) || (byte >= 97 && byte <= 122) || (byte >= 48 && byte <= 57) || byte === 43 || byte === 47;

function faultyByte(bytes: Buffer): number {
  let at = 0;
  const isBreak = (): boolean => bytes[at] === 10 || bytes[at] === 13;
  for (;;) {
    // Each iteration reads one group of four.
    for (let digit = 0; digit < 4; digit++) {
      while (isBreak()) at++;
      if (at >= bytes.length) return digit === 0 ? at : at - digit;
      const byte = bytes[at++]!;
      if (isDigit(byte)) continue;
      if (byte !== 61 || digit < 2) return at - 1;
      while (isBreak()) at++;
      if (digit === 2) {
        if (at >= bytes.length) return bytes.length;
        if (bytes[at] !== 61) return at - 1;
        at++;
        while (isBreak()) at++;
      }
      // Padding ends the data.
      return at;
    }
  }
}
