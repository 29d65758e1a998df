/** Random paths on random values: no exception other than the documented errors; plain paths agree with a walk. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { seededRandom } from "#std/random.ts";
import { parseJsonPath } from "#schema/jsonpath.ts";
import { printerColumns } from "./printer-columns.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const runs = Number(process.env["FUZZ_RUNS"] ?? 20_000);

const random = seededRandom(seed);
const below = (max: number): number => Math.floor(random.next() * max);
const pick = <T>(from: readonly T[]): T => from[below(from.length)]!;

const names = ["a", "b", "name", "__proto__", "constructor", "a.b", "é", "0", ""];

function value(depth: number): unknown {
  switch (below(depth === 0 ? 5 : 8)) {
    case 0:
      return null;
    case 1:
      return random.next() < 0.5;
    case 2:
      return pick([0, 1, -3, 1.5, 1e21, 2 ** 53]);
    case 3:
    case 4:
      return pick(["", "x", "a", "2024-01-01T00:00:00Z", "é😀"]);
    case 5:
      return Array.from({ length: below(4) }, () => value(depth - 1));
    default:
      return JSON.parse(
        `{${Array.from({ length: below(4) }, () => `${JSON.stringify(pick(names))}:${JSON.stringify(value(depth - 1))}`).join()}}`,
      );
  }
}

const pieces = [
  ".a",
  ".b",
  ".name",
  "..",
  "[0]",
  "[-1]",
  "[*]",
  "[:]",
  "[0:2]",
  "[1,0]",
  "['a']",
  "['a','b']",
  "[?(@.a)]",
  "[?(@.a=='x')]",
  "[?(@.b>1)]",
  "[?(@.a!=@.b)]",
  ".*",
  "\\.",
  "}",
  "{",
  " ",
  "'",
  '"',
  "[",
  "]",
  "(",
  ")",
  "@",
  "$",
  "5",
  "1.5",
  "true",
  "range",
  "\n",
  "😀",
  "\\",
  ",",
];

test(`random paths end (seed ${seed})`, () => {
  for (let i = 0; i < runs; i++) {
    const text = Array.from({ length: below(7) }, () => pick(pieces)).join("");
    const path = parseJsonPath(text);
    if (path === undefined) continue;
    const object = { metadata: {}, spec: value(4) };
    const values = path.find(object);
    assert.deepEqual(path.find(object), values, text);
    const column = printerColumns(
      [{ name: "C", type: pick(["string", "integer", "number", "date", "boolean"]), jsonPath: text }],
      kubernetesDomain,
    )[1];
    JSON.stringify(column?.cell(object, 0));
  }
});

test(`paths of fields are walks (seed ${seed})`, () => {
  for (let i = 0; i < runs; i++) {
    const object = value(5);
    const walk = Array.from({ length: 1 + below(4) }, () => pick(names.slice(0, 5)));
    let at: unknown = object;
    for (const name of walk) {
      const isObject = typeof at === "object" && at !== null && !Array.isArray(at);
      at = isObject && Object.hasOwn(at as object, name) ? (at as Record<string, unknown>)[name] : undefined;
    }
    const values = parseJsonPath(walk.map((name) => `.${name}`).join(""))?.find(object);
    assert.deepEqual(values, at === undefined ? [] : [at]);
  }
});
