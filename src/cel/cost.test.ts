/** Estimates of costs against those of the reference, which were found by multiplying rules until it refused them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonSchemaProps } from "#schema/structural.ts";
import { check } from "./check.ts";
import { estimateCost, exceededText } from "./cost.ts";
import { Environment } from "./environment.ts";
import { listsLibrary } from "./library/lists.ts";
import { optionalsLibrary } from "./library/optionals.ts";
import { regexLibrary } from "./library/regex.ts";
import { setsLibrary } from "./library/sets.ts";
import { standardLibrary } from "./library/standard.ts";
import { stringsLibrary } from "./library/strings.ts";
import { parse } from "./parse.ts";
import { schemaVariable } from "./schema-types.ts";

const libraries = [standardLibrary, optionalsLibrary, setsLibrary, listsLibrary, stringsLibrary, regexLibrary];
const base = new Environment({ libraries });

const integer: JsonSchemaProps = { type: "integer" };
const text: JsonSchemaProps = { type: "string", maxLength: 10 };

const schema: JsonSchemaProps = {
  type: "object",
  properties: {
    i: integer,
    s: text,
    t: { type: "string", maxLength: 25 },
    l: { type: "array", maxItems: 7, items: text },
    m: { type: "object", maxProperties: 6, additionalProperties: text },
    ol: {
      type: "array",
      maxItems: 5,
      items: {
        type: "object",
        properties: { x: integer, l: { type: "array", maxItems: 3, items: integer } },
      },
    },
    o: { type: "object", properties: { p: integer, s: text } },
    b: { type: "boolean" },
    ios: { "x-kubernetes-int-or-string": true },
    d: { type: "string", format: "date-time" },
    n: { type: "number" },
  },
};

const variable = schemaVariable(schema, "selfType", false)!;
const environment = base.extend({ variables: new Map([["self", variable.type]]) });

function estimate(source: string): number {
  const parsed = parse(source);
  assert.ok("ast" in parsed, source);
  const checked = check(parsed.ast, environment);
  assert.ok(!("issues" in checked), source);
  return estimateCost(checked, variable.declaration);
}

const costs: readonly (readonly [string, number])[] = [
  ["self.i == self.i", 4],
  ["self.i == 1", 2],
  ["self.i < self.i", 5],
  ["self.i + 1 == 2", 4],
  ["self.o == self.o", 4],
  ["self.o.p == 1", 3],
  ["has(self.o.p)", 2],
  ["has(self.o)", 1],
  ["self.b", 2],
  ["!self.b", 3],
  ["self.b && self.b", 4],
  ["self.b || self.i == 1", 4],
  ["self.b ? self.s == self.t : self.i == 1", 10],
  ["(self.b ? self.s : self.t) == self.t", 16],
  ["self.s < self.t", 8],
  ["self.s.startsWith(self.t)", 14],
  ["self.s.startsWith('abcdefghijklm')", 4],
  ["self.s.contains('abcdefghijklm')", 10],
  ["self.s.matches('abcdefghijklm')", 22],
  ["self.s.size() == 1", 4],
  ["size(self.l) == 1", 4],
  ["self.s in self.l", 11],
  ["self.s in ['a','b','c']", 15],
  ["self.s in self.m", 5],
  ["self.l[0] == self.s", 9],
  ["self.m['a'] == self.s", 9],
  ["self.m.a == self.s", 9],
  ["self.l.all(x, x == self.s)", 73],
  ["self.l.exists(x, x == self.s)", 80],
  ["self.l.exists_one(x, x == self.s)", 67],
  ["self.l.map(x, x) == self.l", 107],
  ["self.l.map(x, x) == self.l.map(x,x)", 209],
  ["self.l.filter(x, true) == self.l", 107],
  ["self.l.filter(x, true).all(y, true)", 126],
  ["self.l.map(x, x).all(y, y == 'abcdefghijklmnopqrstuvwxyz')", 133],
  ["self.m.all(k, true)", 21],
  ["self.m.all(k, k == self.s)", 39],
  ["self.m.all(k, self.m[k] == self.t)", 81],
  ["self.m.all(k, k == k)", 33],
  ["self.ol.all(o, o.l.all(y, y == 1))", 93],
  ["self.ol.map(o, o.l).all(z, z.all(y, true))", 109],
  ["self.l + self.l == self.l", 8],
  ["(self.l + self.l).all(x, true)", 48],
  ["(self.s + self.t) == (self.t + self.t)", 56],
  ["[self.s, self.t].all(x, true)", 21],
  ["[self.s, self.t].all(x, x == self.t)", 27],
  ["[self.s] == [self.t]", 25],
  ["{'a': 1}.all(k, true)", 34],
  ["{'a': self.s} == {'a': self.t}", 65],
  ["self.ios == 1", 3],
  ["self.ios == self.ios", 314577],
  ["dyn(self.s) == self.s", 9],
  ["string(self.i) == self.s", 9],
  ["int(self.s) == 1", 4],
  ["bytes(self.s) == b'abc'", 7],
  ["self.d == self.d", 8],
  ["self.n < self.n", 5],
  ["string(bytes(self.s)) == self.t", 34],
  ["self.d < timestamp('2020-01-01T00:00:00Z')", 4],
  ["duration('1s') > duration('2s')", 3],
  ["self.?s.hasValue()", 3],
  ["self.?s.orValue('x') == self.t", 15],
  ["self.o.?s.orValue('x') == self.t", 16],
  ["self.l[?0].orValue('abc') == self.t", 16],
  ["self.s.charAt(0) == self.t", 15],
  ["self.s.lowerAscii() == self.t", 12],
  ["self.s.split(',').all(x, true)", 131],
  ["self.s.split(',').all(x, x == self.t)", 251],
  ["self.l.join(',') == self.t", 43],
  ["self.s.replace('a','b') == self.t", 16],
  ["self.s.substring(1) == self.t", 12],
  ["self.s.trim() == self.t", 12],
  ["self.s.indexOf('a') == 1", 7],
  ["self.l.isSorted()", 37],
  ["self.ol.map(o,o.x).sum() == 1", 89],
  ["self.l.min() == self.t", 49],
  ["self.l.indexOf('a') == 1", 38],
  ["sets.contains(self.l, self.l)", 54],
  ["sets.equivalent(self.l, self.l)", 103],
  ["self.s.find('a+') == self.t", 13],
  ["self.s.findAll('a+').all(x, true)", 128],
  ["'%s'.format([self.s]) == self.t", 25],
  ["type(self.s) == string", 4],
  ["-self.i == 1", 4],
  ["1 == 1", 1],
  ["self.l.all(i, self.l.all(j, true))", 192],
  ["self.l.all(x, self.l.map(y, y) == self.l)", 773],
  ["self.ol.filter(o, o.x == 1).all(o, o.l.all(z, true))", 224],
  ["self.ol.exists(o, has(o.x) && o.x > 1)", 43],
  ["self.o.?s.optMap(v, v + self.t).orValue('') == self.t", 45],
  ["b'abc' == bytes('abc')", 2],
  ["strings.quote(self.s) == self.t", 17],
  ["[1,2,3].exists(x, x == self.i)", 32],
  ["[[1,2],[3]].all(l, l.all(y, y == 1))", 41],
  ["(self.b ? self.o : self.o).s == self.t", 7],
  ["[self.o][0].s == self.t", 20],
  ["[self.l][0].all(x, true)", 14],
  ["self.l.map(x, x + self.t)[0] == self.t", 219],
  ["self.m.all(k, k.startsWith('abc') && k.contains('abc'))", 39],
  ["self.l.all(x, x.split(',').all(y, y.contains('abc')))", 1214],
  ["dyn(self.o).s == self.t", 5],
  ["self.l.exists(x, x.matches('^[a-z]+$') && size(x) < 5)", 129],
  ["(self.l.exists(x, x == 'a') ? self.l : self.l + self.l).all(y, y == self.s)", 135],
  ["{'a': self.s}['a'] == self.t", 35],
  ["{'a': self.l}.a.all(x, x == self.t)", 34],
  ["'abc' + self.s == self.t + 'é'", 25],
  ["'ééééé'.contains('ééééé') && self.b", 3],
  ["self.l.filter(x, x.startsWith('a')).map(x, x + 'b').exists(x, x == self.t)", 277],
  ["self.ol.all(a, self.ol.exists_one(b, b.x == a.x))", 188],
  ["self.ol.map(o, o.l)[0].all(z, z == 1)", 85],
  ["self.s.replace('', 'abcde') == self.t + self.t + self.t", 91],
  ["self.s.replace('ab', 'abcde') == self.t + self.t + self.t", 76],
  ["self.s.format([]) == self.t", 28],
  ["string(self.d) == self.t", 15],
  ["self.d + duration('1h') < self.d", 7],
  ["self.ol.map(o, o.x).max() == 1 && self.l.max() == 'a'", 127],
  ["self.?o.?s.orValue('').startsWith('abc')", 5],
  ["self.?o.s.hasValue()", 3],
  ["self.l.all(x, x in self.l)", 94],
  ["self.m.exists(k, self.m[k] in ['a'])", 117],
  ["self.l.map(x, x == 'a', x + 'b').size() > 1", 155],
  ["self.l.all(i, self.l.all(j, i == j))", 486],
  ["[1, 2].map(x, x * 2).sum() == self.i", 53],
  ["self.ol.map(o, o.l.map(y, y + 1)).all(z, z.sum() == 1)", 374],
  ["optional.none().hasValue()", 2],
  ["self.l.lastIndexOf('a') == 1", 38],
  ["size(self.s + self.t) > 1", 20],
  ["b'abc' + bytes(self.s) == b'x'", 24],
  ["self.l.join() == self.t", 42],
];

test("expressions are estimated as by the reference", () => {
  const found = costs.map(([source]) => [source, estimate(source)]);
  assert.deepEqual(found, costs);
});

test("what has no bound is infinitely costly only where it counts", () => {
  assert.equal(estimate("dyn(self.s) == dyn(self.t)"), Number.POSITIVE_INFINITY);
  assert.equal(estimate("dyn(self.s) == 'abc'"), 4);
});

test("findings say how much a budget is exceeded", () => {
  const advice =
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";
  const text = (cost: number): string => exceededText("estimated rule cost", cost, 10_000_000);
  assert.equal(text(10_000_001), `estimated rule cost exceeds budget by factor of 1.000000x ${advice}`);
  assert.equal(text(31_460_000), `estimated rule cost exceeds budget by factor of 3.1x ${advice}`);
  assert.equal(
    text(Number.POSITIVE_INFINITY),
    `estimated rule cost exceeds budget by factor of more than 100x ${advice}`,
  );
});
