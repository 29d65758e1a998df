/** Tests the types that schemas declare: fields, names, reading of values, and sizes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonSchemaProps } from "#schema/structural.ts";
import { rawNumber } from "#std/raw-number.ts";
import { check } from "./check.ts";
import { Environment } from "./environment.ts";
import { compile } from "./evaluate.ts";
import { showIssues } from "./issues.ts";
import { listsLibrary } from "./library/lists.ts";
import { optionalsLibrary } from "./library/optionals.ts";
import { setsLibrary } from "./library/sets.ts";
import { standardLibrary } from "./library/standard.ts";
import { parse } from "./parse.ts";
import { cardinality, type Declaration, fieldName, schemaVariable } from "./schema-types.ts";
import type { Value } from "./values.ts";

const base = new Environment({ libraries: [standardLibrary, optionalsLibrary, setsLibrary, listsLibrary] });

const string: JsonSchemaProps = { type: "string" };
const integer: JsonSchemaProps = { type: "integer" };
const open: JsonSchemaProps = { "x-kubernetes-preserve-unknown-fields": true };
const list = (items: JsonSchemaProps, more: JsonSchemaProps = {}): JsonSchemaProps => ({
  type: "array",
  items,
  ...more,
});
const map = (additionalProperties: JsonSchemaProps, more: JsonSchemaProps = {}): JsonSchemaProps => ({
  type: "object",
  additionalProperties,
  ...more,
});
const object = (
  properties: Readonly<Record<string, JsonSchemaProps>>,
  more: JsonSchemaProps = {},
): JsonSchemaProps => ({ type: "object", properties, ...more });

function environmentOf(props: JsonSchemaProps, isWhole = false): Environment {
  const variable = schemaVariable(props, "selfType", isWhole);
  assert.ok(variable !== undefined);
  return base.extend({ variables: new Map([["self", variable.type]]) });
}

/** Returns the messages of the checker, or `ok`. */
function findings(source: string, environment: Environment): string {
  const parsed = parse(source);
  assert.ok("ast" in parsed, source);
  const checked = check(parsed.ast, environment);
  if (!("issues" in checked)) return "ok";
  return showIssues(source, checked.issues)
    .split("\n")
    .filter((line) => line.startsWith("ERROR"))
    .join("\n");
}

/** Returns the type of an expression, as the error of a comparison shows it. */
function typeText(source: string, environment: Environment): string {
  const errors = findings(`${source} == optional.none()`, environment);
  return /applied to '\((.*), optional_type\(dyn\)\)'/.exec(errors)?.[1] ?? errors.replace(/^ERROR: \S+ /, "");
}

function evaluate(source: string, environment: Environment, self: unknown): unknown {
  const parsed = parse(source);
  assert.ok("ast" in parsed, source);
  const checked = check(parsed.ast, environment);
  assert.ok(!("issues" in checked), `${source}: ${findings(source, environment)}`);
  const program = compile(checked);
  assert.ok("evaluate" in program, source);
  const result = program.evaluate({ self: self as Value }, { costLimit: 1_000_000 }); // the value is JSON
  return "value" in result ? result.value : result.error.message;
}

const everything = object({
  s: string,
  i: integer,
  n: { type: "number" },
  b: { type: "boolean" },
  o: object({ x: object({ y: integer }) }),
  l: list(object({ x: integer })),
  m: map(object({ x: integer })),
  ll: list(list(string)),
  ios: { "x-kubernetes-int-or-string": true },
  pu: open,
  puo: { type: "object", ...open },
  lpu: list(open),
  mpu: map(open),
  em: { type: "object", "x-kubernetes-embedded-resource": true, ...open },
  by: { type: "string", format: "byte" },
  da: { type: "string", format: "date" },
  dt: { type: "string", format: "date-time" },
  dtt: { type: "string", format: "datetime" },
  du: { type: "string", format: "duration" },
  nu: { type: "string", nullable: true },
  set: list(string, { "x-kubernetes-list-type": "set" }),
});

