/** Strings in code points, while JavaScript counts UTF-16 units; and UTF-8. */
import { codePointCount } from "#std/code-points.ts";

/** Whether indices of code points and UTF-16 units are the same. */
export const isPlain = (text: string): boolean => codePointCount(text) === text.length;

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
