/** Tests random sources: the parser ends quickly, with a tree or with errors whose positions are in the source. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "#std/random.ts";
import type { Expression } from "./ast.ts";
import { codePoints, showIssues, unknownOffset } from "./issues.ts";
import { parse } from "./parse.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const runs = Number(process.env["FUZZ_RUNS"] ?? 5000);

const random = seededRandom(seed);
const below = (max: number): number => Math.floor(random.next() * max);
const pick = (from: readonly string[]): string => from[below(from.length)]!;

const characters = "()[]{}.,-!?:+*/%<>=&|@$`'\"\\ \t\n\ré😀";
const words = `a b.c x as in true null 1 -1 2.5e3 3u 0xff 's' b"q" """ r' ''' == && || has( x.all( m.map( .exists_one(i, .optMap(v,
  T{ .? [? // \\u00e9`;
const pieces = [...characters, ...words.split(/\s+/), "\ud800"];
const expressions = [
  "a.b + c * (d - 1) < 2 && !e || f(g, h)",
  "x.all(i, i > 1 && x.exists(j, j == i))",
  '{"a": 1, b: [1, ?2, {?c: d}]}',
  "T.U{a: 1, ?b: c} ? -x[0] : y.?z[?1]",
  "m.map(v, has(v.a), v.a).filter(w, w in ['\\x41', r'\\', b'''q''']) // c\n == []",
  "o.optMap(v, v + 1).optFlatMap(w, w)",
];

function soup(): string {
  const repeated = random.next() < 0.1 ? 1 + below(400) : 1;
  return Array.from({ length: 1 + below(12) }, () => pick(pieces).repeat(random.next() < 0.1 ? repeated : 1)).join("");
}

function mutate(): string {
  let text = pick(expressions);
  for (let changes = below(4); changes >= 0; changes--) {
    const at = below(text.length + 1);
    const rest = random.next() < 0.5 ? text.slice(at + below(3)) : text.slice(at);
    text = text.slice(0, at) + (random.next() < 0.6 ? pick(pieces) : "") + rest;
  }
  return text;
}

/** Asserts that ids are unique, and that offsets are in the source. */
function checkTree(root: Expression, size: number): void {
  const ids = new Set<number>();
  const pending: unknown[] = [root];
  while (pending.length > 0) {
    const node = pending.pop();
    if (typeof node !== "object" || node === null) continue;
    if ("offset" in node && "id" in node) {
      assert.ok(!ids.has(Number(node.id)), "an id is there twice");
      ids.add(Number(node.id));
      assert.ok(Number(node.offset) >= 0 && Number(node.offset) < size, "an offset outside of the source");
    }
    pending.push(...Object.values(node));
  }
}

test(`every source has a tree or issues in it (seed ${seed})`, () => {
  for (let run = 0; run < runs; run++) {
    const source = random.next() < 0.4 ? soup() : mutate();
    const result = parse(source, { hasTwoVariables: random.next() < 0.5 });
    const size = codePoints(source);
    if ("ast" in result) checkTree(result.ast, size);
    else {
      assert.ok(result.issues.length > 0);
      for (const { offset } of result.issues)
        assert.ok(offset >= unknownOffset && offset <= size, JSON.stringify({ source, offset }));
      assert.match(showIssues(source, result.issues), /^ERROR: <input>:/);
    }
  }
});
