/** Chunked compression: one valid gzip member, and no chunk compressed twice. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32, gunzipSync } from "node:zlib";
import { seededRandom } from "#std/random.ts";
import { Gzip, joinChecksums } from "./gzip.ts";
import type { Chunk } from "#std/byte-pieces.ts";

async function compress(gzip: Gzip, chunks: Iterable<Chunk>, pieceLength = 1000): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of gzip.compress(chunks, pieceLength)) pieces.push(piece);
  return Buffer.concat(pieces);
}

test("checksums of parts join to that of the whole", () => {
  const random = seededRandom(1);
  for (let chunk = 0; chunk < 300; chunk++) {
    const first = random.bytes(Math.floor(random.next() * 100));
    const second = random.bytes(Math.floor(random.next() ** 3 * 70_000));
    assert.equal(joinChecksums(crc32(first), crc32(second), second.length), crc32(Buffer.concat([first, second])));
  }
});

test("any chunks, empty ones and none included, unpack to their bytes in order", async () => {
  const random = seededRandom(2);
  const gzip = new Gzip(1e6);
  for (let round = 0; round < 100; round++) {
    const parts = Array.from({ length: Math.floor(random.next() * 8) }, () => {
      const length = Math.floor(random.next() ** 2 * 5_000);
      return random.next() < 0.5 ? random.bytes(length) : Buffer.alloc(length, "ab");
    });
    const chunks = parts.map((part) => ({ key: random.next() < 0.5 ? {} : undefined, mark: [1], bytes: () => part }));
    assert.ok(gunzipSync(await compress(gzip, chunks)).equals(Buffer.concat(parts)));
  }
});

test("a chunk is compressed once for all that ask, also at the same time, until its mark changes", async () => {
  const gzip = new Gzip(1e6);
  const keys = [{}, {}, {}];
  let made = 0;
  const chunks = (mark: number): Chunk[] =>
    keys.map((key, i) => ({
      key,
      mark: [i === 1 ? mark : 0],
      bytes() {
        made++;
        return Buffer.from(`chunk ${i} ${i === 1 ? mark : ""} `.repeat(50));
      },
    }));
  const [first, second] = await Promise.all([compress(gzip, chunks(1)), compress(gzip, chunks(1))]);
  assert.equal(made, 3);
  assert.ok(first.equals(second));
  assert.ok((await compress(gzip, chunks(1))).equals(first));
  assert.equal(made, 3);
  assert.match(gunzipSync(await compress(gzip, chunks(2))).toString(), /chunk 1 2 .*chunk 2/);
  assert.equal(made, 4);
});

test("the cached chunks stay within their budget", async () => {
  const gzip = new Gzip(10_000);
  const random = seededRandom(3);
  let made = 0;
  const chunks = Array.from({ length: 20 }, () => {
    const part = random.bytes(2_000);
    return {
      key: {},
      mark: [],
      bytes() {
        made++;
        return part;
      },
    };
  });
  await compress(gzip, chunks);
  await compress(gzip, chunks);
  assert.equal(made, 40);
});
