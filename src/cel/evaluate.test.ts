/** Tests evaluation: results, error texts, reading of JSON, costs and budgets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { rawNumber } from "#std/raw-number.ts";
import { assertErrors, assertValues, evaluate } from "./evaluate-for-tests.ts";
import { double, dyn, duration, int, listOf, mapOf, timestamp } from "./types.ts";

const self = { i: 3, s: "hello", d: 1.5, l: [1, 2, 3], m: { a: "b" }, n: null };

test("errors of operators and conversions have the reference's texts", () => {
  assertErrors(
    [
      ["self.i + 9223372036854775807", "integer overflow"],
      ["-(-9223372036854775807 - (self.i - 2))", "integer overflow"],
      ["-9223372036854775808 / (self.i - 4)", "integer overflow"],
      ["int(self.d * 1e99)", "integer overflow"],
      ["uint(self.i - 5)", "unsigned integer overflow"],
      ["uint(self.i) - 5u", "unsigned integer overflow"],
      ["5 / (self.i - 3)", "division by zero"],
      ["5 % (self.i - 3)", "modulus by zero"],
      ["int(self.s)", "type conversion error from 'string' to 'int'"],
      ["timestamp(self.s)", "type conversion error from 'string' to 'google.protobuf.Timestamp'"],
      ["duration(self.s)", "type conversion error from 'string' to 'google.protobuf.Duration'"],
      ["dyn(self.i) + dyn('a')", "no such overload"],
      ["dyn(true) + dyn(1)", "no such overload: _+_"],
      ["dyn('a') - dyn('b')", "no such overload"],
      ["dyn(self) + 1", "no such overload: _+_"],
      ["!dyn(self.s)", "no such overload"],
      ["dyn([1]) < dyn([2])", "no such overload: _<_"],
      ["dyn(self.i).size()", "no such overload: size"],
      ["dyn(self.i).startsWith('a')", "no such overload"],
      ["string(dyn(self.l))", "no such overload: string(list)"],
      ["dyn(self.s).getHours()", "no such overload: getHours(string)"],
      ["dyn('a') && true", "no such overload"],
      ["dyn('a') ? 1 : 2", "no such overload"],
      ["1 in dyn(self.i)", "no such overload"],
      ["dyn(0.0 / 0.0) < dyn(self.i)", "NaN values cannot be ordered"],
      ["dyn(0.0 / 0.0) >= dyn(self.s)", "NaN values cannot be ordered"],
      ["dyn(self.s) < dyn(0.0 / 0.0)", "no such overload"],
      ["duration(self.i)", "type conversion error from 'int' to 'google.protobuf.Duration'"],
      ["bool('tRUE')", "type conversion error from 'string' to 'bool'"],
      ["self.s.matches(self.s + '(')", "error parsing regexp: missing closing ): `hello(`"],
      ["timestamp('9999-12-31T23:59:59Z') + duration('1s')", "timestamp overflow"],
      ["duration('1000000h') + duration('2000000h')", "integer overflow"],
      ["timestamp('2020-01-01T00:00:00Z').getHours('Foo/Bar')", "unknown time zone Foo/Bar"],
    ],
    { self },
  );
});

test("errors of fields, indices and loops have the reference's texts", () => {
  assertErrors(
    [
      ["self.zz", "no such key: zz"],
      ["self.i.b", "no such key: b"],
      ["self.n.foo", "no such key: foo"],
      ["self.m['b']", "no such key: b"],
      ["self.m[dyn(1.5)]", "no such key: 1.5"],
      ["self.m[dyn(self.l)]", "invalid qualifier type: *types.baseList"],
      ["self.l[5]", "index out of bounds: 5"],
      ["self.l[-1]", "index out of bounds: -1"],
      ["self.l['1']", "unsupported index type 'string' in list"],
      ["self.l[dyn(self.d)]", "unsupported index value 1.5 in list"],
      ["has(self.l.b)", "unsupported index type 'string' in list"],
      ["dyn(self.i).all(x, x)", "got 'types.Int', expected iterable type"],
      ["self.l.all(x, dyn(x))", "no such overload"],
      ["self.l.map(x, x / 0)", "division by zero"],
      ["[self.i][?5].value()", "optional.none() dereference"],
      ["self.i > 100 ? 1 : int(self.s)", "type conversion error from 'string' to 'int'"],
    ],
    { self },
  );
});

test("a constant part without a value refuses the whole expression", () => {
  assertErrors([
    ["false && int('abc') > 1", "type conversion error from 'string' to 'int'"],
    ["'a'.matches('(')", "error parsing regexp: missing closing ): `(`"],
    ["bytes(dyn(1)) == b''", "no such overload: bytes(int)"],
  ]);
});

test("&&, || and loops take in errors where the other side decides", () => {
  assertValues([
    ["1 / 0 > 1 || true", "true"],
    ["1 / 0 > 1 && false", "false"],
    ["[0, 1].exists(x, 1 / x > 0)", "true"],
    ["[0, 1].all(x, 1 / x > 5)", "false"],
  ]);
  assertErrors([["[0, 1].all(x, 1 / x > 0)", "division by zero"]]);
});

test("ints have 64 bits, whatever a JavaScript number can hold", () => {
  assertValues(
    [
      ["big + 1", "9007199254740994"],
      ["9223372036854775806 + 1", "9223372036854775807"],
      ["4611686018427387904 * 2 - 1 == 9223372036854775807 || true", "true"],
      ["0 * -5", "0"],
      ["string(0 * -5)", "'0'"],
      ["-7 / 2", "-3"],
      ["-7 % 2", "-1"],
      ["string(-4 % 2)", "'0'"],
    ],
    { big: rawNumber("9007199254740993") },
  );
});

test("numbers of JSON are ints where they are whole and written so", () => {
  const value = { whole: 1, half: 0.5, big: rawNumber("9007199254740993"), point: rawNumber("1.0") };
  assertValues(
    [
      ["type(self.whole)", "int"],
      ["type(self.half)", "double"],
      ["string(self.big)", "'9007199254740993'"],
      ["type(self.point)", "double"],
      ["self.point == self.whole", "true"],
    ],
    { self: value },
  );
});

test("a declared type decides how JSON is read, in lists and maps too", () => {
  const types = { d: double, l: listOf(double), t: timestamp, s: mapOf(dyn, duration), i: int };
  const variables = { d: 1, l: [1, 2], t: "2020-01-02T03:04:05Z", s: { a: "90s" }, i: 5 };
  const holds = (source: string): void => {
    const result = evaluate(source, variables, { types });
    assert.ok("value" in result && result.value === true, source);
  };
  holds("type(d) == double && d / 2.0 == 0.5");
  holds("l[0] / 2.0 == 0.5 && l.all(x, type(x) == double) && l.sum() == 3.0 && type(l.sum()) == double");
  holds("t.getFullYear() == 2020 && t < timestamp('2021-01-01T00:00:00Z')");
  holds("s['a'].getMinutes() == 1 && s.a == duration('90s')");
});

test("inherited names are ordinary keys", () => {
  const hostile = JSON.parse('{"__proto__": 1, "hasOwnProperty": 2}') as unknown;
  assertValues(
    [
      ["self.__proto__ + self.hasOwnProperty", "3"],
      ["has(self.constructor)", "false"],
      ["has(self.toString) || 'constructor' in self", "false"],
      ["{'__proto__': 5}['__proto__']", "5"],
      ["self.map(k, k)", "['__proto__', 'hasOwnProperty']"],
      ["self == {'__proto__': 1, 'hasOwnProperty': 2}", "true"],
    ],
    { self: hostile },
  );
  assertErrors([["self.constructor", "no such key: constructor"]], { self: hostile });
});

test("data with the field kind is no type", () => {
  assertValues([["type(self) == map && self.kind == 'int'", "true"]], { self: { kind: "int" } });
});

test("keys are found by number, whatever its type; a double is the key of itself only", () => {
  assertValues([
    ["{1u: 'a'}[dyn(1)]", "'a'"],
    ["{1: 'a'}[dyn(1u)]", "'a'"],
    ["{1: 'a'}[dyn(1.0)]", "'a'"],
    ["dyn(1) in {dyn(1u): 2}", "true"],
    ["{dyn(1.5): 5}[dyn(1.5)]", "5"],
    ["{dyn(0): 1, dyn(0u): 2}.size()", "2"],
    ["{'a': 1, 'a': 2}['a']", "2"],
  ]);
  assertErrors([["{dyn(1.0): 5}[dyn(1)]", "no such key: 1"]]);
});

test("timestamps keep the zone of their text, and have fields in any zone", () => {
  assertValues([
    ["string(timestamp('2020-01-01T00:00:00.100+02:30'))", "'2020-01-01T00:00:00.1+02:30'"],
    ["string(timestamp('2020-01-01T00:00:00-01:00') + duration('1h'))", "'2020-01-01T01:00:00-01:00'"],
    ["timestamp('2020-01-01T00:00:00+02:00') == timestamp('2019-12-31T22:00:00Z')", "true"],
    ["timestamp('2020-06-01T00:00:00Z').getHours('EST5EDT')", "20"],
    ["timestamp('1890-01-01T00:00:00Z').getMinutes('Europe/Zurich')", "29"],
    ["timestamp('2020-01-01T00:00:00Z').getHours('+1:0')", "1"],
    ["timestamp('2020-12-31T23:59:59Z').getDayOfYear()", "365"],
    ["string(duration('1h30m') - duration('1ms'))", "'5399.999s'"],
    ["int(duration('5s'))", "5000000000"],
  ]);
});

test("texts of doubles are Go's", () => {
  assertValues([
    ["string(1000000.0) + ' ' + string(123456.5)", "'1e+06 123456.5'"],
    ["string(0.0001) + ' ' + string(0.00001)", "'0.0001 1e-05'"],
    ["string(1.0 / 0.0) + string(-1.0 / 0.0) + string(-double('0'))", "'+Inf-Inf-0'"],
    ["double('1_0') + double('.5') + double('0x1p-2')", "10.75"],
  ]);
});

test("loops with two variables see indices and keys", () => {
  assertValues([
    ["[5, 6].transformMap(i, v, v)", "{0: 5, 1: 6}"],
    ["{'a': 1}.transformList(k, v, k + string(v))", "['a1']"],
  ]);
});

test("a loop's result that its body names is not changed while it is seen", () => {
  assertValues([["[1, 2].map(x, size(__result__))", "[0, 1]"]]);
  const result = evaluate("[1, 2, 3].map(x, dyn(__result__))");
  assert.ok("value" in result);
  assert.equal(JSON.stringify(result.value), "[[],[[]],[[],[[]]]]");
});

/** Costs measured on the reference, by the number of loops after which it stops. */
const costs: readonly (readonly [string, number])[] = [
  ["self.l[0] == 1 || true", 4],
  ["[1, 2, 3][0] == 1", 3],
  ["[x][0] == 1 || true", 14],
  ["{'a': x}.a == 5", 34],
  ["x in [1, 2, 3] || true", 1],
  ["x in self.l || true", 4],
  ["self.t.startsWith('x')", 5],
  ["self.t.contains('xxxxxxxxxxx')", 8],
  ["self.t.matches('x+.*x?.?z*')", 11],
  ["self.t + self.t != ''", 5],
  ["(x > -1 ? x : x) > -1", 3],
  ["has(self.i)", 1],
  ["self.?i.hasValue()", 3],
  ["self.?zz.hasValue() || true", 2],
  ["optional.of(x).orValue(1) > -1", 3],
  ["self.l.map(z, z)[0] == 1", 45],
  ["self.l.map(z, 1)[0] == 1", 12],
  ["'%d'.format([x]) == '5'", 13],
  ["sets.equivalent(self.l, [1, 2, 3])", 21],
  ["timestamp('2020-01-01T00:00:00Z') < timestamp('2021-01-01T00:00:00Z')", 1],
];

