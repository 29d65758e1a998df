/** Tests the checker: types, overloads, and errors with cel-go's texts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { showType } from "./check/show-type.ts";
import { check } from "./check.ts";
import type { Reference } from "./checked.ts";
import { type Choices, environmentWith, plain } from "./declarations-for-tests.ts";
import { Environment } from "./environment.ts";
import { showIssues } from "./issues.ts";
import { parse } from "./parse.ts";
import { bool, type CelType, dyn, int, listOf, mapOf, type ObjectType, string, timestamp } from "./types.ts";
import { homogeneousLiterals, validArgument } from "./validators.ts";

const object = (name: string, fields: Readonly<Record<string, CelType>>): ObjectType => ({
  kind: "object",
  name,
  field: (field) => (Object.hasOwn(fields, field) ? { key: field, type: fields[field]! } : undefined),
});

const self = object("Self", {
  i: int,
  s: string,
  b: bool,
  t: timestamp,
  x: dyn,
  l: listOf(string),
  m: mapOf(string, int),
  o: object("Self.o", { p: string }),
});

/** Returns the type, or the issues as clients see them. */
function formatCheck(source: string, choices: Choices = {}): string {
  const environment = environmentWith({ ...choices, variables: { self, ...choices.variables } });
  return formatCheckIn(environment, source);
}

function formatCheckIn(environment: Environment, source: string, hasTwoVariables = false): string {
  const parsed = parse(source, { hasTwoVariables });
  assert.ok("ast" in parsed, "issues" in parsed ? showIssues(source, parsed.issues) : "");
  const checked = check(parsed.ast, environment);
  return "issues" in checked ? showIssues(source, checked.issues) : showType(checked.type);
}

/** Returns the messages of the issues with their columns, without the lines of the source. */
const messages = (source: string, choices?: Choices): readonly string[] =>
  formatCheck(source, choices)
    .split("\n")
    .filter((line) => !line.startsWith(" | "))
    .map((line) => line.replace("ERROR: <input>:", ""));

function checkTypes(cases: Readonly<Record<string, string>>): void {
  const results = Object.fromEntries(Object.keys(cases).map((source) => [source, formatCheck(source)]));
  assert.deepEqual(results, cases);
}

function checkMessages(cases: Readonly<Record<string, readonly string[]>>, choices?: Choices): void {
  const results = Object.fromEntries(Object.keys(cases).map((source) => [source, messages(source, choices)]));
  assert.deepEqual(results, cases);
}

test("a finding is shown below its line", () => {
  const expected = "ERROR: <input>:1:8: found no matching overload for '_+_' applied to '(int, string)'";
  assert.equal(formatCheck('self.i + "a" == 1'), `${expected}\n | self.i + "a" == 1\n | .......^`);
});

test("fields, elements and arguments have their declared types", () => {
  checkTypes({
    "self.i": "int",
    ".self.i": "int",
    "self.x.whatever": "dyn",
    "self.o.p": "string",
    "self.l[0]": "string",
    'self.m["a"]': "int",
    "self.m.a": "int",
    "has(self.o.p)": "bool",
    "type(self.t)": "type(timestamp)",
    "google.protobuf.Timestamp": "type(timestamp)",
    list: "type(list(dyn))",
    map: "type(map(dyn, dyn))",
    type: "type(type)",
    null_type: "type(null)",
    "self.i == 1 ? 1 : 2": "int",
    "1 < 1.5 && 2u >= 1": "bool",
    "duration(1)": "duration",
  });
});

test("a name with dots is found before the field of a shorter one, and a function's before a receiver", () => {
  const functions = [{ name: "self.size", overloads: [plain("own_size", [string], bool)] }];
  const choices = { variables: { "self.o.p": int }, functions };
  assert.equal(formatCheck("self.o.p", choices), "int");
  assert.equal(formatCheck("has(self.o.p) ? self.o.p : 1", choices), "int");
  assert.equal(formatCheck('self.size("a")', choices), "bool");
  assert.equal(formatCheck("self.l.size()", choices), "int");
});

test("literals join their types, and null joins what can be null", () => {
  checkTypes({
    "[]": "list(dyn)",
    "[1, null]": "list(dyn)",
    "[self.t, null]": "list(null)",
    "[null, self.t]": "list(timestamp)",
    '{"a": null, "b": self.t}': "map(string, timestamp)",
    "[[], [1]]": "list(list(int))",
    "[[1], []]": "list(list(int))",
    '[{}, {"a": 1}]': "list(map(string, int))",
    '[type(1), type("a")]': "list(type(int))",
    "true ? null : self.t": "null",
    "true ? self.t : null": "timestamp",
    "null == self.o && null == self.t && null == self.x": "bool",
  });
});

test("optional values carry the type they are of", () => {
  checkTypes({
    "optional.none()": "optional_type(dyn)",
    "optional.none().orValue(1)": "int",
    "self.?o.p": "optional_type(string)",
    "self.?o.?p": "optional_type(string)",
    "self.?l[0]": "optional_type(string)",
    "self.l[?0]": "optional_type(string)",
    'self.m[?"a"]': "optional_type(int)",
    '[?self.?s, "a"]': "list(string)",
    '{?"a": self.?s}': "map(string, string)",
    'self.?s.optMap(v, v + "a")': "optional_type(string)",
    "self.?x": "optional_type(dyn)",
  });
});

