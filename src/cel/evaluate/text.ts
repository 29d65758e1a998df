/** Strings in code points, while JavaScript counts UTF-16 units; and UTF-8. */
import { codePointCount } from "#std/code-points.ts";
import type { EvaluationContext } from "../functions.ts";

/** The longest text that an expression makes; no object could hold it. */
const lengthMax = 4 * 1024 * 1024;

/** Counts a text before it is made. */
export function countText(length: number, context: EvaluationContext): void {
  context.work(length > lengthMax ? Number.POSITIVE_INFINITY : length / 16);
}

/** Longer texts are searched for in steps that grow with both lengths. */
const plainSearchMax = 250;
/** The number of characters that a search compares in one step. */
export const searchedPerUnit = 16;

/** Counts a search that is worse than one walk over the text. */
export function countSearch(text: string, part: string, context: EvaluationContext): void {
  if (part.length <= plainSearchMax || part.length > text.length) return;
  context.work(((text.length - part.length) * part.length) / searchedPerUnit);
}

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
