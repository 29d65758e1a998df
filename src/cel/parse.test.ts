/** Tests syntax, macros, positions and texts of errors, and limits. The texts were recorded from a 1.32 server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { growsInProportion } from "#std/growth-for-tests.ts";
import type { Expression } from "./ast.ts";
import { debugString } from "./debug-string-for-tests.ts";
import { showIssues } from "./issues.ts";
import { type ParseOptions, parse } from "./parse.ts";
import { Double, Uint } from "./values.ts";

function tree(source: string, options?: ParseOptions): Expression {
  const result = parse(source, options);
  assert.ok("ast" in result, "issues" in result ? showIssues(source, result.issues) : "");
  return result.ast;
}

/** Returns the tree in one line, so that examples are short. */
function line(source: string, options?: ParseOptions): string {
  return debugString(tree(source, options), () => "")
    .replaceAll(/\n *\/\/ (\w+)\n */g, " $1: ")
    .replaceAll(/\n */g, "");
}

function value(source: string): unknown {
  const actual = tree(source);
  assert.equal(actual.kind, "constant");
  return actual.kind === "constant" ? actual.value : undefined;
}

function text(source: string, options?: ParseOptions): string {
  const result = parse(source, options);
  return "issues" in result ? showIssues(source, result.issues) : "no issues";
}

/** Returns the texts of issues without the source below them. */
const messages = (source: string, options?: ParseOptions): string[] =>
  text(source, options)
    .split("\n")
    .filter((row) => row.startsWith("ERROR: "))
    .map((row) => row.slice("ERROR: <input>:".length));

const start =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

test("operators bind by their precedence, to the left; the conditional to the right", () => {
  assert.equal(line("a + b * c - d"), "_-_(_+_(a,_*_(b,c)),d)");
  assert.equal(line("a || b && c == d in e"), "_||_(a,_&&_(b,@in(_==_(c,d),e)))");
  assert.equal(line("a ? b : c ? d : e"), "_?_:_(a,b,_?_:_(c,d,e))");
  assert.equal(line("-a.b + -(-1) - -2"), "_-_(_+_(-_(a.b),-_(-1)),-2)");
  assert.equal(line("!!a && !b && --c"), "_&&_(_&&_(a,!_(b)),c)");
});

test("long chains of and and or become balanced trees", () => {
  assert.equal(line("a || b || c || d"), "_||_(_||_(a,b),_||_(c,d))");
  assert.ok("ast" in parse(Array.from({ length: 5000 }, () => "a").join(" && ")));
});

test("optional syntax becomes calls and marks", () => {
  assert.equal(line("a.?b[?c].d"), '_[?_](_?._(a,"b"),c).d');
  assert.equal(line("[?a, b, {?c: d}, E.f{?g: h}, .i.j]"), "[a,b,{?c:d},E.f{?g:h},.i.j]");
  const list = tree("[?a, b, ?c]");
  assert.deepEqual(list.kind === "list" && list.optional, [0, 2]);
});

test("numbers are exact, and wider than 64 bits they are refused", () => {
  assert.equal(value("-0"), 0);
  assert.equal(value("9007199254740993"), 9007199254740993n);
  assert.equal(value("-9223372036854775808"), -(2n ** 63n));
  assert.equal(value("-0x10"), -16);
  assert.deepEqual(value("18446744073709551615u"), new Uint(2n ** 64n - 1n));
  assert.deepEqual(value("0xFFu"), new Uint(255n));
  assert.deepEqual([value(".5e+1"), value("-1.5")], [new Double(5), new Double(-1.5)]);
  assert.deepEqual(messages("9223372036854775808"), ["1:1: invalid int literal"]);
  assert.deepEqual(messages("1 + -0x8000000000000001"), ["1:5: invalid int literal"]);
  assert.deepEqual(messages("18446744073709551616u"), ["1:1: invalid uint literal"]);
  assert.deepEqual(messages("-1e400"), ["1:1: invalid double literal"]);
});

