/** Kept bytes: what comes back, and that little of it takes little memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { KeptBytes } from "./kept-bytes.ts";

test("an entry comes back by its key, with the content that was set last", () => {
  const kept = new KeptBytes<{ readonly bytes: Buffer; readonly name: string }>(1024 * 1024);
  const [key, other] = [{}, {}];
  kept.set(key, { bytes: Buffer.from("one"), name: "a" });
  kept.set(key, { bytes: Buffer.from("two"), name: "b" });
  assert.deepEqual(kept.get(key), { bytes: Buffer.from("two"), name: "b" });
  assert.equal(kept.get(other), undefined);
});

test("a short entry keeps no block of the runtime's pool, from which short buffers are made", () => {
  const kept = new KeptBytes(1024 * 1024);
  const key = {};
  const bytes = Buffer.from("short");
  assert.ok(bytes.buffer.byteLength > bytes.length, "the buffer is a part of the pool");
  kept.set(key, { bytes });
  assert.equal(kept.get(key)?.bytes.buffer.byteLength, bytes.length);
});

test("entries are dropped when they take too much memory, empty ones too", () => {
  for (const length of [0, 100, 100_000]) {
    const kept = new KeptBytes(1024 * 1024);
    const keys = Array.from({ length: 5000 }, () => ({}));
    for (const key of keys) kept.set(key, { bytes: Buffer.alloc(length) });
    const rest = keys.filter((key) => kept.get(key) !== undefined);
    assert.ok(rest.length > 0 && rest.length * (length + 200) <= 1024 * 1024, `${rest.length} of ${length} bytes`);
    assert.ok(kept.get(keys.at(-1)!) !== undefined);
  }
});