test("variables of loops have the type of what they run over, and hide others only inside", () => {
  checkTypes({
    "self.l.map(x, size(x))": "list(int)",
    "self.m.map(k, k)": "list(string)",
    'self.l.all(self, self == "")': "bool",
    "{}.map(c, [c, type(c)])": "list(list(dyn))",
    "[{}.map(c, c, c)] + [{}.map(c, c, c)]": "list(list(bool))",
    "self.x.exists(x, x.y > 1)": "bool",
  });
  checkMessages({
    "self.l.exists(y, y == '') && y == ''": ["1:30: undeclared reference to 'y' (in container '')"],
    "self.i.all(x, true)": [
      "1:5: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)",
    ],
    "self.l.all(x, 1)": ["1:15: expected type 'bool' but found 'int'"],
  });
});

test("loops with two variables have indices and elements, or keys and values", () => {
  const cases = {
    "[1].all(i, v, i < v)": "bool",
    '{1: "a"}.exists(k, v, v == "" && k > 1)': "bool",
    "['a'].transformList(i, v, v)": "list(string)",
    "self.m.transformList(k, v, v > 1, k)": "list(string)",
    "self.l.transformMap(i, v, v)": "map(int, string)",
    "self.m.transformMap(k, v, v > 1, string(v))": "map(string, string)",
    "self.x.transformMap(k, v, v)": "map(dyn, dyn)",
  };
  const environment = environmentWith({ variables: { self } });
  const results = Object.keys(cases).map((source) => [source, formatCheckIn(environment, source, true)]);
  assert.deepEqual(Object.fromEntries(results), cases);
});

test("errors of the checker have the reference's texts", () => {
  checkMessages({
    "self.nope": ["1:5: undefined field 'nope'"],
    "has(self.nope)": ["1:4: undefined field 'nope'"],
    "self.s.x": ["1:7: type 'string' does not support field selection"],
    "nope.x": ["1:1: undeclared reference to 'nope' (in container '')"],
    "foo(self.i)": ["1:4: undeclared reference to 'foo' (in container '')"],
    "self.i.foo()": ["1:11: undeclared reference to 'foo' (in container '')"],
    "self.i.startsWith(self.s)": ["1:18: found no matching overload for 'startsWith' applied to 'int.(string)'"],
    "startsWith(self.s)": ["1:11: found no matching overload for 'startsWith' applied to '(string)'"],
    "self.o.size()": ["1:12: found no matching overload for 'size' applied to 'Self.o.()'"],
    "true || self.i || 2": ["1:13: expected type 'bool' but found 'int'", "1:19: expected type 'bool' but found 'int'"],
    "self.i ? 1 : 2": ["1:8: found no matching overload for '_?_:_' applied to '(int, int, int)'"],
    "null == self.l": ["1:6: found no matching overload for '_==_' applied to '(null, list(string))'"],
    "self.l.map(x, x + 1) == 1": [
      "1:17: found no matching overload for '_+_' applied to '(string, int)'",
      "1:22: found no matching overload for '_==_' applied to '(list(!error!), int)'",
    ],
    "self.?nope == 1": [
      "1:5: undefined field 'nope'",
      "1:12: found no matching overload for '_==_' applied to '(optional_type(!error!), int)'",
    ],
    "[?1]": ["1:3: expected type 'optional_type(int)' but found 'int'"],
    "self.l[?0].orValue(1)": [
      "1:19: found no matching overload for 'orValue' applied to 'optional_type(string).(int)'",
    ],
  });
});

test("unknown types have the reference's names in findings about them, and are dyn in those about calls", () => {
  checkMessages({
    "[].length": ["1:3: type 'list(_var0)' does not support field selection"],
    "{}.all(x, [].foo)": ["1:13: type 'list(_var2)' does not support field selection"],
    "{}[[]].all(x, [].y)": ["1:17: type 'list(_var9)' does not support field selection"],
    "{}[?1] && true": ["1:3: expected type 'bool' but found 'optional_type(_var1)'"],
    "list.x": ["1:5: type 'type(list(A))' does not support field selection"],
    "list == 1": ["1:6: found no matching overload for '_==_' applied to '(type(list(dyn)), int)'"],
    "{}.all(x, x - x && x.foo)": [
      "1:13: expected type 'bool' but found 'double'",
      "1:21: type 'double' does not support field selection",
    ],
    "[] ? 1 : 2": ["1:4: found no matching overload for '_?_:_' applied to '(list(dyn), int, int)'"],
  });
});