test("schemas declare the types that the reference shows [EXPR-39] [EXPR-40] [EXPR-41] [EXPR-44] [EXPR-45] [EXPR-47]", () => {
  const environment = environmentOf(everything, true);
  const types: Readonly<Record<string, string>> = {
    self: "selfType",
    "self.s": "string",
    "self.i": "int",
    "self.n": "double",
    "self.b": "bool",
    "self.o": "selfType.o",
    "self.o.x": "selfType.o.x",
    "self.l": "list(selfType.l.@idx)",
    "self.l[0]": "selfType.l.@idx",
    "self.m": "map(string, selfType.m.@elem)",
    "self.m['a'].x": "int",
    "self.ll": "list(list(string))",
    "self.ios": "ok",
    "self.puo": "selfType.puo",
    "self.em.metadata": "selfType.em.metadata",
    "self.em.kind": "string",
    "self.by": "bytes",
    "self.da": "timestamp",
    "self.dt": "timestamp",
    "self.dtt": "string",
    "self.du": "duration",
    "self.nu": "string",
    "self.set": "list(string)",
    "self.metadata": "selfType.metadata",
    "self.metadata.generateName": "string",
    "self.apiVersion": "string",
  };
  for (const [source, type] of Object.entries(types)) assert.equal(typeText(source, environment), type, source);
});

test("untyped parts of a schema are no fields, and cannot have rules", () => {
  const environment = environmentOf(everything, true);
  for (const source of ["pu", "lpu", "mpu", "puo.y", "em.spec", "metadata.labels", "nope", "constructor"]) {
    const name = source.split(".").at(-1);
    assert.match(findings(`self.${source} == 1`, environment), new RegExp(`undefined field '${name}'$`), source);
  }
  for (const props of [open, list(open), map(open)]) assert.equal(schemaVariable(props, "selfType", false), undefined);
  assert.match(findings("self.kind == ''", environmentOf(everything)), /undefined field 'kind'$/);
});

test("property names are escaped, and what cannot be is no field [EXPR-52] [EXPR-53] [EXPR-54] [EXPR-55] [EXPR-56] [EXPR-57]", () => {
  const names: Readonly<Record<string, string | undefined>> = {
    "a-b": "a__dash__b",
    "a.b": "a__dot__b",
    "a/b": "a__slash__b",
    a__b: "a__underscores__b",
    a___b: "a__underscores___b",
    a____b: "a__underscores____underscores__b",
    "-a": "__dash__a",
    ".a": "__dot__a",
    __a__: "__underscores__a__underscores__",
    __namespace__: "__underscores__namespace__underscores__",
    _a: "_a",
    namespace: "__namespace__",
    in: "__in__",
    true: "__true__",
    int: "int",
    self: "self",
    a$b: undefined,
    "a b": undefined,
    "1a": undefined,
    é: undefined,
    "": undefined,
  };
  for (const [property, name] of Object.entries(names)) assert.equal(fieldName(property), name, property);

  const environment = environmentOf(object(Object.fromEntries(Object.keys(names).map((name) => [name, integer]))));
  const self = { "a-b": 1, namespace: 7, in: 3, __a__: 4 };
  assert.equal(evaluate("self.a__dash__b == 1 && self.__in__ == 3", environment, self), true);
  assert.equal(evaluate("self.__underscores__a__underscores__ == 4", environment, self), true);
  assert.equal(evaluate("self.namespace == 7 && self.__namespace__ == 7", environment, self), true);
  assert.equal(evaluate("has(self.namespace) && !has(self.a__dot__b)", environment, self), true);
  assert.equal(evaluate("self.a__dash__b == 1", environment, {}), "no such key: a__dash__b");
  assert.equal(evaluate("self.__namespace__ == 1", environment, {}), "no such key: __namespace__");
  assert.match(findings("self.a__dollar__b == 1", environment), /undefined field 'a__dollar__b'$/);
  assert.match(findings("self.a__b == 1", environment), /undefined field 'a__b'$/);
});

