/** Field sets: their algebra compared with plain sets of paths, the written form of path elements, hostile sets. */
import { compareCodePoints } from "#std/code-points.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  compareElements,
  contentOf,
  difference,
  emptyFieldSet,
  equalSets,
  type ElementPath,
  type FieldSet,
  fieldSetOf,
  hasPath,
  intersection,
  isEmptySet,
  keyElement,
  parseFieldSet,
  pathsOf,
  leafNode,
  recursiveDifference,
  sortedNode,
  union,
  unionAll,
  valueElement,
} from "./field-set.ts";
import { deepFreeze } from "./deep-freeze.ts";

const elements = [
  "f:a",
  "f:b",
  "f:a.b",
  'k:{"name":"x"}',
  'k:{"name":"y","port":1}',
  'v:"x"',
  "v:2",
  "v:10",
  "i:0",
  "i:11",
];
const path = fc.array(fc.constantFrom(...elements), { minLength: 1, maxLength: 4 });
const paths = fc.array(path, { maxLength: 12 });
const key = (one: ElementPath): string => JSON.stringify(one);
const keysOf = (set: FieldSet): Set<string> => new Set([...pathsOf(set)].map(key));

/** Checks a claim about sets, also given as paths; the sets are frozen. */
function holds(claim: (a: FieldSet, b: FieldSet, inA: ReadonlySet<string>, inB: ReadonlySet<string>) => void): void {
  fc.assert(
    fc.property(paths, paths, (left, right) => {
      const a = deepFreeze(fieldSetOf(left));
      const b = deepFreeze(fieldSetOf(right));
      claim(a, b, new Set(left.map(key)), new Set(right.map(key)));
    }),
  );
}

test("children of a node have the order of their elements, whatever their characters", () => {
  const text = fc.string({
    unit: fc.constantFrom("a", "b", "0", "9", "-", ".", "/", " ", "!", '"', "<", "ü", "\ue000", "😀"),
  });
  const value = fc.oneof({ weight: 8, arbitrary: text }, fc.integer());
  const element = fc.constantFrom(valueElement, (one: unknown) => keyElement([["name", one]]));
  fc.assert(
    fc.property(element, fc.uniqueArray(value, { maxLength: 8 }), (elementOf, values) => {
      const mixed = values.map(elementOf);
      const node = sortedNode(
        true,
        mixed,
        mixed.map(() => leafNode),
      );
      assert.deepEqual(
        Object.keys(node!).filter((one) => one !== "."),
        mixed.toSorted(compareElements),
      );
    }),
    { numRuns: 2000 },
  );
});

test("a set has the paths it was made of and no others", () => {
  holds((a, b, inA) => {
    assert.deepEqual(keysOf(a), new Set(inA));
    for (const one of pathsOf(b)) assert.equal(hasPath(a, one), inA.has(key(one)));
    assert.equal(isEmptySet(a), inA.size === 0);
  });
});

test("union, intersection and difference are those of the sets of paths", () => {
  holds((a, b, inA, inB) => {
    assert.deepEqual(keysOf(union(a, b)), inA.union(inB));
    assert.deepEqual(keysOf(intersection(a, b)), inA.intersection(inB));
    assert.deepEqual(keysOf(difference(a, b)), inA.difference(inB));
  });
});

test("the recursive difference also takes what lies below", () => {
  holds((a, b, inA, inB) => {
    const isBelow = (one: string): boolean => {
      const whole = JSON.parse(one) as string[];
      return whole.some((_, i) => inB.has(key(whole.slice(0, i + 1))));
    };
    assert.deepEqual(keysOf(recursiveDifference(a, b)), new Set([...inA].filter((one) => !isBelow(one))));
  });
});

test("results are canonical, and equal when their paths are", () => {
  holds((a, b) => {
    for (const set of [a, union(a, b), intersection(a, b), difference(a, b), recursiveDifference(a, b)]) {
      assert.equal(parseFieldSet(set), set);
      assert.equal(JSON.stringify(parseFieldSet(JSON.parse(JSON.stringify(set)))), JSON.stringify(set));
    }
    assert.ok(equalSets(union(a, b), union(b, a)));
    assert.ok(equalSets(union(difference(a, b), intersection(a, b)), a));
    assert.equal(equalSets(a, b), JSON.stringify(a) === JSON.stringify(b));
  });
});

test("an operation that changes nothing gives its argument back", () => {
  holds((a, b) => {
    assert.equal(union(a, a), a);
    assert.equal(union(a, intersection(a, b)), a);
    const rest = difference(a, b);
    assert.equal(difference(rest, b), rest);
  });
});

