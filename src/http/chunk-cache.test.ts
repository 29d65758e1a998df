/** Tests that chunks are joined once for all readers, until they change or there are too many. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Chunk } from "#std/byte-pieces.ts";
import { joinChunks, ChunkCache } from "./chunk-cache.ts";

const keys = [{}, {}, {}, {}];

/** Makes the chunks of a body, and counts how often each of them was joined. */
function body(marks: readonly number[], length = 10): { readonly chunks: Chunk[]; readonly counts: number[] } {
  const counts = marks.map(() => 0);
  const chunks = marks.map((mark, i) => ({
    key: keys[i],
    mark: [mark],
    bytes(): Buffer {
      counts[i]!++;
      return Buffer.alloc(length, String(mark));
    },
  }));
  return { chunks, counts };
}

const textOf = (chunks: Iterable<Chunk>, cache: ChunkCache<Buffer>): string =>
  Buffer.concat([...joinChunks(chunks, cache)]).toString();

void test("a chunk is joined once, and anew when its mark is another", () => {
  const cache = new ChunkCache<Buffer>(1e6);
  const first = body([1, 2, 3], 2);
  assert.equal(textOf(first.chunks, cache), "112233");
  assert.equal(textOf(first.chunks, cache), "112233");
  assert.deepEqual(first.counts, [1, 1, 1]);
  const changed = body([1, 4, 3], 2);
  assert.equal(textOf(changed.chunks, cache), "114433");
  assert.deepEqual(changed.counts, [0, 1, 0]);
  const longer = { ...first.chunks[0]!, mark: [1, 9] };
  assert.equal(cache.find(longer), undefined);
});

void test("a chunk without a key is joined every time", () => {
  const cache = new ChunkCache<Buffer>(1e6);
  const { chunks, counts } = body([1]);
  const unkept = chunks.map((chunk) => ({ ...chunk, key: undefined }));
  textOf(unkept, cache);
  textOf(unkept, cache);
  assert.deepEqual(counts, [2]);
});

void test("the cached chunks stay within their budget", () => {
  const cache = new ChunkCache<Buffer>(2500);
  const { chunks, counts } = body([1, 2, 3, 4], 1000);
  textOf(chunks, cache);
  textOf(chunks, cache);
  assert.deepEqual(counts, [2, 2, 2, 2]);
});
