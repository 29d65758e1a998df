/** CBOR for tests, written without the code of the server: items as clients write them, and answers as plain values. */
import assert from "node:assert/strict";

/** Bytes that are written unchanged. */
class Raw {
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

/** Returns bytes from hexadecimal digits. */
export const hex = (digits: string): Raw => new Raw(Buffer.from(digits.replaceAll(" ", ""), "hex"));

/** Returns the head of an item. */
function head(major: number, argument: number | bigint): Buffer {
  const exact = BigInt(argument);
  const first = major << 5;
  if (exact < 24n) return Buffer.from([first | Number(exact)]);
  const [bits, info] = exact < 0x1_0000n ? [16, 25] : exact < 0x1_0000_0000n ? [32, 26] : [64, 27];
  const bytes = Buffer.alloc(9);
  bytes[0] = first | info!;
  bytes.writeBigUInt64BE(exact << BigInt(64 - bits!), 1);
  return bytes.subarray(0, 1 + bits! / 8);
}

/** Returns a byte string, as Kubernetes' clients write texts. */
export const byteText = (text: string): Raw =>
  new Raw(Buffer.concat([head(2, Buffer.byteLength(text)), Buffer.from(text)]));

/** Returns a value with a tag. */
export const tagged = (tag: number, value: unknown): Raw => new Raw(Buffer.concat([head(6, tag), item(value)]));

/** Returns a map with these pairs, which may be duplicates or have keys of any type. */
export const pairs = (...all: readonly (readonly [unknown, unknown])[]): Raw =>
  new Raw(Buffer.concat([head(5, all.length), ...all.flatMap((pair) => pair.map(item))]));

/** Returns lists within each other, with `value` in the middle. */
export const nested = (depth: number, value: unknown): Raw =>
  new Raw(Buffer.concat([Buffer.alloc(depth, 0x81), item(value)]));

/** Returns the item of a value; texts become text strings. */
export function item(value: unknown): Buffer {
  if (value instanceof Raw) return value.bytes;
  if (value === null) return Buffer.from([0xf6]);
  if (typeof value === "boolean") return Buffer.from([value ? 0xf5 : 0xf4]);
  if (typeof value === "bigint" || Number.isSafeInteger(value)) {
    const exact = BigInt(value as bigint | number);
    return exact < 0n ? head(1, -1n - exact) : head(0, exact);
  }
  if (typeof value === "number") {
    const bytes = Buffer.alloc(9, 0xfb);
    bytes.writeDoubleBE(value, 1);
    return bytes;
  }
  if (typeof value === "string") return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(item)]);
  assert.ok(typeof value === "object");
  return pairs(...Object.entries(value)).bytes;
}

/** Returns a body: a value after the tag that says that it is CBOR. */
export const body = (value: unknown): Buffer => tagged(selfDescribed, value).bytes;

const selfDescribed = 55799;
const base64 = 22;

/** Returns the items of a sequence as plain values. Bytes that are base64 in JSON become base64. */
export function itemsIn(bytes: Buffer): unknown[] {
  const reader = new Reader(bytes);
  const items: unknown[] = [];
  while (!reader.isAtEnd) {
    assert.equal(bytes.subarray(reader.at, reader.at + 3).toString("hex"), "d9d9f7", "each begins with the tag");
    items.push(reader.item());
  }
  return items;
}

class Reader {
  readonly #bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.at === this.#bytes.length;
  }

  item(isBase64 = false): unknown {
    const first = this.#bytes[this.at++]!;
    const major = first >> 5;
    if (major === 7) return this.#primitive(first & 31);
    const argument = this.#argument(first & 31);
    switch (major) {
      case 0:
        return argument;
      case 1:
        return -1 - argument;
      case 2:
      case 3: {
        const content = this.#take(argument);
        assert.equal(major, 2, "texts are byte strings");
        return content.toString(isBase64 ? "base64" : "utf8");
      }
      case 4:
        return Array.from({ length: argument }, () => this.item());
      case 5:
        return Object.fromEntries(Array.from({ length: argument }, () => [this.item(), this.item()]));
      default:
        assert.ok(argument === selfDescribed || argument === base64, `tag ${argument}`);
        return this.item(argument === base64);
    }
  }

  #take(length: number): Buffer {
    const from = this.at;
    this.at += length;
    assert.ok(this.at <= this.#bytes.length, "the bytes end too early");
    return this.#bytes.subarray(from, this.at);
  }

  #argument(info: number): number {
    if (info < 24) return info;
    const bytes = this.#take(1 << (info - 24));
    return Number(BigInt(`0x${bytes.toString("hex")}`));
  }

  #primitive(info: number): unknown {
    if (info === 27) return this.#take(8).readDoubleBE();
    if (info === 26) return this.#take(4).readFloatBE();
    if (info === 25) {
      const half = this.#take(2).readUInt16BE();
      const exponent = (half >> 10) & 31;
      const size = exponent === 0 ? (half & 1023) * 2 ** -24 : ((half & 1023) + 1024) * 2 ** (exponent - 25);
      return half >= 0x8000 ? -size : size;
    }
    const value = new Map([
      [20, false],
      [21, true],
      [22, null],
    ]).get(info);
    assert.notEqual(value, undefined, `simple value ${info}`);
    return value;
  }
}