test("values are read as their schema says [EXPR-45] [EXPR-46] [EXPR-48] [EXPR-49] [EXPR-50] [EXPR-51]", () => {
  const environment = environmentOf(everything);
  const self = {
    n: 3,
    i: rawNumber("9007199254740993"),
    by: "Yf8=",
    da: "2020-01-02",
    dt: "2020-01-02T03:04:05Z",
    du: "1m30s",
    ios: 1,
  };
  for (const source of [
    "type(self.n) == double && self.n == 3.0",
    "self.i == 9007199254740993",
    "self.by == b'a\\xff'",
    "self.da == timestamp('2020-01-02T00:00:00Z')",
    "self.dt < timestamp('2030-01-01T00:00:00Z')",
    "self.du == duration('90s')",
    "type(self.ios) == int || type(self.ios) == string",
    // The results are the same if the type is not known.
    "type(dyn(self).n) == double && dyn(self).dt == self.dt && dyn(self).by == self.by",
    "self.?dt.orValue(timestamp(0)) == self.dt",
    "[self][0].du == duration('90s') && dyn([self])[0].du == duration('90s')",
    "dyn(true ? self : self).dt == self.dt",
  ]) {
    assert.equal(evaluate(source, environment, self), true, source);
  }
});

test("elements of lists and maps are read by their type too", () => {
  const time: JsonSchemaProps = { type: "string", format: "date-time" };
  const environment = environmentOf(
    object({ l: list(time), o: list(object({ t: time })), m: map(object({ t: time })), n: list({ type: "number" }) }),
  );
  const self = {
    l: ["2020-01-02T03:04:05.0Z"],
    o: [{ t: "2020-01-02T04:04:05+01:00" }],
    m: { a: { t: "2020-01-02T03:04:05Z" } },
    n: [1],
  };
  const time0 = "timestamp('2020-01-02T03:04:05Z')";
  for (const source of [
    `self.l == [${time0}] && [${time0}] == self.l && ${time0} in self.l`,
    `self.o.all(x, x.t == ${time0}) && dyn(self.o)[0].t == ${time0} && dyn(self.o.map(x, x))[0].t == ${time0}`,
    `self.m.all(k, self.m[k].t == ${time0}) && self.m.a.t == ${time0} && self.?m.a.t.orValue(timestamp(0)) == ${time0}`,
    `dyn(self.m).a.t == ${time0} && self.m[?'a'].t.orValue(timestamp(0)) == ${time0}`,
    "type(self.n[0]) == double && type(self.n[?0].value()) == double && self.n.sum() == 1.0",
    "optional.of(self.o[0]).t.value() == self.m['a'].t",
  ]) {
    assert.equal(evaluate(source, environment, self), true, source);
  }
});

test("a property that is null is not there, a null element or entry is", () => {
  const nullable: JsonSchemaProps = { type: "string", nullable: true };
  const environment = environmentOf(
    object({
      s: nullable,
      o: { type: "object", nullable: true, properties: { x: integer } },
      l: list(nullable),
      m: map(nullable),
    }),
  );
  const self = { s: null, o: null, l: [null], m: { a: null } };
  assert.equal(evaluate("has(self.s) || has(self.o) || self.?o.hasValue()", environment, self), false);
  assert.equal(evaluate("self.o == null", environment, self), "no such key: o");
  assert.equal(evaluate("'a' in self.m && has(self.m.a) && size(self.l) == 1", environment, self), true);
  assert.equal(evaluate("dyn(self.l[0]) == null", environment, self), true);
});

