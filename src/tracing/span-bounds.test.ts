/** Bounds of the texts of spans. `test/tracing/tracer.test.ts` measures whole batches. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { partOfPath, retainedBytes } from "#std/retained-for-tests.ts";
import { boundedAttributes, boundedText, textBytesMax } from "./span-bounds.ts";

test("texts are cut between characters, by their bytes", () => {
  for (const text of [
    "",
    "GET",
    "twelve chars",
    "GET /api/v1/namespaces/{:namespace}/pods",
    "x".repeat(textBytesMax),
  ]) {
    assert.equal(boundedText(text), text);
  }
  assert.equal(boundedText("x".repeat(textBytesMax + 1)), "x".repeat(textBytesMax));
  assert.equal(boundedText("€".repeat(12)), "€".repeat(12));
  for (const character of ["é", "€", "😀"]) {
    for (const before of ["", "x", "xx", "xxx"]) {
      const cut = boundedText(before + character.repeat(10_000));
      const count = Math.floor((textBytesMax - before.length) / Buffer.byteLength(character));
      assert.equal(cut, before + character.repeat(count));
    }
  }
  // Half a character becomes a longer one.
  assert.ok(Buffer.byteLength(boundedText("\ud83d".repeat(10_000))) <= textBytesMax);
});

test("every text of the attributes is bounded, and other values stay", () => {
  const long = "x".repeat(textBytesMax + 1);
  assert.deepEqual(boundedAttributes({ long, short: "a", code: 200, rejected: true }), {
    long: "x".repeat(textBytesMax),
    short: "a",
    code: 200,
    rejected: true,
  });
});

test("a kept text does not keep the longer one of which it is a part", () => {
  const bytes = retainedBytes(() =>
    Array.from({ length: 1000 }, (_, i) => [
      boundedText(partOfPath(`a-namespace-${i}`)),
      boundedText(partOfPath("x".repeat(50_000))),
    ]),
  );
  assert.ok(bytes < 20_000_000, `the paths have 120 MB, and ${bytes} bytes are kept`);
});