test("strings have escapes unless they are raw, and may span lines in triple quotes", () => {
  assert.equal(value(String.raw`"\a\b\f\n\r\t\v\"\'\\\?\x41\u00e9\U0001F601\101"`), "\x07\b\f\n\r\t\v\"'\\?Aé😁A");
  assert.equal(value(String.raw`r'\n' `), "\\n");
  assert.equal(value('"""a"b""c\n"""'), 'a"b""c\n');
  assert.equal(value(String.raw`'\ud800'`), "\ufffd");
  assert.deepEqual(messages(String.raw`'\U00110000'`), ["1:1: unable to unescape string"]);
  assert.deepEqual(messages(String.raw`b'\u0041'`), ["1:1: unable to unescape string"]);
});

test("bytes are UTF-8 of their text, and escapes are single bytes", () => {
  assert.deepEqual(value(String.raw`b'é\xff\101'`), Uint8Array.of(0xc3, 0xa9, 0xff, 0x41));
  assert.deepEqual(value(String.raw`BR"""\x"""`), Uint8Array.of(0x5c, 0x78));
});

test("comments and white space are left out", () => {
  assert.equal(line("a // b\n\t+\f\r\n c//"), "_+_(a,c)");
});

test("macros of one variable become loops", () => {
  const loop = (init: string, condition: string, step: string, result = "__result__"): string =>
    "__comprehension__(Variable:x,Target:m,Accumulator:__result__," +
    `Init:${init},LoopCondition:${condition},LoopStep:${step},Result:${result})`;
  const plain = (source: string): string => line(source).replaceAll(" ", "");
  assert.equal(plain("m.all(x, p)"), loop("true", "@not_strictly_false(__result__)", "_&&_(__result__,p)"));
  assert.equal(plain("m.exists(x, p)"), loop("false", "@not_strictly_false(!_(__result__))", "_||_(__result__,p)"));
  const counted = "_?_:_(p,_+_(__result__,1),__result__)";
  assert.equal(plain("m.exists_one(x, p)"), loop("0", "true", counted, "_==_(__result__,1)"));
  assert.equal(plain("m.map(x, p)"), loop("[]", "true", "_+_(__result__,[p])"));
  assert.equal(plain("m.map(x, p, q)"), loop("[]", "true", "_?_:_(p,_+_(__result__,[q]),__result__)"));
  assert.equal(plain("m.filter(x, p)"), loop("[]", "true", "_?_:_(p,_+_(__result__,[x]),__result__)"));
  assert.equal(line("has(a.b.c)"), "a.b.c~test-only~");
  assert.equal(line("m.existsOne(x, p)"), "m.existsOne(x,p)", "only with two variables");
});

test("macros of two variables are there only where asked for", () => {
  assert.equal(line("m.all(i, v, p)"), "m.all(i,v,p)");
  for (const macro of [
    "all",
    "exists",
    "existsOne",
    "exists_one",
    "transformList",
    "transformMap",
    "transformMapEntry",
  ]) {
    const loop = tree(`m.${macro}(i, v, p)`, { hasTwoVariables: true });
    assert.ok(loop.kind === "comprehension" && loop.variable === "i" && loop.variable2 === "v", macro);
  }
  const filtered = line("m.transformMap(i, v, p, q)", { hasTwoVariables: true });
  assert.match(filtered, /_\?_:_\(p,cel\.@mapInsert\(__result__,i,q\),__result__\)/);
  const wrong = (source: string): string[] => messages(source, { hasTwoVariables: true });
  assert.deepEqual(wrong("m.all(i, 1, p)"), ["1:10: argument must be a simple name"]);
  assert.deepEqual(wrong("m.all(i, i, p)"), ["1:10: duplicate variable name: i"]);
});