const sets = object({
  set: list(integer, { "x-kubernetes-list-type": "set" }),
  plain: list(integer),
  o: object({ s: list(integer, { "x-kubernetes-list-type": "set" }) }),
  nums: list({ type: "number" }, { "x-kubernetes-list-type": "set" }),
  map: list(object({ k: string, v: integer }, { required: ["k"] }), {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
  }),
});

const someSets = {
  set: [1, 2, 3],
  plain: [3, 1, 2],
  o: { s: [1, 2] },
  nums: [1.5, 2.5],
  map: [
    { k: "a", v: 1 },
    { k: "b", v: 2 },
  ],
};

test("sets compare without order and add what they lack, if they are on the left [EXPR-42]", () => {
  const environment = environmentOf(sets);
  const expected: Readonly<Record<string, boolean>> = {
    "self.set == [3,2,1]": true,
    "[3,2,1] == self.set": false,
    "dyn(self.set) == [3,2,1]": true,
    "self.set == [1,2,3,3]": false,
    "self.set == [1,2,2]": true,
    "self.set != [3,2,1]": false,
    "self.set == self.plain && !(self.plain == self.set)": true,
    "self.set == dyn([1.0,2.0,3.0])": false,
    "self.set + [3,4] == [4,3,2,1]": true,
    "size(self.set + [3,4,4]) == 4 && (self.set + [3,4])[3] == 4": true,
    "([9] + self.set) == [9,1,2,3]": true,
    "self.set in [[3,2,1]] && !([3,2,1] in [self.set])": true,
    "[self.set] == [[3,2,1]] && !([[3,2,1]] == [self.set])": true,
    "self.set.map(x,x) == [3,2,1]": false,
    "dyn(self.o) == {'s':[2,1]} && !({'s':[2,1]} == dyn(self.o))": true,
    "(true ? self.set : [0]) == [3,2,1]": true,
    "optional.of(self.set) == optional.of([3,2,1]) && self.?set.orValue([]) == [3,2,1]": true,
    "sets.equivalent([self.set],[[3,2,1]])": false,
    "[self.set].indexOf([3,2,1]) == 0": true,
    "self.nums == [2.5, 1.5]": true,
  };
  for (const [source, value] of Object.entries(expected))
    assert.equal(evaluate(source, environment, someSets), value, source);
  assert.equal(evaluate("self.nums == [2.0, 1.0]", environment, { nums: [1, 2] }), false);
});

test("lists with keys compare without order and merge by key, in place [EXPR-43]", () => {
  const environment = environmentOf(sets);
  const expected: Readonly<Record<string, boolean>> = {
    "self.map == [self.map[1], self.map[0]]": true,
    "[self.map[1], self.map[0]] == self.map": false,
    "self.map + self.map == self.map && size(self.map + [self.map[1]]) == 2": true,
    "(self.map + [self.map[1]])[0].k == 'a' && (self.map + [])==[self.map[1], self.map[0]]": true,
    "(self.map + self.map).map(x, x) == (self.map + self.map)": true,
    "self.map == self.map && type(dyn(self.map)) == list && self.map != []": true,
    "dyn(self.map) == dyn([1, 2])": false,
    "dyn(self.map) == dyn([{'k': dyn('b'), 'v': dyn(2)}, {'k': dyn('a'), 'v': dyn(1)}])": false,
  };
  for (const [source, value] of Object.entries(expected))
    assert.equal(evaluate(source, environment, someSets), value, source);

  const two = environmentOf(object({ old: sets.properties!["map"]!, new: sets.properties!["map"]! }));
  const value = { old: someSets.map, new: [{ k: "c" }, { k: "a", v: 2 }] };
  const merged = "(dyn(self.old) + dyn(self.new))";
  assert.equal(evaluate(`size(${merged}) == 3 && ${merged}[0].v == 2 && ${merged}[2].k == 'c'`, two, value), true);
});

