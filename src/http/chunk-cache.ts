/**
 * Caches parts of list bodies in joined and in compressed form. If many clients list the same objects, the parts are
 * joined and compressed once; after a change only the chunk that contains it is made again.
 */

import type { Chunk } from "#std/byte-pieces.ts";

interface CachedChunk<Value> {
  readonly mark: readonly number[];
  readonly value: Value;
}

export class ChunkCache<Value> {
  readonly #budgetBytes: number;
  #entries = new WeakMap<object, CachedChunk<Value>>();
  #bytes = 0;

  /** The cache has about `budgetBytes` bytes; beyond it everything is dropped. */
  constructor(budgetBytes: number) {
    this.#budgetBytes = budgetBytes;
  }

  find({ key, mark }: Chunk): Value | undefined {
    const cached = key === undefined ? undefined : this.#entries.get(key);
    return cached !== undefined && equals(cached.mark, mark) ? cached.value : undefined;
  }

  keep({ key, mark }: Chunk, value: Value): void {
    if (key !== undefined) this.#entries.set(key, { mark, value });
  }

  forget({ key }: Chunk): void {
    if (key !== undefined) this.#entries.delete(key);
  }

  /** Counts a cached chunk once its size is known. */
  count({ key, mark }: Chunk, bytes: number): void {
    if (key === undefined) return;
    this.#bytes += bytes + mark.length * 8;
    if (this.#bytes <= this.#budgetBytes) return;
    this.#entries = new WeakMap();
    this.#bytes = 0;
  }
}

/** Yields the bytes of chunks, from the cache if possible. */
export function* joinChunks(chunks: Iterable<Chunk>, cache: ChunkCache<Buffer>): Generator<Buffer, void, undefined> {
  for (const chunk of chunks) {
    let bytes = cache.find(chunk);
    if (bytes === undefined) {
      bytes = chunk.bytes();
      cache.keep(chunk, bytes);
      cache.count(chunk, bytes.length);
    }
    yield bytes;
  }
}

function equals(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
