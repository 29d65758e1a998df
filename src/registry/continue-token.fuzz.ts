/**
 * Random continue tokens: each is refused with a 400 or gives a key inside the list; encoded tokens decode to the same
 * position.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { StatusError } from "#meta/status-error.ts";
import { seededRandom } from "#std/random.ts";
import { type Continue, decodeContinue, encodeContinue } from "./continue-token.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? 1);
const runs = Number(process.env["FUZZ_RUNS"] ?? 20_000);
const random = seededRandom(seed);
const below = (bound: number): number => Math.floor(random.next() * bound);
const oneOf = <T>(items: readonly T[]): T => items[below(items.length)]!;

const segments = ["a", "..", ".", "", "shop", "é", "\0", "..\0", "%2e%2e", "\\", "a\0b"];
const start = (): string => Array.from({ length: 1 + below(4) }, () => oneOf(segments)).join("/");
const members = ['"v":"meta.k8s.io/v1"', '"v":null', '"rv":-1', '"rv":1e3', '"start":[]', '"__proto__":{"rv":5}'];

function token(): string {
  const own = `{"v":"meta.k8s.io/v1","rv":${oneOf(["1", "-1", "9007199254740993", "0", "-5"])},"start":${JSON.stringify(start())}}`;
  const text = below(3) === 0 ? `{${oneOf(members)},${oneOf(members)}}` : own;
  const encoded = Buffer.from(below(5) === 0 ? text.slice(below(text.length)) : text).toString("base64url");
  if (below(4) > 0) return encoded;
  const at = below(encoded.length + 1);
  return encoded.slice(0, at) + oneOf(["=", "\n", "!", "\0", "+", "_", "\u{1f600}"]) + encoded.slice(at + below(2));
}

function tryDecode(text: string): Continue | undefined {
  try {
    return decodeContinue(text);
  } catch (error) {
    assert.ok(error instanceof StatusError, String(error));
    assert.equal(error.status.code, 400);
    return undefined;
  }
}

void test(`a token is refused or stays inside its list (FUZZ_SEED=${seed})`, () => {
  let taken = 0;
  for (let i = 0; i < runs; i++) {
    const text = token();
    const read = tryDecode(text);
    if (read === undefined) continue;
    taken++;
    const segments = read.start.split("/");
    assert.ok(!segments.includes("..") && !segments.includes(".") && !read.start.startsWith("/"), JSON.stringify(read));
    assert.ok(Number.isInteger(read.revision) && read.revision !== 0 && read.revision >= -1, text);
    if (read.start !== "") assert.deepEqual(decodeContinue(encodeContinue(read)), read);
  }
  assert.ok(taken > runs / 20 && taken < runs, `${taken} taken`);
});
