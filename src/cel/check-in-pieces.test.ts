/**
 * Tests that large expressions that are checked in pieces have the same types, references and findings as those checked
 * at once.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runToEnd } from "#std/cooperative.ts";
import { check, checkTreeInPieces } from "./check.ts";
import { environmentWith } from "./expression.ts";
import { showIssues } from "./issues.ts";
import { parse } from "./parse.ts";
import { type CelType, dyn, int, listOf } from "./types.ts";

const environment = environmentWith({
  variables: new Map<string, CelType>([
    ["o", dyn],
    ["n", int],
    ["l", listOf(int)],
    ["a.b", int],
  ]),
});

const many = (count: number, make: (at: number) => string, between: string): string =>
  Array.from({ length: count }, (_, at) => make(at)).join(between);

const sources = {
  conjunctions: many(2800, (at) => `o.f${at % 9} == ${at} || a.b + n > ${at}`, " && "),
  "a list of empty lists": `[${many(9000, () => "[]", ",")}].size() > 0`,
  "a list of different types": `[${many(4000, (at) => (at % 3 === 0 ? "1" : at % 3 === 1 ? "'a'" : "[o]"), ",")}].size() > 0`,
  "a map": `{${many(4000, (at) => `${at}: [${at}, n]`, ",")}}[1] == [1]`,
  "an argument of a function with a long name": `optional.of([${many(5000, (at) => `${at}`, ",")}]).hasValue()`,
  "a loop with a large body": `l.all(x, l.exists(y, ${many(2500, (at) => `x + y == ${at}`, " || ")}))`,
  "loops in loops": many(300, (at) => `l.map(x, l.filter(y, y > x + ${at})).size() > n`, " && "),
  "mistakes in many places": `l.all(x, ${many(1500, (at) => `x.f == ${at} && nope${at % 5} && 'a' + 1 == x`, " || ")})`,
  "a loop over what is no list": `n.all(x, ${many(3000, () => "x", " || ")})`,
} as const;

for (const [what, source] of Object.entries(sources)) {
  test(`${what}: as at once, with pauses`, () => {
    const parsed = parse(source, { hasTwoVariables: true });
    assert.ok("ast" in parsed, "issues" in parsed ? showIssues(source, parsed.issues) : "");
    const expected = check(parsed.ast, environment);
    const pieces = checkTreeInPieces(parsed.ast, environment);
    let pauses = 0;
    let next = pieces.next();
    for (; next.done !== true; next = pieces.next()) pauses++;
    assert.ok(pauses > 4, `${pauses} pauses`);
    assert.deepEqual("issues" in next.value, "issues" in expected);
    if ("issues" in expected && "issues" in next.value) {
      assert.equal(showIssues(source, next.value.issues), showIssues(source, expected.issues));
    } else assert.deepEqual(next.value, expected);
  });
}

test("a small expression is checked in one piece of work", () => {
  const parsed = parse("o.a == 1 && l.all(x, x > n)");
  assert.ok("ast" in parsed);
  assert.deepEqual(runToEnd(checkTreeInPieces(parsed.ast, environment)), check(parsed.ast, environment));
});
