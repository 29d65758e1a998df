/** Shared by config maps and secrets: keys of data and their size. */

/** Most bytes of all values together. */
export const dataBytesMax = 1024 * 1024;

export const frozenMessage = "field is immutable when `immutable` is set";

/** The number of bytes that a base64 text encodes. */
export function base64Bytes(text: string): number {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return Math.floor((text.length * 3) / 4) - padding;
}