test("optMap and optFlatMap take the value where there is one", () => {
  const bound =
    "__comprehension__(Variable:#unused,Target:[],Accumulator:v," +
    "Init:o.value(),LoopCondition:false,LoopStep:v,Result:f(v))";
  const expand = (inner: string): string => `_?_:_(o.hasValue(),${inner},optional.none())`;
  const plain = (source: string): string => line(source).replaceAll(" ", "");
  assert.equal(plain("o.optMap(v, f(v))"), expand(`optional.of(${bound})`));
  assert.equal(plain("o.optFlatMap(v, f(v))"), expand(bound));
});

test("wrong arguments of macros are issues at the argument", () => {
  assert.deepEqual(messages("has(a)"), ["1:5: invalid argument to has() macro"]);
  assert.deepEqual(messages("a.map(b.c, d)"), ["1:8: argument is not an identifier"]);
  assert.deepEqual(messages("a.all(1, d)"), ["1:7: argument must be a simple name"]);
  assert.deepEqual(messages("a.optMap(1, d)"), ["1:10: optMap() variable name must be a simple identifier"]);
});

test("offsets are code points: operators' own, calls' parentheses, fields' dots", () => {
  const offsetOf = (source: string): number => tree(source).offset;
  assert.equal(offsetOf("a.b"), 1);
  assert.equal(offsetOf("a .b(c)"), 4);
  assert.equal(offsetOf("f(c)"), 1);
  assert.equal(offsetOf("a[0]"), 1);
  assert.equal(offsetOf("a + b"), 2);
  assert.equal(offsetOf("a ? b : c"), 2);
  assert.equal(offsetOf("T{a: b}"), 1);
  assert.equal(offsetOf(" [a]"), 1);
  assert.equal(offsetOf("'😀' + '😀'"), 4);
  assert.equal(offsetOf(".a"), 1);
});

test("syntax errors are shown with the line and a mark, wide characters with wide dots", () => {
  assert.equal(
    text("1 + "),
    `ERROR: <input>:1:5: Syntax error: mismatched input '<EOF>' expecting ${start}\n | 1 + \n | ....^`,
  );
  assert.equal(
    text("a\n\t&& é"),
    "ERROR: <input>:2:5: Syntax error: token recognition error at: 'é'\n |  && é\n | ....＾\n" +
      `ERROR: <input>:2:6: Syntax error: mismatched input '<EOF>' expecting ${start}\n |  && é\n | ....．^`,
  );
  assert.equal(text("😀 a b").split("\n").at(-1), " | ．...^");
});

test("one wrong or missing token is named, and the rest is read on", () => {
  assert.deepEqual(messages("f(a"), ["1:4: Syntax error: missing ')' at '<EOF>'"]);
  assert.deepEqual(messages("a b"), ["1:3: Syntax error: extraneous input 'b' expecting <EOF>"]);
  assert.deepEqual(messages("[1, ) + as"), [
    "1:5: Syntax error: mismatched input ')' expecting ']'",
    "1:9: reserved identifier: as",
  ]);
  assert.deepEqual(messages('{"a": 1}."a"'), [`1:10: Syntax error: no viable alternative at input '."a"'`]);
  assert.deepEqual(messages("self.true == 1"), ["1:6: Syntax error: mismatched input 'true' expecting IDENTIFIER"]);
  assert.deepEqual(messages("!)"), [`1:2: Syntax error: extraneous input ')' expecting ${start}`]);
  assert.deepEqual(messages("self.map(var, 1"), [
    "1:10: reserved identifier: var",
    "1:10: argument is not an identifier",
    "1:16: Syntax error: missing ')' at '<EOF>'",
  ]);
});