test("the union of many sets equals their unions one by one", () => {
  fc.assert(
    fc.property(fc.array(paths, { maxLength: 6 }), (many) => {
      const sets = many.map((one) => deepFreeze(fieldSetOf(one)));
      const all = unionAll(sets);
      assert.equal(JSON.stringify(all), JSON.stringify(sets.reduce(union, emptyFieldSet)));
      assert.equal(parseFieldSet(all), all);
    }),
  );
});

test("elements of any values are in the order of their values, however they are compared", () => {
  const text = fc.string({
    unit: fc.constantFrom("a", "b", "1", "9", "-", ":", '"', "\\", "<", " ", "é", "\u{1f600}"),
  });
  const scalar = fc.oneof(text, fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean());
  const values = fc.tuple(scalar, scalar).map((pair) => pair.map(valueElement));
  const keyed = fc.tuple(fc.constantFrom("a", "port"), scalar, scalar, fc.boolean()).map(([name, left, right, both]) =>
    [left, right].map((value) =>
      keyElement(
        both
          ? [
              [name, value],
              ["z", value],
            ]
          : [[name, value]],
      ),
    ),
  );
  fc.assert(
    fc.property(fc.oneof(values, keyed), ([a = "", b = ""]) => {
      const order = Math.sign(compareElements(a, b));
      assert.equal(order + Math.sign(compareElements(b, a)), 0);
      assert.equal(order === 0, a === b);
      const ofValues = (element: string): unknown => Object.values({ ...(contentOf(element) as object) })[0];
      const [left, right] = a.startsWith("v") ? [contentOf(a), contentOf(b)] : [ofValues(a), ofValues(b)];
      if (typeof left === "number" && typeof right === "number") assert.equal(order, Math.sign(left - right));
      if (typeof left === "string" && typeof right === "string") {
        assert.equal(order, Math.sign(Buffer.compare(Buffer.from(left), Buffer.from(right))));
      }
    }),
    { numRuns: 2000 },
  );
});

test("elements are written as Go writes them [MF-10]", () => {
  assert.equal(valueElement("a<b>&\u2028"), 'v:"a\\u003cb\\u003e\\u0026\\u2028"');
  assert.equal(valueElement(true), "v:true");
  assert.equal(valueElement(1.5), "v:1.5");
  assert.equal(
    keyElement([
      ["protocol", "TCP"],
      ["port", 80],
    ]),
    'k:{"port":80,"protocol":"TCP"}',
  );
});

test("elements are ordered by kind, names by bytes, values by type [MF-10]", () => {
  const ordered = [
    "f:Z",
    "f:a",
    "f:\uffee",
    "f:\u{1f600}",
    'k:{"id":2}',
    'k:{"id":10}',
    'k:{"name":"a"}',
    "v:2",
    "v:10",
    'v:"10"',
    "v:true",
  ];
  assert.deepEqual(ordered.toReversed().sort(compareElements), ordered);
  assert.ok(compareCodePoints("a", "ab") < 0);
});

test("a set from a client is sorted and normalized", () => {
  const check = (given: unknown, expected: string | undefined): void => {
    const set = parseFieldSet(deepFreeze(given));
    assert.equal(set === undefined ? undefined : JSON.stringify(set), expected);
  };
  check({ "f:b": {}, "f:a": { "f:c": {}, ".": {} } }, '{"f:a":{".":{},"f:c":{}},"f:b":{}}');
  check({ "f:a": { ".": {} } }, '{"f:a":{}}');
  check({ ".": {}, "f:a": {} }, '{"f:a":{}}');
  check({ 'k:{"b": 1, "a":2}': {} }, '{"k:{\\"a\\":2,\\"b\\":1}":{}}');
  check({ "x:unknown": {}, "f:a": {} }, '{"f:a":{}}');
  check({ "f:a": { "x:unknown": {} } }, "{}");
  check({ "f:__proto__": {} }, '{"f:__proto__":{}}');
  check(null, "{}");
  check({ f: {} }, undefined);
  check({ "f:a": 5 }, undefined);
  check({ "v:{": {} }, undefined);
  check({ "k:[]": {} }, undefined);
  check([], undefined);
  check("x", undefined);
});

test("a set that is nested too deeply is refused", () => {
  let deep: unknown = {};
  for (let i = 0; i < 5000; i++) deep = { "f:a": deep };
  assert.equal(parseFieldSet(deep), undefined);
});

test("the empty set is one value", () => {
  assert.equal(fieldSetOf([]), emptyFieldSet);
  assert.equal(intersection(fieldSetOf([["f:a"]]), fieldSetOf([["f:b"]])), emptyFieldSet);
});
