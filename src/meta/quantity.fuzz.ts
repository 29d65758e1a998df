/** Random quantities: equal values agree with exact arithmetic, and no text causes an exception or takes long. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "#std/random.ts";
import { canonicalQuantity, compareQuantities, parseQuantity } from "./quantity.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const runs = Number(process.env["FUZZ_RUNS"] ?? 20_000);

const suffixes = [
  "",
  "n",
  "u",
  "m",
  "k",
  "M",
  "G",
  "T",
  "P",
  "E",
  "Ki",
  "Mi",
  "Gi",
  "Ti",
  "Pi",
  "Ei",
  "e3",
  "E-2",
  "e+7",
];

test(`random quantities keep their value (seed ${seed})`, () => {
  const random = seededRandom(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;
  const digits = (max: number): string => String(Math.floor(random.next() * 10 ** Math.floor(random.next() * max)));
  for (let i = 0; i < runs; i++) {
    const text = pick(["", "-", "+"]) + digits(12) + pick(["", "", `.${digits(4)}`]) + pick(suffixes);
    const quantity = parseQuantity(text);
    assert.ok(quantity !== undefined, text);
    // A sign is read by the general parser.
    if (/^[0-9]/.test(text)) assert.deepEqual(quantity, parseQuantity(`+${text}`), text);
    const shown = canonicalQuantity(text)!;
    const back = parseQuantity(shown)!;
    // Decimal numbers above the largest suffix lose their suffix, as upstream.
    const isHuge = quantity.exponent + String(quantity.unscaled).length > 18;
    if (!isHuge) assert.equal(compareQuantities(quantity, back), 0, `${text} became ${shown}`);
  }
});

test(`random texts are quantities or not, and never anything worse (seed ${seed})`, () => {
  const random = seededRandom(seed);
  const alphabet = "0123456789.+-eEKMGTPimunk \n\u0661x";
  for (let i = 0; i < runs; i++) {
    let text = "";
    for (let length = Math.floor(random.next() * 12); length > 0; length--) {
      text += alphabet[Math.floor(random.next() * alphabet.length)]!;
    }
    const shown = canonicalQuantity(text);
    assert.equal(shown === undefined, parseQuantity(text) === undefined, JSON.stringify(text));
  }
});
