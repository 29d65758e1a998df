/** Tests random expressions: evaluation never throws, does not exceed its budget, and costs the same each time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Random, seededRandom } from "#std/random.ts";
import { evaluate } from "./evaluate-for-tests.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const runs = Number(process.env["FUZZ_RUNS"] ?? 3000);

const variables = {
  self: { a: 1, b: "text", c: [1, 2.5, "x", null], d: { e: true }, "": {} },
  l: [1, 2, 3],
  s: "héllo 😀",
  t: "2020-01-01T00:00:00Z",
};

const leaves =
  "1 -1 0 9223372036854775807 5u 1.5 0.0 'a' '' b'a' true false null self l s t x y int [] {} self.a self.b self.c self.d.e dyn(1) dyn('%s') dyn(null)".split(
    " ",
  );
const binaries = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", "&&", "||", "in"];
const methods = [
  "size",
  "startsWith",
  "contains",
  "matches",
  "split",
  "join",
  "replace",
  "format",
  "sum",
  "max",
  "find",
];
const functions = ["size", "string", "int", "double", "type", "dyn", "timestamp", "duration", "bytes", "optional.of"];
const macros = ["all", "exists", "exists_one", "map", "filter"];

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;

/**
 * Returns a random expression. Every operand may be `dyn`, so that most expressions are accepted, and many fail when
 * they are evaluated.
 */
function expression(random: Random, depth: number): string {
  const inner = (): string =>
    random.next() < 0.5 ? `dyn(${expression(random, depth - 1)})` : expression(random, depth - 1);
  if (depth === 0) return pick(random, leaves);
  switch (Math.floor(random.next() * 10)) {
    case 0:
    case 1:
    case 2:
      return `(${inner()} ${pick(random, binaries)} ${inner()})`;
    case 3:
      return `(${inner()} ? ${inner()} : ${inner()})`;
    case 4:
      return `dyn(${inner()}).${pick(random, macros)}(${pick(random, ["x", "y"])}, ${inner()})`;
    case 5:
      return `dyn(${inner()}).${pick(random, methods)}(${pick(random, ["", inner(), `${inner()}, ${inner()}`])})`;
    case 6:
      return `${pick(random, functions)}(${inner()})`;
    case 7:
      return `[${inner()}, ${inner()}]`;
    case 8:
      return `{${inner()}: ${inner()}}${pick(random, ["", ".a", "[1]", "[?'a']", ".?b"])}`;
    default:
      return `${pick(random, ["!", "-", ""])}dyn(${inner()})${pick(random, ["", ".a", "[0]", ".?d.e"])}`;
  }
}

test(`random expressions end within their budget, at the same cost each time (seed ${seed})`, () => {
  const random = seededRandom(seed);
  let values = 0;
  for (let run = 0; run < runs; run++) {
    const source = expression(random, 1 + Math.floor(random.next() * 5));
    const all = { ...variables, x: 1, y: "y" };
    const costLimit = random.next() < 0.2 ? 20 : 100_000;
    const first = evaluate(source, all, { costLimit });
    const second = evaluate(source, all, { costLimit });
    assert.equal(first.cost, second.cost, source);
    if ("value" in first) values++;
    else if (!first.isOverBudget) assert.equal(typeof first.error.message, "string", source);
    const isWithin = ("error" in first && first.isOverBudget) === first.cost > costLimit;
    assert.ok(isWithin, `${source}: ${first.cost} of ${costLimit}`);
  }
  assert.ok(values > runs / 20, `only ${values} values in ${runs} runs`);
});
