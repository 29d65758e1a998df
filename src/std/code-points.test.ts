/** Counting and ordering by code points. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { codePointCount, compareCodePoints } from "./code-points.ts";

test("code points are counted, half of a pair as one", () => {
  assert.deepEqual(
    ["", "abc", "\u{1f600}b", "\ud83d", "\ude00\ud83d", "\ud83dx"].map(codePointCount),
    [0, 3, 2, 1, 2, 2],
  );
});

test("texts are in the order of their UTF-8 bytes", () => {
  const texts = ["", "a", "ab", "b", "\u{e9}", "\ud7ff", "\ue000", "\uffff", "\u{10000}", "\u{1f600}", "\u{1f600}a"];
  for (const a of texts) {
    for (const b of texts) {
      const wanted = Buffer.compare(Buffer.from(a), Buffer.from(b));
      assert.equal(Math.sign(compareCodePoints(a, b)), wanted, `${a} ${b}`);
    }
  }
});
