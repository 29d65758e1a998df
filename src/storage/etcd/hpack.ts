/**
 * Blocks of header fields of HTTP/2, without the dynamic table: a connection that announces a table of no bytes gets blocks
 * that do not depend on each other, so that those that come again and again are read once.
 *
 * Source: RFC 7541, with its tables of appendices A and B.
 */

export type HeaderFields = ReadonlyMap<string, string>;

/** The names of the static table, with the values of those that have some. */
const staticFields = [
  ":authority :method=GET :method=POST :path=/ :path=/index.html :scheme=http :scheme=https :status=200 :status=204",
  ":status=206 :status=304 :status=400 :status=404 :status=500 accept-charset accept-encoding=gzip,\u00a0deflate",
  "accept-language accept-ranges accept access-control-allow-origin age allow authorization cache-control",
  "content-disposition content-encoding content-language content-length content-location content-range content-type",
  "cookie date etag expect expires from host if-match if-modified-since if-none-match if-range if-unmodified-since",
  "last-modified link location max-forwards proxy-authenticate proxy-authorization range referer refresh retry-after",
  "server set-cookie strict-transport-security transfer-encoding user-agent vary via www-authenticate",
].flatMap((line) => line.split(" ").map((field) => field.replace("\u00a0", " ").split("=")));

/** The bits of the code of each byte, and of the end of a text, each a digit of base 36. */
const codeLengths = [
  ..."dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6cad67777777777777777777777878djde6f",
  ..."56565666577666567655677777fbedskmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmnqqkj",
  ..."mnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrqu",
].map((digit) => Number.parseInt(digit, 36));
const endOfText = 256;
const longestCode = 30;

/** The symbols by the length of their code, each in order. Codes of one length follow each other. */
const symbolsOfLength = Array.from({ length: longestCode + 1 }, (_, length) =>
  codeLengths.flatMap((own, symbol) => (own === length ? [symbol] : [])),
);

/** Writes a block of fields, as they are. */
export function encodeFields(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), encodeText(name), encodeText(value)]));
}

function encodeText(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  const head: number[] = [];
  let rest = bytes.length;
  if (rest < 0x7f) head.push(rest);
  else {
    head.push(0x7f);
    for (rest -= 0x7f; rest > 0x7f; rest >>= 7) head.push((rest & 0x7f) | 0x80);
    head.push(rest);
  }
  return Buffer.concat([Buffer.from(head), bytes]);
}

/** Reads blocks, and keeps the last few that are short. */
export class FieldsReader {
  readonly #kept = new Map<string, HeaderFields>();
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;

  /** Returns the fields of a block; of those with the same name the last. Throws an error for a block that is wrong. */
  read(block: Buffer): HeaderFields {
    if (block.length > keptBytesMax) return this.#read(block);
    const text = block.toString("latin1");
    let fields = this.#kept.get(text);
    if (fields !== undefined) return fields;
    fields = this.#read(block);
    if (this.#kept.size >= keptMax) this.#kept.clear();
    this.#kept.set(text, fields);
    return fields;
  }

  #read(block: Buffer): HeaderFields {
    this.#bytes = block;
    this.#at = 0;
    const fields = new Map<string, string>();
    while (this.#at < block.length) {
      const first = block[this.#at]!;
      if ((first & 0x80) !== 0) {
        const [name, value] = staticField(this.#integer(0x7f));
        fields.set(name, value);
      } else if ((first & 0xe0) === 0x20) {
        if (this.#integer(0x1f) > 0) throw new Error("a block of headers asks for a table that is not allowed");
      } else {
        // A field that its sender wants to be kept has a longer index than others; nothing is kept here.
        const index = this.#integer((first & 0x40) === 0 ? 0x0f : 0x3f);
        const name = index === 0 ? this.#text() : staticField(index)[0];
        fields.set(name, this.#text());
      }
    }
    return fields;
  }

  /** Reads a number, which begins in the bits of `mask` of the next byte. */
  #integer(mask: number): number {
    let value = this.#byte() & mask;
    if (value < mask) return value;
    for (let factor = 1; factor < 2 ** 28; factor *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new Error("a block of headers has a number that is too long");
  }

  #byte(): number {
    if (this.#at === this.#bytes.length) throw cutOff();
    return this.#bytes[this.#at++]!;
  }

  #text(): string {
    const isCoded = ((this.#bytes[this.#at] ?? 0) & 0x80) !== 0;
    const length = this.#integer(0x7f);
    const start = this.#at;
    if (length > this.#bytes.length - start) throw cutOff();
    this.#at += length;
    const bytes = this.#bytes.subarray(start, this.#at);
    return isCoded ? decodeText(bytes) : bytes.toString("latin1");
  }
}

/** The number of blocks that are kept, and the bytes of the longest. */
const keptMax = 32;
const keptBytesMax = 256;

const cutOff = (): Error => new Error("a block of headers is cut off");

function staticField(index: number): readonly [name: string, value: string] {
  const field = staticFields[index - 1];
  if (field === undefined) throw new Error(`a block of headers names field ${index} of the table`);
  const [name, value = ""] = field;
  return [name!, value]; // `split` returns at least one text
}

/** Decodes a text in the code of appendix B. */
function decodeText(bytes: Buffer): string {
  const decoded: number[] = [];
  let code = 0;
  let length = 0;
  /** The first code of this length. */
  let first = 0;
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    code = code * 2 + ((bytes[bit >> 3]! >> (7 - (bit & 7))) & 1);
    first = (first + symbolsOfLength[length]!.length) * 2;
    length++;
    const symbol = symbolsOfLength[length]?.[code - first];
    if (symbol === endOfText || length > longestCode) throw new Error("a text in headers is coded wrongly");
    if (symbol === undefined) continue;
    decoded.push(symbol);
    code = 0;
    length = 0;
    first = 0;
  }
  // The last byte is filled with ones.
  if (length > 7 || code !== 2 ** length - 1) throw new Error("a text in headers is coded wrongly");
  return Buffer.from(decoded).toString("latin1");
}