test("characters that are no token are shown up to the one that does not fit", () => {
  assert.deepEqual(messages("a & b"), [
    "1:3: Syntax error: token recognition error at: '& '",
    "1:5: Syntax error: extraneous input 'b' expecting <EOF>",
  ]);
  assert.match(text(String.raw`'a\q'`), /token recognition error at: ''a\\q'\n/);
  assert.match(text("'abc"), /token recognition error at: ''abc'\n/);
  assert.match(text("a.`b-c`"), /^ERROR: <input>:1:3: Syntax error: token recognition error at: '`'\n/);
});

test("reserved words are no names, but may be fields and methods", () => {
  assert.deepEqual(messages("as + for(as)"), ["1:1: reserved identifier: as", "1:6: reserved identifier: for"]);
  assert.equal(line("a.as.package(b)"), "a.as.package(b)");
});

test("nesting ends at 250 levels, of parentheses and of operators", () => {
  const nest = (open: string, close: string, depth: number) => `${open.repeat(depth)}a${close.repeat(depth)}`;
  for (const [open, close] of [
    ["(", ")"],
    ["[", "]"],
    ["f(", ")"],
    ["{1: ", "}"],
    ["a[", "]"],
    ["-(", ")"],
  ] as const) {
    assert.equal(text(nest(open, close, 249)), "no issues", open);
    const limit = "ERROR: <input>:-1:0: expression recursion limit exceeded: 250";
    assert.equal(text(nest(open, close, 250)), limit, open);
    assert.equal(text(open.repeat(20_000)), limit, open);
  }
  for (const more of [".b", "[0]", ".b()", " + a", " < a", " * a"]) {
    assert.equal(text(`a${more.repeat(250)}`), "no issues", more);
    assert.equal(text(`a${more.repeat(251)}`), "ERROR: <input>:-1:0: max recursion depth exceeded", more);
    assert.equal(text(`a${more.repeat(15_000)}`), "ERROR: <input>:-1:0: max recursion depth exceeded", more);
  }
  assert.equal(text(`${"!".repeat(50_000)}a`), "no issues");
});

test("sources end at 100,000 code points", () => {
  assert.equal(text(`'${"😀".repeat(99_998)}'`), "no issues");
  const message = "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000";
  assert.equal(text(`'${"a".repeat(99_999)}'`), message);
});

test("issues end at 100, recoveries at 30 and skipped tokens at 256", () => {
  const many = messages("as + ".repeat(120) + "a");
  assert.equal(many.length, 100);
  assert.equal(
    text("as + ".repeat(120) + "a")
      .split("\n")
      .at(-1),
    "20 more errors were truncated",
  );
  assert.equal(text("$ ".repeat(200)).split("\n").at(-1), "1 more errors were truncated");
  assert.match(text(`[${"(+),".repeat(40)}1]`), /Syntax error: error recovery attempt limit exceeded: 30/);
  assert.match(
    text(`f(a ${"a ".repeat(300)})`),
    /^ERROR: <input>:-1:0: error recovery token lookahead limit exceeded: 256/,
  );
});

test("hostile sources cost no more than their length, up to the full size", async () => {
  const wrap =
    (before: string, part: string, after = "") =>
    (count: number): string =>
      `${before}${part.repeat(count)}${after}`;
  const sources: readonly [half: number, source: (count: number) => string][] = [
    [5000, wrap("", '"""\\"""\\q')],
    [15_000, wrap("b", "'''")],
    [9500, wrap("", '"""\\"')],
    [12_000, wrap("", "'''a")],
    [24_999, wrap("", "a.")],
    [50_000, wrap("", "-")],
    [50_000, wrap("", "$")],
    [25_000, wrap("", "f(")],
    [25_000, wrap("", "a?")],
    [16_500, wrap("", "{a:")],
    [24_500, wrap("[", "1 ", "]")],
    [16_500, wrap("", "a||", "a")],
    [3500, wrap("o", ".optMap(v, v)")],
    [12, wrap("o", ".optMap(v, v)")],
    [4500, wrap("o", ".all(v, v)")],
    [50_000, wrap("", "9")],
  ];
  for (const [half, source] of sources) await growsInProportion(half, (count) => text(source(count)));
});

test("a target that optMap would repeat too often is an issue", () => {
  assert.match(text(`o${".optMap(v, v)".repeat(24)}`), /optMap\(\) is nested too deeply/);
  assert.equal(text(`o${".optMap(v, v)".repeat(7)}`), "no issues");
});
