/**
 * Gzip (RFC 1952) of bodies in chunks. Each chunk is compressed by itself and ends on a byte boundary, so compressed
 * chunks are cached and joined again for later lists with the same objects in the same order. Many clients that list
 * the same objects cost one compression.
 *
 * Hot path of lists. Chunks make the result slightly longer than one stream; figures in docs/performance.md.
 */
import { promisify } from "node:util";
import { constants, crc32, deflateRaw } from "node:zlib";
import type { Chunk } from "#std/byte-pieces.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { ChunkCache } from "#http/chunk-cache.ts";

interface Compressed {
  /** Whole DEFLATE blocks, none of them the last one. */
  readonly bytes: Buffer;
  /** Checksum and length of the plain bytes. */
  readonly crc: number;
  readonly length: number;
}

interface CachedChunk {
  readonly chunk: Promise<Compressed>;
  /** The compressed chunk, once it is available. */
  ready: Compressed | undefined;
}

export class Gzip {
  readonly #cache: ChunkCache<CachedChunk>;

  /** Keeps about `budgetBytes` of compressed chunks. */
  constructor(budgetBytes: number) {
    this.#cache = new ChunkCache(budgetBytes);
  }

  /** Yields the chunks as one gzip member, in buffers of about `pieceLength` bytes. */
  async *compress(
    chunks: Iterable<Chunk> | AsyncIterable<Chunk>,
    pieceLength: number,
  ): AsyncGenerator<Buffer, void, undefined> {
    let waiting: Buffer[] = [header];
    let waitingLength = header.length;
    let crc = 0;
    let length = 0;
    for await (const chunk of chunks) {
      const part = await this.#find(chunk);
      crc = joinChecksums(crc, part.crc, part.length);
      length += part.length;
      waiting.push(part.bytes);
      waitingLength += part.bytes.length;
      if (waitingLength < pieceLength) continue;
      yield Buffer.concat(waiting, waitingLength);
      waiting = [];
      waitingLength = 0;
    }
    const trailer = Buffer.alloc(10);
    trailer.writeUInt16LE(emptyLastBlock, 0);
    trailer.writeUInt32LE(crc, 2);
    trailer.writeUInt32LE(length % 2 ** 32, 6);
    waiting.push(trailer);
    yield Buffer.concat(waiting);
  }

  #find(chunk: Chunk): MaybePromise<Compressed> {
    const cached = this.#cache.find(chunk);
    if (cached !== undefined) return cached.ready ?? cached.chunk;
    const entry: CachedChunk = { chunk: compressChunk(chunk.bytes()), ready: undefined };
    this.#cache.keep(chunk, entry);
    entry.chunk.then(
      (compressed) => {
        entry.ready = compressed;
        this.#cache.count(chunk, compressed.bytes.length);
      },
      () => this.#cache.forget(chunk),
    );
    return entry.chunk;
  }
}

/** Magic number, DEFLATE, no flags, no time, fastest, unknown system. */
const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255]);
/** An empty last block of fixed codes: `03 00`. */
const emptyLastBlock = 3;

const deflate = promisify(deflateRaw);
const options = { level: 1, finishFlush: constants.Z_SYNC_FLUSH };

async function compressChunk(plain: Buffer): Promise<Compressed> {
  return { bytes: await deflate(plain, options), crc: crc32(plain), length: plain.length };
}

/**
 * Returns the CRC-32 of two concatenated texts, from the checksums of both and the length of the second. A checksum is
 * a polynomial over bits, lowest power in the highest bit; appending `n` bytes multiplies it by x^(8n).
 */
export function joinChecksums(first: number, second: number, secondLength: number): number {
  let crc = first;
  let power = 0;
  for (let bytes = secondLength; bytes > 0; bytes = Math.floor(bytes / 2)) {
    if (bytes % 2 === 1) crc = multiply(crc, shifts[power]!);
    power++;
  }
  return (crc ^ second) >>> 0;
}

const generator = 0xedb88320;
/** The powers x^(8 * 2^i), for lengths of up to 53 bits. */
const shifts: readonly number[] = squares(1 << 23, 53);

function squares(first: number, count: number): readonly number[] {
  const powers = [first];
  while (powers.length < count) powers.push(multiply(powers.at(-1)!, powers.at(-1)!)); // never empty
  return powers;
}

/** Returns the product of two polynomials modulo the generator. */
function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = b;
  for (let bit = 31; bit >= 0; bit--) {
    if (((a >>> bit) & 1) === 1) product ^= shifted;
    shifted = (shifted & 1) === 1 ? (shifted >>> 1) ^ generator : shifted >>> 1;
  }
  return product;
}
