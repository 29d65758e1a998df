/**
 * Tests that random values survive CBOR, and that random and damaged bytes are decoded or refused with a `DecodeError`:
 * what was decoded is the same after it is written and read again.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DecodeError } from "#schema/decode-error.ts";
import type { Schema } from "#schema/schema.ts";
import { type Random, seededRandom } from "#std/random.ts";
import { isRawNumber } from "#std/raw-number.ts";
import { readCbor, readCborObject } from "./cbor-reader.ts";
import { CborWriter } from "./cbor-writer.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const runs = Number(process.env["FUZZ_RUNS"] ?? 3000);

const texts = [
  "",
  "a",
  "kind",
  "ü",
  "\u{1f600}",
  "\0",
  "x".repeat(23),
  "x".repeat(24),
  "x".repeat(49),
  "é".repeat(300),
];
const numbers = [
  0,
  1,
  -1,
  23,
  24,
  255,
  256,
  65_535,
  65_536,
  2 ** 32,
  2 ** 53 - 1,
  -(2 ** 53) + 1,
  1.5,
  0.1,
  1e300,
  2 ** -24,
];

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;

function randomValue(random: Random, depth: number): unknown {
  const chance = random.next();
  const length = Math.floor(random.next() * 5);
  if (depth > 0 && chance < 0.25) return Array.from({ length }, () => randomValue(random, depth - 1));
  if (depth > 0 && chance < 0.5) return randomObject(random, depth);
  if (chance < 0.6) return pick(random, [true, false, null]);
  return pick<unknown>(random, chance < 0.8 ? texts : numbers);
}

function randomObject(random: Random, depth: number): Record<string, unknown> {
  const length = Math.floor(random.next() * 5);
  const members = Array.from({ length }, () => [pick(random, texts), randomValue(random, depth - 1)] as const);
  return Object.fromEntries(members);
}

const writer = new CborWriter();

function bytesOf(value: unknown): Buffer {
  if (value !== null) writer.selfDescribed();
  writer.value(value);
  return writer.finish();
}

/** Changes, adds or removes a byte, or cuts the bytes off. */
function damage(random: Random, bytes: Buffer): Buffer {
  const at = Math.floor(random.next() * bytes.length);
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at + 1)];
  const byte = Buffer.from([Math.floor(random.next() * 256)]);
  return Buffer.concat(
    pick(random, [[before, byte, after], [before, byte, bytes.subarray(at)], [before, after], [before]]),
  );
}

/** Returns the value in JSON; floats without a fraction are what JSON makes of them. */
const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_key, item: unknown) => (isRawNumber(item) ? Number(item.rawJSON) : item)));

/** Returns the result of `read`, or nothing if the bytes were refused. */
function refusable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

const schema: Schema = {
  type: "object",
  name: "io.k8s.api.core.v1.Thing",
  fields: new Map([
    ["a", { schema: { type: "array", items: { type: "integer" } } }],
    ["kind", { schema: { type: "string" } }],
    ["", { schema: { type: "map", items: { type: "string", format: "byte" } } }],
  ]),
};

test(`random values survive CBOR, and damaged bytes are refused or mean something (seed ${seed})`, () => {
  const random = seededRandom(seed);
  let refused = 0;
  for (let run = 0; run < runs; run++) {
    const object = randomObject(random, 4);
    const bytes = bytesOf(object);
    assert.deepEqual(plain(readCborObject(bytes)), object, `run ${run}`);
    const damaged = damage(random, bytes);
    refusable(() => readCbor(damaged, schema));
    const read = refusable(() => readCborObject(damaged));
    if (read === undefined) refused++;
    else assert.deepEqual(plain(readCborObject(bytesOf(read))), plain(read), `run ${run}: ${damaged.toString("hex")}`);
  }
  assert.ok(refused > runs / 10 && refused < runs);
});
