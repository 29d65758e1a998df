/**
 * The bounds of spans and of their batches. Clients choose many texts of a span, and a collector refuses a whole batch that
 * is too large.
 */
import { ownText } from "#std/own-copy.ts";
import type { SpanAttributes } from "#std/tracer.ts";

/** The maximum length of a name and of a value, in UTF-8. */
export const textBytesMax = 512;

/** The maximum number of attributes of a span; more are left out. */
export const attributesMax = 16;

/**
 * The maximum number of spans in an export. Collectors take messages of 4 MiB (4,194,304 bytes), which is the limit of gRPC.
 * An attribute has at most 512 bytes of value, 32 of key, and 11 of tags and lengths: 555. A span has 16 of them (8,880
 * bytes), a name (515) and, with ids, times, a link, a status and counts, less than 200 bytes more: less than 9,600. So 256
 * spans have at most 2,457,600 bytes, and the resource, which an export has once, is short.
 */
export const batchLengthMax = 256;

/**
 * Returns a text as spans keep it: cut between characters, and copied, since a span waits for its export, and a part of a
 * path or header would keep the whole of it in memory.
 */
export function boundedText(text: string): string {
  if (Buffer.byteLength(text) <= textBytesMax) return ownText(text);
  const bytes = Buffer.from(text.slice(0, textBytesMax));
  let end = Math.min(bytes.length, textBytesMax);
  while (end < bytes.length && (bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}

/** Returns the attributes with bounded texts. */
export function boundedAttributes(attributes: SpanAttributes): SpanAttributes {
  const bounded: Record<string, string | number | boolean> = {};
  for (const [key, value] of Object.entries(attributes)) {
    bounded[key] = typeof value === "string" ? boundedText(value) : value;
  }
  return bounded;
}
