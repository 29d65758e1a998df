/** Random selectors: only a 400 is thrown, canonical texts are stable, and matching agrees with a naive model. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { seededRandom } from "#std/random.ts";
import { type FieldRequirement, type LabelRequirement, parseFieldSelector, parseLabelSelector } from "./selector.ts";
import { StatusError } from "./status-error.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? 1);
const runs = Number(process.env["FUZZ_RUNS"] ?? 20_000);

/** Returns a generator of whole numbers below a bound. */
function generator(from: number): (below: number) => number {
  const random = seededRandom(from);
  return (below) => Math.floor(random.next() * below);
}

const pieces = [
  "a",
  "b.c/d",
  "in",
  "notin",
  "=",
  "==",
  "!=",
  "!",
  "(",
  ")",
  ",",
  ">",
  "<",
  " ",
  "\t",
  "1",
  "-1",
  "x_y",
  "é",
];
const odd = ["\0", "\\", "\\,", "__proto__", "constructor", "Upper.io/x", "a/b/c", "\ud800", "10", "0", "\n"];
const keys = ["a", "x_y", "b.c/d", "constructor", "size"];
const values = ["", "1", "2", "10", "x", "not-a-number", "00000000000000000000000000000000000007"];

/** Returns the parsed selector, or `undefined` for a 400; any other error fails the test. */
function tryParse<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    assert(error instanceof StatusError, String(error));
    assert.equal(error.status.code, 400);
    return undefined;
  }
}

/** Whether labels match a requirement, by a naive model. */
function holds({ key, operator, values: wanted }: LabelRequirement, labels: ReadonlyMap<string, string>): boolean {
  const value = labels.get(key);
  switch (operator) {
    case "exists":
      return value !== undefined;
    case "!":
      return value === undefined;
    case "=":
    case "==":
    case "in":
      return value !== undefined && wanted.includes(value);
    case "!=":
    case "notin":
      return value === undefined || !wanted.includes(value);
    default: {
      if (value === undefined || !/^[0-9]+$/.test(value)) return false;
      const bound = BigInt(wanted[0]!);
      return operator === "gt" ? BigInt(value) > bound : BigInt(value) < bound;
    }
  }
}

test(`random label selectors mean what a slow model says, seed ${seed} [QP-05]`, () => {
  const pick = generator(seed);
  let read = 0;
  for (let run = 0; run < runs; run++) {
    const source = pick(4) === 0 ? [...pieces, ...odd] : pieces;
    const text = Array.from({ length: pick(12) }, () => source[pick(source.length)]!).join("");
    const selector = tryParse(() => parseLabelSelector(text));
    if (selector === undefined) continue;
    read++;
    assert.equal(parseLabelSelector(selector.text).text, selector.text, text);
    const labels = new Map(keys.filter(() => pick(2) === 0).map((key) => [key, values[pick(values.length)]!]));
    const expected = selector.requirements.every((requirement) => holds(requirement, labels));
    assert.equal(selector.matches(Object.fromEntries(labels)), expected, `${text} on ${JSON.stringify([...labels])}`);
  }
  assert.ok(read > runs / 100, "too few texts were selectors");
});

test(`random field selectors mean what a slow model says, seed ${seed} [QP-04]`, () => {
  const pick = generator(seed + 1);
  const parts = [
    "metadata.name",
    "metadata.namespace",
    "status.phase",
    "spec.x",
    "=",
    "==",
    "!=",
    ",",
    "\\",
    "\\,",
    "\\=",
    "a",
    "__proto__",
    " ",
  ];
  const fields = { fields: ["status.phase", "__proto__"], aliases: { a: "status.phase" } };
  for (let run = 0; run < runs; run++) {
    const text = Array.from({ length: pick(8) }, () => parts[pick(parts.length)]!).join("");
    const selector = tryParse(() => parseFieldSelector(text, fields));
    if (selector === undefined) continue;
    // Terms are sorted in their written form, so an alias may be elsewhere than the name of its field.
    const terms = (of: readonly FieldRequirement[]) => of.map((term) => JSON.stringify(term)).sort();
    assert.deepEqual(terms(parseFieldSelector(selector.text, fields).requirements), terms(selector.requirements), text);
    const expected = selector.requirements.every(({ field, operator, value }) => {
      const found =
        field === "metadata.name" ? "a" : field === "metadata.namespace" ? "b" : field === "status.phase" ? "P" : "";
      return (found === value) === (operator === "=");
    });
    assert.equal(
      selector.matches("a", "b", () => ({ "status.phase": "P" })),
      expected,
      text,
    );
  }
});

test("long selectors cost no more than their length", async () => {
  for (const piece of ["a,", "(", "a in (", "!", "a in (b,", ",,", "=", "\\", "a=b,"]) {
    await growsInProportion(5000, (count) => tryParse(() => parseLabelSelector(piece.repeat(count))));
    await growsInProportion(5000, (count) => tryParse(() => parseFieldSelector(piece.repeat(count), { fields: [] })));
  }
});
