/** Lines, however the bytes come. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { LineSplitter } from "./lines.ts";

test("lines are the same, however the bytes are divided", () => {
  const text = 'one\n\n{"zwö":2}\nthree';
  const bytes = Buffer.from(text);
  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++) {
      const lines: string[] = [];
      const splitter = new LineSplitter((line) => lines.push(line.toString()), 100);
      for (const piece of [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]) {
        splitter.take(piece);
      }
      assert.deepEqual(lines, ["one", "", '{"zwö":2}']);
      splitter.take(Buffer.from("\n"));
      assert.equal(lines[3], "three");
    }
  }
});

test("a line that is too long is an error, also before its end has come", () => {
  const splitter = new LineSplitter(() => undefined, 10);
  splitter.take(Buffer.from("1234567890\n12345"));
  splitter.take(Buffer.from("67890"));
  assert.throws(() => splitter.take(Buffer.from("1")), /^Error: a line of the answer has more than 10 bytes$/);
});
