/**
 * Tests random and damaged JSON: values are those of `JSON.parse`, the same texts are refused, and every error is a
 * `DecodeError`.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DecodeError } from "#schema/decode-error.ts";
import { countKeys, plainNumbers } from "#schema/json-values.ts";
import { type Random, seededRandom } from "#std/random.ts";
import { decodeJson } from "./json.ts";
import { exactValue, strictFindings } from "./strict.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const runs = Number(process.env["FUZZ_RUNS"] ?? 10_000);

const atoms = [
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  '"',
  "\\",
  '"a":',
  '"b":',
  '"__proto__":',
  '"x\\"y"',
  '"\\ud83d"',
  '"\\u0041"',
  "1",
  "-0",
  "1.0",
  "9007199254740993",
  "1e400",
  "true",
  "null",
  " ",
  "\n",
  "\u00e9",
  "\u2028",
  "tru",
];

function randomJson(random: Random, depth: number): string {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;
  const kind = depth === 0 ? 0 : random.next();
  if (kind < 0.4)
    return pick(['"a"', '""', "0", "-1.5", "1.0", "12345678901234567890", "true", "null", '"\\udc00<"', '"\u00e9"']);
  const inner = Array.from({ length: Math.floor(random.next() * 4) }, () => randomJson(random, depth - 1));
  if (kind < 0.6) return `[${inner.join(pick([",", " , "]))}]`;
  return `{${inner.map((text) => `"${pick(["a", "b", "c", "1", "__proto__", "\\u0061"])}"${pick([":", " : "])}${text}`).join(",")}}`;
}

function parseOrError(text: string): unknown {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

test(`random JSON texts have the value JSON.parse gives them (seed ${seed})`, () => {
  const random = seededRandom(seed);
  for (let i = 0; i < runs; i++) {
    const text = randomJson(random, 5);
    const { value, keys } = decodeJson(Buffer.from(text));
    const expected: unknown = JSON.parse(text.replaceAll("\\udc00", "\\ufffd"));
    assert.deepEqual(JSON.stringify(numbers(value)), JSON.stringify(expected), text);
    assert.equal(JSON.stringify(exactValue(text.replaceAll("\\udc00", "\\ufffd"))), JSON.stringify(value), text);
    const hasDoubles = strictFindings(undefined, text).problems.length > 0;
    assert.equal(keys !== countKeys(value), hasDoubles, text);
    assert.deepEqual(decodeJson(Buffer.from(JSON.stringify(value))).value, value, text);
  }
});

/** Returns the value with plain JavaScript numbers. */
const numbers = (value: unknown): unknown => JSON.parse(JSON.stringify(plainNumbers(value)));

test(`damaged JSON is refused exactly when JSON.parse refuses it (seed ${seed})`, () => {
  const random = seededRandom(seed);
  for (let i = 0; i < runs; i++) {
    let text = random.next() < 0.5 ? randomJson(random, 4) : "";
    for (let edits = Math.floor(random.next() * 6); edits >= 0; edits--) {
      const at = Math.floor(random.next() * (text.length + 1));
      const removed = random.next() < 0.3 ? Math.floor(random.next() * 3) : 0;
      text = text.slice(0, at) + atoms[Math.floor(random.next() * atoms.length)]! + text.slice(at + removed);
    }
    const expected = parseOrError(text);
    try {
      decodeJson(Buffer.from(text));
      assert.ok(expected !== undefined, text);
    } catch (error) {
      assert.ok(error instanceof DecodeError, String(error));
      assert.equal(expected, undefined, text);
      assert.match(error.message, /^(invalid character .+|unexpected end of JSON input)$/s, text);
    }
  }
});

test(`random bytes never do more than fail (seed ${seed})`, () => {
  const random = seededRandom(seed);
  for (let i = 0; i < runs; i++) {
    const bytes = Buffer.concat([Buffer.from('["'), random.bytes(Math.floor(random.next() * 30)), Buffer.from('"]')]);
    try {
      const [text] = decodeJson(bytes).value as [string];
      assert.ok(text.isWellFormed());
    } catch (error) {
      assert.ok(error instanceof DecodeError, String(error));
    }
  }
});
