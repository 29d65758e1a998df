/**
 * The DER encodings of certificates and certificate requests, and a reader for parts that `node:crypto` does not
 * expose. Source: ITU-T X.690. docs/dependencies.md says why this is not a library.
 */

/** An element: tag, length, content. */
function element(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const length: number[] = [];
  for (let rest = body.length; rest > 0; rest = Math.floor(rest / 256)) length.unshift(rest % 256);
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length, ...length]), body]);
}

export const sequence = (...parts: readonly Buffer[]): Buffer => element(0x30, ...parts);

export const set = (...parts: readonly Buffer[]): Buffer => element(0x31, ...parts);

export const octetString = (content: Buffer): Buffer => element(0x04, content);

export const utf8String = (text: string): Buffer => element(0x0c, Buffer.from(text));

export const trueValue = element(0x01, Buffer.from([0xff]));

export const nullValue = element(0x05);

/** A non-negative integer from its big-endian bytes. */
export function integer(bytes: Buffer): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start += 1;
  const body = bytes.subarray(start);
  return body[0]! >= 0x80 ? element(0x02, Buffer.from([0]), body) : element(0x02, body);
}

/** Bits given as whole bytes, without the last `unused` bits. */
export const bitString = (bytes: Buffer, unused = 0): Buffer => element(0x03, Buffer.from([unused]), bytes);

/** An object identifier from its dotted form. */
export function objectIdentifier(dotted: string): Buffer {
  const [first, second, ...rest] = dotted.split(".").map(Number);
  const bytes = [first! * 40 + second!];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let high = arc >>> 7; high > 0; high >>>= 7) groups.unshift((high & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return element(0x06, Buffer.from(bytes));
}

/** A moment, to the second. Certificates write years before 2050 with two digits. */
export function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:T]/g, "");
  return digits < "2050" ? element(0x17, Buffer.from(`${digits.slice(2)}Z`)) : element(0x18, Buffer.from(`${digits}Z`));
}

/** Context tag `number` around whole elements. */
export const explicit = (number: number, ...parts: readonly Buffer[]): Buffer => element(0xa0 | number, ...parts);

/** Context tag `number` in place of the element's own tag; `content` is bare. */
export const implicit = (number: number, content: Buffer): Buffer => element(0x80 | number, content);

/** An element as it was read. */
export interface DerElement {
  readonly tag: number;
  /** Without tag and length. */
  readonly content: Buffer;
  /** With tag and length. */
  readonly whole: Buffer;
}

/** Bytes that are not DER, or not the expected value. The message is for the sender. */
export class DerError extends Error {}

/** The elements one after the other in `bytes`, to the last byte. Throws `DerError`. */
export function readElements(bytes: Buffer): readonly DerElement[] {
  const elements: DerElement[] = [];
  for (let at = 0; at < bytes.length; ) {
    const element = readElement(bytes, at);
    elements.push(element);
    at += element.whole.length;
  }
  return elements;
}

/** The one element in `bytes`. Throws `DerError`, also for bytes after it. */
export function readOnly(bytes: Buffer, tag: number): DerElement {
  const element = readElement(bytes, 0);
  if (element.tag !== tag) throw new DerError("an element of another type");
  if (element.whole.length !== bytes.length) throw new DerError("trailing data");
  return element;
}

function readElement(bytes: Buffer, at: number): DerElement {
  const tag = bytes[at];
  let length = bytes[at + 1];
  if (tag === undefined || length === undefined) throw new DerError("data truncated");
  if ((tag & 0x1f) === 0x1f) throw new DerError("a tag of several bytes");
  let start = at + 2;
  if (length >= 0x80) {
    const count = length & 0x7f;
    // Four bytes of length are more than any body may have.
    if (count === 0 || count > 4) throw new DerError("indefinite or oversized length");
    if (start + count > bytes.length) throw new DerError("data truncated");
    length = bytes.readUIntBE(start, count);
    start += count;
    if (length < 0x80 || length < 2 ** (8 * (count - 1))) throw new DerError("a length that is not minimal");
  }
  const end = start + length;
  if (end > bytes.length) throw new DerError("data truncated");
  return { tag, content: bytes.subarray(start, end), whole: bytes.subarray(at, end) };
}

/** The dotted form of an object identifier's content. Throws `DerError`. */
export function readObjectIdentifier({ content }: DerElement): string {
  if (content.length === 0 || content.length > 64) throw new DerError("an object identifier of no sensible length");
  const arcs: number[] = [];
  let value = 0;
  for (const [index, byte] of content.entries()) {
    if (value > 2 ** 44) throw new DerError("an object identifier with an oversized part");
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) {
      arcs.push(value);
      value = 0;
    } else if (index === content.length - 1) throw new DerError("data truncated");
  }
  const first = Math.min(2, Math.floor(arcs[0]! / 40));
  return [first, arcs[0]! - first * 40, ...arcs.slice(1)].join(".");
}

const decoders: Readonly<Record<number, (content: Buffer) => string>> = {
  // A mark at the beginning is part of the name.
  0x0c: (content) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content),
  0x12: (content) => content.toString("latin1"),
  0x13: (content) => content.toString("latin1"),
  0x14: (content) => content.toString("latin1"),
  0x16: (content) => content.toString("latin1"),
  0x1e: (content) => Buffer.from(content).swap16().toString("utf16le"),
};

/** Text of a string element. Throws `DerError` for other types and bad bytes. */
export function readText({ tag, content }: DerElement): string {
  const decode = decoders[tag];
  if (decode === undefined) throw new DerError("a text of an unknown type");
  try {
    return decode(content);
  } catch (cause) {
    throw new DerError("a text with bytes that are none", { cause });
  }
}
