/**
 * Tests long JSON texts, whole and damaged: decoding in pieces returns the same value, or refuses the same texts, as
 * decoding in one piece.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DecodeError } from "#schema/decode-error.ts";
import { type Random, seededRandom } from "#std/random.ts";
import { runToEnd } from "#std/cooperative.ts";
import { decodeJson } from "./json.ts";
import { decodeInPieces } from "./json-pieces.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const runs = Number(process.env["FUZZ_RUNS"] ?? 150);

const decode = (bytes: Buffer): unknown => decodeJson(bytes).value;

/** Returns nested lists and objects of about `bytes` bytes, with space between tokens. */
function longJson(random: Random, bytes: number): string {
  const pick = (from: readonly string[]): string => from[Math.floor(random.next() * from.length)]!;
  const space = (): string => (random.next() < 0.1 ? pick([" ", "\n", "\t \r"]) : "");
  if (bytes < 40)
    return pick(["{}", "[]", "1", "-0", "9007199254740993", '"a,b]"', '"\\\\\\""', "true", "null", '"é{"']);
  if (random.next() < 0.02) return JSON.stringify('}\\"['.repeat(bytes / 8));
  const isList = random.next() < 0.5;
  const parts: string[] = [];
  for (let left = bytes; left > 0; ) {
    const size = Math.ceil(left * (random.next() < 0.3 ? random.next() : 0.01));
    const value = longJson(random, Math.min(size, left));
    const key = pick(['"a"', '"b"', '"__proto__"', '"\\u0063,"', `"k${parts.length}"`]);
    const part = `${space()}${isList ? "" : `${key}${space()}:${space()}`}${value}${space()}`;
    parts.push(part);
    left -= part.length + 1;
  }
  return isList ? `[${parts.join(",")}]` : `{${parts.join(",")}}`;
}

function outcome(run: () => unknown): unknown {
  try {
    return { value: run() };
  } catch (error) {
    assert.ok(error instanceof DecodeError, String(error));
    return "refused";
  }
}

test(`long texts have the same value in pieces (seed ${seed})`, () => {
  const random = seededRandom(seed);
  for (let run = 0; run < runs / 3; run++) {
    const bytes = Buffer.from(longJson(random, 70_000 + random.next() * 400_000));
    assert.deepEqual(runToEnd(decodeInPieces(bytes, decode)), decode(bytes), `run ${run}`);
  }
});

const damages = [",", "{", "}", "[", "]", ":", '"', "\\", " ", "-", "1", "null", '"x"', ""];

test(`damaged long texts are refused when they are in one piece (seed ${seed})`, () => {
  const random = seededRandom(seed);
  for (let run = 0; run < runs; run++) {
    const text = longJson(random, 66_000 + random.next() * 100_000);
    // Most damages are at brackets and commas, where long parts meet.
    const brackets = [...text.matchAll(/[[\]{},]/g)].map(({ index }) => index);
    const at = brackets[Math.floor(random.next() ** 3 * brackets.length)]! + (random.next() < 0.5 ? 1 : 0);
    const cut = random.next() < 0.5 ? 1 : 0;
    const damage = damages[Math.floor(random.next() * damages.length)]!;
    const bytes = Buffer.from(text.slice(0, at) + damage + text.slice(at + cut));
    const expected = outcome(() => decode(bytes));
    assert.deepEqual(
      outcome(() => runToEnd(decodeInPieces(bytes, decode))),
      expected,
      `run ${run}`,
    );
  }
});