test("objects are made of types that have the fields, with values that fit", () => {
  const made = object("Object", { p: string, q: int });
  const environment = environmentWith({ variables: { value: int } }).extend({
    findType: (name) => (name === "Object" ? made : undefined),
  });
  const cases = {
    'Object{p: "a", q: 1}.q': "int",
    'Object{?p: optional.of("a")}': "Object",
    Object: "type(Object)",
    "Object{p: 1}": "expected type of field 'p' is 'string' but provided type is 'int'",
    "Object{r: 1}": "undefined field 'r'",
    "int{a: 1}": "'int' is not a message type",
    "value{}": "'int' is not a type",
    "Other{}": "undeclared reference to 'Other' (in container '')",
  };
  for (const [source, expected] of Object.entries(cases))
    assert.ok(formatCheckIn(environment, source).includes(expected), source);
});

test("where literals must be homogeneous, every element is of the type of the first one, also null and dyn", () => {
  const validators = [homogeneousLiterals(new Set(["format"]))];
  checkMessages(
    {
      '[1, "a", 2, "b"]': ["1:5: expected type 'int' but found 'string'"],
      "[1, dyn(2)]": ["1:8: expected type 'int' but found 'dyn'"],
      "[self.t, null]": ["1:10: expected type 'timestamp' but found 'null'"],
      '{1: 2, 3: "a", 4: "b"}': [
        "1:11: expected type 'int' but found 'string'",
        "1:19: expected type 'int' but found 'string'",
      ],
      '[[1, "a"], 2]': [
        "1:6: expected type 'int' but found 'string'",
        "1:12: expected type 'list(dyn)' but found 'int'",
      ],
      "[?self.?s, 1]": ["1:12: expected type 'string' but found 'int'"],
      '[1, "a"] == [self.nope]': ["1:18: undefined field 'nope'"],
      "[[], [1]]": ["list(list(int))"],
      '"%s".format([[1, "a"]])': ["string"],
    },
    { validators },
  );
});

test("arguments that are literals can be validated", () => {
  const validators = [validArgument("duration", (literal) => literal === "1h")];
  checkMessages(
    {
      'duration("1h") == duration("x")': ["1:28: invalid duration argument"],
      "duration(1)": ["1:10: invalid duration argument"],
      "duration(self.s)": ["duration"],
    },
    { validators },
  );
});

test("a later environment adds overloads to a function, hides variables, and leaves the earlier one as it was", () => {
  const base = environmentWith({ variables: { a: int } });
  const functions = [{ name: "size", overloads: [plain("size_int", [int], string)] }];
  const extended = base.extend({ libraries: [{ name: "more", functions }], variables: new Map([["a", string]]) });
  assert.equal(formatCheckIn(extended, "size(1)"), "string");
  assert.equal(formatCheckIn(extended, 'size("a")'), "int");
  assert.equal(formatCheckIn(extended, "a"), "string");
  assert.equal(formatCheckIn(base, "a"), "int");
  assert.match(formatCheckIn(base, "size(1)"), /no matching overload/);
});

test("references tell variables, loop variables, constants and all overloads that a call may mean", () => {
  const environment = new Environment({ variables: new Map([["a.b", dyn]]) }, environmentWith({}));
  const parsed = parse("[a.b].all(x, x < int(a.b) && optional.of(int).hasValue())");
  assert.ok("ast" in parsed);
  const checked = check(parsed.ast, environment);
  assert.ok("references" in checked);
  const tell = (reference: Reference): string => {
    if (reference.kind === "function") return `${reference.name}: ${reference.overloads.map(({ id }) => id).join(" ")}`;
    return reference.kind === "variable" && reference.isLoop
      ? `loop ${reference.name}`
      : `${reference.kind} ${reference.name}`;
  };
  const references = new Set([...checked.references.values()].map(tell));
  for (const expected of [
    "variable a.b",
    "loop x",
    "constant int",
    "optional.of: optional_of",
    "hasValue: optional_hasValue",
    "_<_: less_int64 less_uint64_int64 less_double_int64",
    "int: int64_to_int64 double_to_int64 duration_to_int64 string_to_int64 timestamp_to_int64 uint64_to_int64",
  ]) {
    assert.ok(references.has(expected), `${expected} is not in\n${[...references].join("\n")}`);
  }
});

test("hostile expressions cost no more than their length: types that double, deep types, large trees, thousands of findings", async () => {
  const tooComplex = /the types of the expression are too complex/;
  const doubling = ".map(x, {x: x})";
  await growsInProportion(30, (count) => assert.match(formatCheck(`[1]${doubling.repeat(count)}`), tooComplex));
  const deep = `.map(x, ${"[".repeat(150)}x${"]".repeat(150)})`;
  await growsInProportion(30, (count) => assert.match(formatCheck(`[1]${deep.repeat(count)}`), tooComplex));
  const list = (length: number, text: string): string => `[${Array.from({ length }, () => text).join(", ")}]`;
  const sum = Array.from({ length: 200 }, () => "1").join(" + ");
  await growsInProportion(30, (count) => assert.equal(formatCheck(list(count, sum)), "list(int)"));
  const unknown = (count: number): string => `${list(count, "z")} == 1`;
  assert.match(formatCheck(unknown(9000)), /8901 more errors were truncated$/);
  await growsInProportion(4500, (count) => assert.equal(messages(unknown(count)).length, 101));
});
