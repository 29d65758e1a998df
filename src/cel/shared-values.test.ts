/**
 * Tests values that share their parts: small in memory, but with 2^30 parts and more for a function that walks them.
 * Every such function is stopped by the work that it counts.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ByteBudget } from "#schema/json-values.ts";
import { evaluate } from "./evaluate-for-tests.ts";
import { workMax } from "./evaluate.ts";
import { jsonOf, type Unfolding } from "./mutation.ts";
import { patternsSize } from "./patterns-size.ts";
import type { Value } from "./values.ts";

/** Returns a list that is doubled `times` times. */
const doublingExpression = (times: number, by = "[v, v]", first = "['a']"): string =>
  `[${first}]${`.map(v, ${by})`.repeat(times)}`;

test("walking a value that doubles 30 times is stopped", () => {
  const list = doublingExpression(30);
  for (const source of [
    `${list} == ${list}`,
    `${list} != ${list}`,
    `${list} in [${list}]`,
    `[${list}].indexOf(${list}) == 0`,
    `[${list}].lastIndexOf(${list}) == 0`,
    // Nothing is equal here, but the cost of the call is that of a walk.
    `[${list}].indexOf(dyn(1)) == 0`,
    `sets.contains([${list}], [${list}])`,
    `sets.equivalent([${list}], [${list}])`,
    `sets.intersects([${list}], [${list}])`,
    `'%s'.format([${list}]) == ''`,
    ...["{'a': v, 'b': v}", "optional.of([v, v])", "[optional.of(v), optional.of(v)]"].map(
      (by) => `${doublingExpression(30, by)} == ${doublingExpression(30, by)}`,
    ),
    `${doublingExpression(30, "v + v")}.size() > 0`,
    `${doublingExpression(30, "v + v", "b'a'")}.size() > 0`,
    `${doublingExpression(22, "v + v", "'a'")} == ${doublingExpression(22, "v + v", "'a'")}`,
  ]) {
    const result = evaluate(source);
    assert.ok("error" in result && result.isOverBudget, source);
    assert.equal(result.error.message, "operation cancelled: actual cost limit exceeded");
    assert.ok(result.cost <= 2_000_000 && result.work <= workMax, `${source}: ${result.cost}, ${result.work}`);
  }
});

test("functions that cost nothing for short texts are stopped too", () => {
  const texts = Array.from({ length: 1000 }, (_, at) => `name-${at}`);
  for (const call of ["strs.min()", "strs.max()", "strs.isSorted()", "strs.join()", "strs.indexOf('z')"]) {
    const result = evaluate(`strs.all(a, strs.all(b, [${call}] != []))`, { strs: texts });
    assert.ok("error" in result && result.isOverBudget, call);
  }
});

test("patterns of expressions count by the time that reading them takes, wrong ones too", () => {
  for (const [pattern, least, message] of [
    ["'['", 200_000, /missing closing \]/],
    ["'[:a'", 200_000, /missing closing \]/],
    ["'aaa'", 1_000_000, /too large: must be at most 10000 instructions/],
    [String.raw`'\\pL'`, 1_000_000, /too large/],
  ] as const) {
    const result = evaluate(`[${pattern}]${".map(v, v + v)".repeat(12)}.all(p, 'a'.matches(p + '['))`);
    assert.ok("error" in result, pattern);
    if (!result.isOverBudget) assert.match(result.error.message, message);
    assert.ok(result.work >= least || result.isOverBudget, `${pattern}: ${result.work}`);
  }
  const of = (pattern: string): number => evaluate("['a'].all(v, v.matches(p))", { p: pattern }).work;
  assert.ok(of("(?i)[B-\u{1e942}]") > of("[B-\u{1e942}]") + 600_000);
  assert.ok(of("[\\pL]") > of("[a-z]") + 13_000);
  assert.ok(of("[\\pL") > of("[a-z") + 13_000);
});

test("patterns of a source weigh by what they are, however it writes them", () => {
  const wide = patternsSize("self.matches('(?i)[B-\u{1e942}]')");
  assert.ok(wide > 5000, `${wide}`);
  for (const written of [
    String.raw`(?i)[B-\U0001e942]`,
    String.raw`(?i)[B\x2d\U0001e942]`,
    String.raw`(?i)[B\055\\x{1e942}]`,
    String.raw`(?\u0069)[B-\\x{1e942}]`,
  ]) {
    assert.ok(patternsSize(`self.matches('${written}')`) > 5000, written);
  }
  assert.ok(patternsSize(String.raw`self.matches(r'(?i)[B-\x{1e942}]')`) > 5000);
  assert.ok(patternsSize(String.raw`self.matches('[${String.raw`\\pL`.repeat(100)}]')`) > 10_000);
  assert.ok(patternsSize("self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')") < 200);
});

test("what ordinary expressions cost is not cut short by the work they are counted", () => {
  const l = Array.from({ length: 400 }, (_, at) => at);
  const objects = l.map((at) => ({ name: `n${at}`, image: `registry/shop/${at}` }));
  for (const [source, cost] of [
    ["l.all(a, l.all(b, a + b >= 0))", 900_000],
    ["objects.all(a, objects.exists_one(b, a.name == b.name))", 900_000],
    ["objects.all(a, l.all(b, a.image.startsWith('registry/')))", 900_000],
    ["l.all(a, l == l)", 2000],
    ["l.filter(a, a < 80).all(a, objects == objects)", 1000],
    ["objects.all(a, a.image.matches('^registry/[a-z]+/[0-9]+$'))", 10_000],
    ["l.all(a, quantity(string(a) + 'Mi').isLessThan(quantity('1Ti')))", 10_000],
  ] as const) {
    const result = evaluate(source, { l, objects }, { costLimit: 3_000_000 });
    assert.ok("value" in result && result.value === true, `${source}: ${JSON.stringify(result)}`);
    assert.ok(result.cost > cost / 10, `${source}: ${result.cost}`);
  }
});

/** Unfolds a value as JSON does; counts parts and bytes. */
function unfold(value: Value, bytesMax: number) {
  let work = 0;
  const unfolding: Unfolding = {
    work: (units) => {
      work += units;
      if (work > workMax) throw new Error("too much work");
    },
    room: new ByteBudget(bytesMax, () => new Error("too many bytes")),
  };
  try {
    return { json: jsonOf(value, unfolding), work };
  } catch (error) {
    return { error: (error as Error).message, work };
  }
}

test("a shared part counts as often as JSON has it, in work and in bytes", () => {
  const shareValue = (times: number, first: Value): Value => {
    let value: Value = [first];
    for (let at = 0; at < times; at++) value = [value, value];
    return value;
  };
  assert.deepEqual(unfold(shareValue(1, "x"), 1000), { json: [["x"], ["x"]], work: 100 });
  assert.equal(unfold(shareValue(40, "x"), 10_000_000).error, "too much work");
  assert.equal(unfold(shareValue(10, "x".repeat(10_000)), 1_000_000).error, "too many bytes");
  assert.equal(unfold(new Map<Value, Value>([["k".repeat(2000), 1]]), 1000).error, "too many bytes");
  assert.equal(unfold(new Uint8Array(2000), 1000).error, "too many bytes");
});
