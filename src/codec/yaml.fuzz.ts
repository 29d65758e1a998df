/**
 * Tests that random values survive YAML, and that random and damaged texts are decoded or refused with a `DecodeError`,
 * in bounded time.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DecodeError } from "#schema/decode-error.ts";
import { type Random, seededRandom } from "#std/random.ts";
import { decodeYaml, encodeYaml } from "./yaml.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const runs = Number(process.env["FUZZ_RUNS"] ?? 3000);

const words = [
  "a",
  "yes",
  "no",
  "null",
  "~",
  "",
  " ",
  "1",
  "0755",
  "1.5",
  "-",
  "- x",
  "#",
  "a: b",
  ":",
  "'",
  '"',
  "\\",
  "\n",
  "\t",
];
const more = [
  "{",
  "}",
  "[",
  "]",
  ",",
  "&a",
  "*a",
  "!x",
  "|",
  ">",
  "%",
  "@",
  "`",
  "<<",
  "2020-01-01",
  "\u00e9",
  "\u{1f600}",
  "\u0001",
  "...",
];
const alphabet = [...words, ...more];
const ambiguous = ["y", "On", "0o17", "-0x1F", "1e3", "+", ".", "_", "inf", "=", ":", "12:30:45", "---", "?", "!!str "];
const characters = ["\r\n", "\0", "\u001b", "\u007f", "\u0085", "\u00a0", "\u2028", "\ufeff", "\uffff"];
const inTexts = [...alphabet, ...ambiguous, ...characters];

function randomText(random: Random): string {
  let text = random.next() < 0.001 ? "x\u007f\n".repeat(50_000) : "";
  for (let length = Math.floor(random.next() * 5); length > 0; length--) text += pick(random, inTexts);
  return random.next() < 0.05 ? `${text} ${"long ".repeat(30)}${text}` : text;
}

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;

function randomValue(random: Random, depth: number): unknown {
  const kind = depth === 0 ? 0 : random.next();
  if (kind < 0.3) return pick(random, [null, true, false, 0, -5, 1.5, 1e6, 123456789012]);
  if (kind < 0.6) return randomText(random);
  const inner = Array.from({ length: Math.floor(random.next() * 4) }, () => randomValue(random, depth - 1));
  if (kind < 0.8) return inner;
  return Object.fromEntries(inner.map((value) => [randomText(random), value]));
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort()
      .map(([key, item]) => [key, sortKeys(item)]),
  );
}

test(`what was written is read again (seed ${seed})`, () => {
  const random = seededRandom(seed);
  for (let i = 0; i < runs; i++) {
    const value = { v: randomValue(random, 4) };
    const text = encodeYaml(value).toString();
    const { value: back, duplicates } = decodeYaml(Buffer.from(text));
    assert.equal(JSON.stringify(sortKeys(back)), JSON.stringify(sortKeys(value)), text);
    assert.deepEqual(duplicates, [], text);
    assert.equal(encodeYaml(back).toString(), text, text);
  }
});

test(`damaged texts are read or refused (seed ${seed})`, () => {
  const random = seededRandom(seed);
  for (let i = 0; i < runs; i++) {
    let text = random.next() < 0.7 ? encodeYaml(randomValue(random, 4)).toString() : "";
    for (let edits = Math.floor(random.next() * 5); edits >= 0; edits--) {
      const at = Math.floor(random.next() * (text.length + 1));
      text =
        text.slice(0, at) +
        pick(random, [...alphabet, "\n  ", ": ", "- ", "---\n", "? "]) +
        text.slice(at + Math.floor(random.next() * 3));
    }
    try {
      JSON.stringify(decodeYaml(Buffer.from(text)).value);
    } catch (error) {
      assert.ok(error instanceof DecodeError, `${String(error)} for ${JSON.stringify(text)}`);
    }
  }
});
