/**
 * Reads and prints IP addresses as most fields of objects have them: IPv4 may have leading zeros, and IPv6 has no zone.
 * `parse-ip.ts` is the strict one.
 */

/** Returns the 4 or 16 bytes of an address; `undefined` when it is invalid. */
export function parseIp(text: string): readonly number[] | undefined {
  if (text.length > 45) return undefined;
  if (!text.includes(":")) return parseIpv4(text);
  let tail: readonly number[] = [];
  let head = text;
  if (text.includes(".")) {
    const cut = text.lastIndexOf(":") + 1;
    const v4 = parseIpv4(text.slice(cut));
    if (v4 === undefined) return undefined;
    tail = v4;
    head = `${text.slice(0, cut)}0:0`;
  }
  const halves = head.split("::");
  if (halves.length > 2) return undefined;
  const [left = "", right] = halves;
  const before = left === "" ? [] : left.split(":");
  const after = right === undefined || right === "" ? [] : right.split(":");
  const missing = 8 - before.length - after.length;
  if (right === undefined ? missing !== 0 : missing < 1) return undefined;
  const words = [...before, ...Array<string>(missing).fill("0"), ...after];
  if (!words.every((word) => /^[0-9a-fA-F]{1,4}$/.test(word))) return undefined;
  const bytes = words.flatMap((word) => {
    const value = Number.parseInt(word, 16);
    return [value >> 8, value & 255];
  });
  return [...bytes.slice(0, 16 - tail.length), ...tail];
}

function parseIpv4(text: string): readonly number[] | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255)) return undefined;
  return parts.map(Number);
}

/** Returns the canonical text of an address: no leading zeros, lower case, the longest run of zero words as `::`. */
export function printIp(bytes: readonly number[]): string {
  if (bytes.length === 4) return bytes.join(".");
  const words: number[] = [];
  for (let i = 0; i < 16; i += 2) words.push((bytes[i]! << 8) | bytes[i + 1]!);
  if (words.slice(0, 5).every((word) => word === 0) && words[5] === 0xffff) {
    return `::ffff:${bytes.slice(12).join(".")}`;
  }
  let start = -1;
  let length = 1;
  for (let i = 0; i < 8; i++) {
    let end = i;
    while (end < 8 && words[end] === 0) end++;
    if (end - i > length) {
      start = i;
      length = end - i;
    }
    i = Math.max(i, end - 1);
  }
  const print = (from: number, to: number) =>
    words
      .slice(from, to)
      .map((word) => word.toString(16))
      .join(":");
  return start < 0 ? print(0, 8) : `${print(0, start)}::${print(start + length, 8)}`;
}
