/** Tests random values: decoding is idempotent, never changes its input, and fails only with a `DecodeError`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Random, seededRandom } from "#std/random.ts";
import { rawNumber } from "#std/raw-number.ts";
import { DecodeError } from "./decode-error.ts";
import { countKeys } from "./json-values.ts";
import type { Field, Schema } from "./schema.ts";
import { decodeTyped, type Findings } from "./typed.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const runs = Number(process.env["FUZZ_RUNS"] ?? 20_000);

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;

const leaves: readonly Schema[] = [
  { type: "string" },
  { type: "string", format: "byte" },
  { type: "integer", format: "int32" },
  { type: "integer", format: "int64" },
  { type: "number", format: "double" },
  { type: "boolean" },
  { type: "any" },
  { type: "string", special: "time" },
  { type: "string", special: "microTime" },
  { type: "string", special: "duration" },
  { type: "string", special: "quantity" },
  { type: "string", special: "intOrString" },
  { type: "any", special: "rawExtension" },
];

const names = ["a", "b", "c", "d", "1", "__proto__", "constructor", "rawJSON"];

function randomSchema(random: Random, depth: number): Schema {
  const kind = depth === 0 ? 0 : random.next();
  if (kind < 0.4) return pick(random, leaves);
  if (kind < 0.55) return { type: "map", items: randomSchema(random, depth - 1) };
  if (kind < 0.7) return { type: "array", items: randomSchema(random, depth - 1) };
  const fields = new Map<string, Field>();
  for (const name of ["a", "b", "c", "d"]) {
    if (random.next() < 0.4) continue;
    const schema = randomSchema(random, depth - 1);
    const isPointer = random.next() < 0.3;
    fields.set(name, {
      schema,
      ...(isPointer ? { ptr: true } : {}),
      ...(random.next() < 0.6 ? { omitempty: true } : { keep: true }),
      ...(schema === leaves[0] && random.next() < 0.3 ? { default: "TCP" } : {}),
    });
  }
  return { type: "object", name: "x.v1.T", fields };
}

const scalars: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 40,
  "",
  "x",
  "aGk=",
  "1Gi",
  "1024Mi",
  "90s",
  "2020-01-01T00:00:00Z",
  "2020-01-01T01:00:00.123456+01:00",
  rawNumber("9223372036854775807"),
  rawNumber("1.0"),
  12345678901234567890n,
];

function randomValue(random: Random, depth: number): unknown {
  const kind = depth === 0 ? 0 : random.next();
  if (kind < 0.4) return pick(random, scalars);
  const size = Math.floor(random.next() * 4);
  if (kind < 0.6) return Array.from({ length: size }, () => randomValue(random, depth - 1));
  const object = {};
  for (let i = 0; i < size; i++) {
    const value = randomValue(random, depth - 1);
    Object.defineProperty(object, pick(random, names), { value, enumerable: true, configurable: true });
  }
  return object;
}

/** Returns a value that often fits. */
function randomFitting(random: Random, schema: Schema, depth: number): unknown {
  if (random.next() < 0.05 || depth === 0) return randomValue(random, 1);
  if (schema.special === undefined && schema.type === "map") {
    return Object.fromEntries(["b", "a", "10"].map((key) => [key, randomFitting(random, schema.items!, depth - 1)]));
  }
  if (schema.special === undefined && schema.type === "array") {
    return [randomFitting(random, schema.items!, depth - 1), randomFitting(random, schema.items!, depth - 1)];
  }
  if (schema.fields !== undefined) {
    const entries = [...schema.fields].map(([name, field]) => [name, randomFitting(random, field.schema, depth - 1)]);
    return Object.fromEntries(random.next() < 0.5 ? entries : entries.reverse());
  }
  switch (schema.special ?? schema.format ?? schema.type) {
    case "time":
      return "2020-01-01T00:00:00Z";
    case "microTime":
      return "2020-01-01T00:00:00.000001Z";
    case "duration":
      return "90s";
    case "quantity":
      return "1024Mi";
    case "byte":
      return "aGk=";
    case "string":
    case "intOrString":
      return pick(random, ["", "x"]);
    case "boolean":
      return random.next() < 0.5;
    default:
      return pick(random, [0, 1]);
  }
}

function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  Object.values(value).forEach(freeze);
}

test(`decoding twice changes nothing more (seed ${seed})`, () => {
  const random = seededRandom(seed);
  let decoded = 0;
  for (let i = 0; i < runs; i++) {
    const schema = randomSchema(random, 3);
    const raw = random.next() < 0.3 ? randomValue(random, 4) : randomFitting(random, schema, 5);
    freeze(raw);
    const findings: Findings = { keys: 0, unknown: false };
    let value: unknown;
    try {
      value = decodeTyped(schema, raw, findings);
    } catch (error) {
      assert.ok(error instanceof DecodeError, String(error));
      assert.notEqual(error.message, "value does not fit its type", `${JSON.stringify(schema)}`);
      continue;
    }
    decoded++;
    const text = JSON.stringify(value);
    freeze(value);
    const again = decodeTyped(schema, value, { keys: 0, unknown: false });
    assert.equal(JSON.stringify(again), text, text);
    if (!/"10":|"1":/.test(text)) assert.equal(again, value, text);
    // If no part was dropped, all keys of the value were counted.
    if (typeof raw === "object" && raw !== null && !text.includes("TCP")) assert.equal(findings.keys, countKeys(raw));
  }
  assert.ok(decoded > runs / 10, `${decoded} decoded`);
});
