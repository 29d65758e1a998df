/** The parts of reply writing that need no connection; the rest is in `listener.test.ts`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "#std/random.ts";
import { pieceLength } from "#std/byte-pieces.ts";
import { acceptsGzip, longLength, piecesOf } from "./reply-writer.ts";

test("pieces hold the same bytes, none is longer than the bound, and small buffers are joined", () => {
  const random = seededRandom(1);
  for (let run = 0; run < 200; run++) {
    const longest = run % 2 === 0 ? longLength : 3 * pieceLength;
    const buffers = Array.from({ length: Math.floor(random.next() * 40) }, () =>
      Buffer.alloc(Math.floor(random.next() ** 2 * longest), random.bytes(37)),
    );
    const pieces = [...piecesOf(buffers)];
    assert.ok(Buffer.concat(pieces).equals(Buffer.concat(buffers)));
    for (const [i, piece] of pieces.entries()) {
      assert.ok(piece.length <= pieceLength);
      const next = pieces[i + 1];
      if (next !== undefined && buffers.every(({ length }) => length < longLength)) {
        assert.ok(piece.length + next.length > pieceLength, "two neighbours would fit into one");
      }
    }
  }
});

test("only the plain token gzip asks for compression", () => {
  for (const header of ["gzip", "gzip, deflate, br", "br,gzip", "deflate , gzip "])
    assert.ok(acceptsGzip(header), header);
  for (const header of [undefined, "", "identity", "gzip;q=1", "x-gzip", "*"])
    assert.ok(!acceptsGzip(header), String(header));
});
