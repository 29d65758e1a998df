/** Handles strings by code points, since JavaScript counts UTF-16 units, and converts them to and from UTF-8. */
import { codePointCount } from "#std/code-points.ts";
import type { EvaluationContext } from "../functions.ts";

/** The maximum length of a text that an expression may make; no API object can contain a longer one. */
const lengthMax = 4 * 1024 * 1024;

/** Counts the work of making a text. Call it before the text is made. */
export function countText(length: number, context: EvaluationContext): void {
  context.work(length > lengthMax ? Number.POSITIVE_INFINITY : length / 16);
}

/**
 * The maximum length of a searched part that counts no work. The search for a longer part takes steps that grow with
 * both lengths.
 */
const plainSearchMax = 250;
/** The number of characters that a search compares in one step. */
export const searchedPerUnit = 16;

/** Counts the work of a search that takes longer than one walk over the text. */
export function countSearch(text: string, part: string, context: EvaluationContext): void {
  if (part.length <= plainSearchMax || part.length > text.length) return;
  context.work(((text.length - part.length) * part.length) / searchedPerUnit);
}

/** Whether indices of code points and of UTF-16 units are the same. */
export const isPlain = (text: string): boolean => codePointCount(text) === text.length;

/** Compares byte by byte, as unsigned numbers; a prefix comes first. The sign of the result is the order. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

export const encodeUtf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Decodes UTF-8; returns `undefined` if the bytes are invalid. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
