/** PEM text encoding. Source: RFC 7468, read as leniently as Go does. */

export interface PemBlock {
  /** The label, such as `CERTIFICATE` or `CERTIFICATE REQUEST`. */
  readonly label: string;
  /** Whether lines `Name: value` precede the bytes. */
  readonly hasHeaders: boolean;
  readonly bytes: Buffer;
}

const begin = "-----BEGIN ";
const end = "-----END ";
const dashes = "-----";

/** Yields the blocks in a text in order; other text and broken blocks are skipped. */
export function* pemBlocks(text: string): Generator<PemBlock> {
  for (let at = 0; ; ) {
    const start = lineThatStarts(text, begin, at);
    if (start < 0) return;
    const bodyStart = endOfLine(text, start);
    const stop = lineThatStarts(text, end, bodyStart);
    if (stop < 0) return;
    at = endOfLine(text, stop);
    const label = labelOf(text, start + begin.length);
    if (label === undefined || label !== labelOf(text, stop + end.length)) continue;
    const block = blockOf(label, text.slice(bodyStart, stop));
    if (block !== undefined) yield block;
  }
}

/** Returns a block as text, with lines of 64 characters. */
export function printPem(label: string, bytes: Buffer): string {
  const lines = bytes.toString("base64").replaceAll(/.{1,64}/g, "$&\n");
  return `${begin}${label}${dashes}\n${lines}${end}${label}${dashes}\n`;
}

function blockOf(label: string, body: string): PemBlock | undefined {
  const lines = body.split("\n").map((line) => line.trim());
  const headers = lines.findIndex((line) => !line.includes(":"));
  const base64 = lines.slice(Math.max(headers, 0)).join("");
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(base64) || base64.length % 4 !== 0) return undefined;
  return { label, hasHeaders: headers > 0, bytes: Buffer.from(base64, "base64") };
}

function lineThatStarts(text: string, mark: string, from: number): number {
  for (let at = text.indexOf(mark, from); at >= 0; at = text.indexOf(mark, at + 1)) {
    if (at === 0 || text[at - 1] === "\n") return at;
  }
  return -1;
}

/** Returns the index after the line break. */
function endOfLine(text: string, from: number): number {
  const at = text.indexOf("\n", from);
  return at < 0 ? text.length : at + 1;
}

function labelOf(text: string, from: number): string | undefined {
  const line = text.slice(from, endOfLine(text, from)).trimEnd();
  return line.endsWith(dashes) ? line.slice(0, -dashes.length) : undefined;
}
