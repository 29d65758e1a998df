/**
 * The few DER encodings that an X.509 certificate is made of. Source: ITU-T X.690. Own code because the certificate
 * library costs 60 ms and 20 MB at start (docs/dependencies.md); reading certificates is left to `node:crypto`.
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

/** A non-negative integer from its big-endian bytes. */
export function integer(bytes: Buffer): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start += 1;
  const body = bytes.subarray(start);
  return body[0]! >= 0x80 ? element(0x02, Buffer.from([0]), body) : element(0x02, body);
}

/** Bits given as whole bytes, the last `unused` of which do not count. */
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
