/** Keys of cached tokens. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { tokenDigest } from "./token-digest.ts";

test("a token is remembered by its digest alone", () => {
  assert.equal(tokenDigest("secret").length, 32);
  assert.notEqual(tokenDigest("secret"), tokenDigest("secres"));
  // All bytes of a character count: \u0161 is no "a", although its last byte is that of "a".
  assert.notEqual(tokenDigest("secret-\u0161"), tokenDigest("secret-a"));
  assert.equal(
    Buffer.from(tokenDigest("\u0161"), "latin1").toString("hex"),
    createHash("sha256").update("\u0161", "utf8").digest("hex"),
  );
});