test("keys that objects inherit in JavaScript are ordinary ones", () => {
  const environment = environmentOf(
    object({ constructor: integer, m: map({ type: "string", format: "date-time" }), o: object({ toString: integer }) }),
  );
  const self = JSON.parse('{"m":{"__proto__":"2020-01-02T03:04:05Z"},"o":{}}') as unknown;
  assert.equal(evaluate("has(self.constructor) || has(self.o.toString)", environment, self), false);
  assert.equal(evaluate("self.constructor == 1", environment, self), "no such key: constructor");
  assert.equal(
    evaluate("self.m['__proto__'].getFullYear() == 2020 && dyn(self).m.size() == 1", environment, self),
    true,
  );
});

/** Returns the declaration of a field `x`. */
function declarationOf(x: JsonSchemaProps): Declaration {
  const variable = schemaVariable(object({ x }), "selfType", false);
  assert.ok(variable?.declaration.kind === "object");
  return variable.declaration.fields.get("x")!.declaration;
}

test("sizes are what the schema says, or what fits into a request", () => {
  const whole = 3 * 1024 * 1024 - 2;
  const embedded: JsonSchemaProps = {
    type: "object",
    "x-kubernetes-embedded-resource": true,
    properties: { metadata: object({ name: { ...string, maxLength: 10 } }, { required: ["name"] }), kind: string },
    required: ["kind", "metadata"],
  };
  const cases: readonly (readonly [JsonSchemaProps, number])[] = [
    [string, whole],
    [{ ...string, maxLength: 1000 }, 4000],
    [{ ...string, maxLength: 0 }, 0],
    [{ ...string, maxLength: -1 }, 0],
    [{ ...string, maxLength: 10, enum: ["a".repeat(2000)] }, 40],
    [{ ...string, enum: ["abc", "é".repeat(1000)] }, 2000],
    [{ ...string, format: "byte", maxLength: 1000 }, 1000],
    [{ ...string, format: "byte" }, whole],
    [{ ...string, format: "date" }, 12],
    [{ ...string, format: "date-time", maxLength: 100_000 }, 32],
    [{ ...string, format: "duration" }, 32],
    [list(string, { maxItems: 7 }), 7],
    [list(string), 1_048_575],
    [list(integer), 1_572_863],
    [list({ type: "boolean" }), 629_145],
    [list({ ...string, format: "date" }), 241_978],
    [list({ ...string, format: "date-time" }), 142_987],
    [list({ ...string, format: "duration" }), 786_431],
    [list({ "x-kubernetes-int-or-string": true }), 1_572_863],
    [list(object({ a: string, b: integer })), 1_048_575],
    [list(object({ a: string, bb: integer }, { required: ["a"] })), 314_572],
    [list(object({ a: string, bb: integer }, { required: ["a", "bb"] })), 185_042],
    [list(object({ a: { ...string, default: "x" } }, { required: ["a"] })), 1_048_575],
    [list(object({ "n-x": object({ a: integer }, { required: ["a"] }) }, { required: ["n-x"] })), 174_762],
    [list(object({ q: open }, { required: ["q"] })), 1_048_575],
    [list(list(string, { minItems: 5 })), 1_048_575],
    [list(embedded), 116_508],
    [map(string), 393_215],
    [map(integer), 449_389],
    [map(object({ a: string }, { required: ["a"] })), 209_715],
    [map(string, { maxProperties: 7 }), 7],
  ];
  for (const [props, size] of cases) assert.equal(declarationOf(props).sizeMax, size, JSON.stringify(props));
});

test("values in lists count as often as the lists allow, or as a request has room for", () => {
  const plain = declarationOf(object({ t: string }));
  const required = declarationOf(object({ t: string }, { required: ["t"] }));
  assert.equal(cardinality([], plain), 1);
  assert.equal(cardinality([700, 1100], plain), 770_000);
  assert.equal(cardinality([undefined], plain), 1_048_576);
  assert.equal(cardinality([1, undefined], plain), 1_048_576);
  assert.equal(cardinality([undefined, undefined], required), 314_572);
});