test("costs are the reference's", () => {
  const variables = { self: { ...self, t: "x".repeat(25) }, x: 5 };
  assert.deepEqual(
    costs.map(([source]) => [source, evaluate(source, variables).cost]),
    costs,
  );
});

test("an evaluation stops at its budget, and && does not take that in", () => {
  const numbers = Array.from({ length: 1000 }, (_, at) => at);
  const source = "false || l.all(a, l.all(b, l.all(c, a + b + c >= 0)))";
  const result = evaluate(source, { l: numbers }, { costLimit: 10_000 });
  assert.ok("error" in result && result.isOverBudget);
  assert.equal(result.error.message, "operation cancelled: actual cost limit exceeded");
  assert.ok(result.cost < 10_100);
});

test("work that costs do not show ends at its bound", async () => {
  for (const source of [
    "l.all(x, (l + l).size() > 0)",
    "[l].all(x, l.all(y, [l] == [l]))",
    "l.all(x, s.size() > 0)",
    "l.all(x, m == m)",
    "l.all(x, s.replace('', s) != '')",
    "l.all(x, '%.999999f'.format([1.0]) != '')",
    "l.all(x, 'a'.matches('a' + string(x)) || true)",
  ]) {
    await growsInProportion(20_000, (length) => {
      const numbers = Array.from({ length }, (_, at) => at);
      const m = Object.fromEntries(numbers.map((number) => [`k${number}`, number]));
      const result = evaluate(source, { l: numbers, s: "a".repeat(10 * length), m });
      assert.ok("error" in result && result.isOverBudget, source);
    });
  }
});
