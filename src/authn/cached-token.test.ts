/** The token cache: bounded, and used entries stay. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { TokenCache, tokenDigest } from "./cached-token.ts";

test("a token is remembered by its digest alone", () => {
  assert.equal(tokenDigest("secret").length, 32);
  assert.notEqual(tokenDigest("secret"), tokenDigest("secres"));
  // Characters that one byte cannot hold count whole: \u0161 is no "a", as its last byte says.
  assert.notEqual(tokenDigest("secret-\u0161"), tokenDigest("secret-a"));
  assert.equal(
    Buffer.from(tokenDigest("\u0161"), "latin1").toString("hex"),
    createHash("sha256").update("\u0161", "utf8").digest("hex"),
  );
});

test("a flood leaves at most two generations, and what is used stays", () => {
  const cache = new TokenCache<number>(10);
  cache.set("used", -1);
  for (let i = 0; i < 1000; i++) {
    cache.set(`bad ${i}`, i);
    if (i % 5 === 0) assert.equal(cache.get("used"), -1, `after ${i}`);
  }
  const left = Array.from({ length: 1000 }, (_, i) => cache.get(`bad ${i}`)).filter((value) => value !== undefined);
  assert.ok(left.length <= 20, `${left.length} left`);
});
