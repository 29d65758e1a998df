/**
 * Tests decoding of YAML against results of upstream's library (the table was recorded from the reference server), and
 * that this library would read our YAML.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CORE_SCHEMA, load, YAML11_SCHEMA } from "js-yaml";
import { DecodeError } from "#schema/decode-error.ts";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { decodeJson } from "./json.ts";
import { decodeYaml, encodeYaml } from "./yaml.ts";

const head = "apiVersion: apps/v1\nkind: ControllerRevision\nmetadata:\n  name: a\nrevision: 1\n";

/**
 * Each row has a value, as text after `data:
 * v: ` in line 7 of a body; the JSON of the decoded value, or null if it was refused; and the lines of duplicate keys,
 * or the error. JavaScript changes the order of keys that look like array indices.
 */
const recorded: readonly (readonly [string, string | null, readonly string[] | string])[] = [
  ["yes", "true", []],
  ["on", "true", []],
  ["y", "true", []],
  ["NO", "false", []],
  ["Off", "false", []],
  ["true", "true", []],
  ["TRUE", "true", []],
  ["tRUE", '"tRUE"', []],
  ["~", "null", []],
  ["Null", "null", []],
  ["", "null", []],
  ["0755", "493", []],
  ["0o755", "493", []],
  ["0O7", "7", []],
  ["0x1F", "31", []],
  ["0b11", "3", []],
  ["-0b11", "-3", []],
  ["+1", "1", []],
  ["-1", "-1", []],
  ["+0x1", "1", []],
  ["1_000", "1000", []],
  ["1__0", "10", []],
  ["_1", '"_1"', []],
  ["1_", "1", []],
  ["0_7", "7", []],
  ["08", "8", []],
  ["00", "0", []],
  ["12345678901234567890", "12345678901234567890", []],
  ["9007199254740993", "9007199254740993", []],
  ["18446744073709551616", "18446744073709552000", []],
  ["1.5", "1.5", []],
  ["1.", "1", []],
  [".5", "0.5", []],
  ["-.5", "-0.5", []],
  ["+.5", "0.5", []],
  ["1e3", "1000", []],
  ["1E3", "1000", []],
  ["1e+3", "1000", []],
  ["1e", '"1e"', []],
  ["1_0.5", "10.5", []],
  [".inf", null, "json: unsupported value: +Inf"],
  ["-.inf", null, "json: unsupported value: -Inf"],
  [".nan", null, "json: unsupported value: NaN"],
  ["1:30", '"1:30"', []],
  ["190:20:30", '"190:20:30"', []],
  ["2020-01-01", '"2020-01-01"', []],
  ["2001-12-14t21:59:43.10-05:00", '"2001-12-14t21:59:43.10-05:00"', []],
  ["0o8", '"0o8"', []],
  ["0x", '"0x"', []],
  ["1e400", '"1e400"', []],
  ["-0", "0", []],
  ["1.0", "1", []],
  ["1e21", "1e+21", []],
  ["0.0000001", "1e-7", []],
  ["<<", '"<<"', []],
  ["=", '"="', []],
  ["!!null x", null, "yaml: cannot decode !!str `x` as a !!null"],
  ["!!bool yes", "true", []],
  ["!!bool 5", null, "yaml: cannot decode !!int `5` as a !!bool"],
  ["!!int 1.5", null, "yaml: cannot decode !!float `1.5` as a !!int"],
  ["!!int 0x10", "16", []],
  ['!!int "5"', "5", []],
  ["!!float 5", "5", []],
  ["!!float x", null, "yaml: cannot decode !!str `x` as a !!float"],
  ["!!str", '""', []],
  ["!!str ~", '"~"', []],
  ['!!null ""', "null", []],
  ["! 5", '"5"', []],
  ["!x 5", '"5"', []],
  ["!!binary aGk=", '"hi"', []],
  ['!!binary "!"', null, "yaml: !!binary value contains invalid base64 data"],
  ["!!timestamp 2020-01-01", '"2020-01-01"', []],
  ["!!seq [a]", '["a"]', []],
  ["!!set {a, b}", '{"a":null,"b":null}', []],
  ['"5"', '"5"', []],
  ["'yes'", '"yes"', []],
  ["{a: 1, <<: {a: 2}}", '{"a":2}', ['line 7: key "a" already set in map']],
  ["{<<: {a: 2}, a: 1}", '{"a":1}', ['line 7: key "a" already set in map']],
  ["{a: 1, a: 2}", '{"a":2}', ['line 7: key "a" already set in map']],
  ["{<<: 5}", null, "yaml: map merge requires map or sequence of maps as the value"],
  ["{<<: [5]}", null, "yaml: map merge requires map or sequence of maps as the value"],
  ["{<<: [{a: 1},{a: 2}]}", '{"a":1}', ['line 7: key "a" already set in map']],
  ["{1: a, 1: b}", '{"1":"b"}', ["line 7: key 1 already set in map"]],
  ["{1.5: a, true: b, 0x10: c, 1e3: d}", '{"16":"c","1000":"d","1.5":"a","true":"b"}', []],
  ["{.inf: a}", '{".inf":"a"}', []],
  ["{a: , b}", '{"a":null,"b":null}', []],
  ["{? , b: c}", null, "unsupported map key of type: %!s(<nil>), key: <nil>, value: <nil>"],
  ["[a: b, c]", '[{"a":"b"},"c"]', []],
  ["{[1]: a}", null, "yaml: invalid map key: []interface {}{1}"],
  ["{? {a: b} : c}", null, 'yaml: invalid map key: map[interface {}]interface {}{"a":"b"}'],
  ["&a [*a]", null, "yaml: anchor 'a' value contains itself"],
  ["[&a x, *a]", '["x","x"]', []],
  ["{&a k: *a}", '{"k":"k"}', []],
  ["*x", null, "yaml: unknown anchor 'x' referenced"],
  ['"\\x01"', '"\\u0001"', []],
  ["{2020-01-01: x}", '{"2020-01-01":"x"}', []],
  ["{!!str 5: x}", '{"5":"x"}', []],
  ["{null: x}", null, 'unsupported map key of type: %!s(<nil>), key: <nil>, value: "x"'],
  ["a #b", '"a"', []],
  ["[]", "[]", []],
  ["{}", "{}", []],
  ["--- a", '"--- a"', []],
  ["{__proto__: {a: b}, constructor: c}", '{"__proto__":{"a":"b"},"constructor":"c"}', []],
  ['"a\\tb\\e\\u00e9\\U0001F600"', '"a\\tb\\u001b\u00e9\ud83d\ude00"', []],
  ["|\n    a\n     b\n\n    c\n", '"a\\n b\\n\\nc\\n"', []],
  [">\n    a\n    b\n\n    c\n", '"a b\\nc\\n"', []],
  ["|+\n    a\n\n", '"a\\n\\n\\n"', []],
  ["|-\n    a\n\n", '"a"', []],
  ["a\n    b\n\n    c", '"a b\\nc"', []],
  ["'it''s\n    on'", '"it\'s on"', []],
];

test("scalars, keys, tags and aliases mean what they mean upstream [MEDIA-03]", () => {
  for (const [text, json, more] of recorded) {
    const bytes = Buffer.from(`${head}data:\n  v: ${text}\n`);
    if (json === null) {
      assert.throws(() => decodeYaml(bytes), { name: "DecodeError", message: more as string }, text);
    } else {
      const { value, duplicates } = decodeYaml(bytes);
      assert.equal(JSON.stringify((value as { data: { v: unknown } }).data.v), json, text);
      assert.deepEqual(duplicates, more, text);
    }
  }
});

test("duplicate keys are reported by line, and the last one wins [FV-10]", () => {
  const { value, duplicates } = decodeYaml(Buffer.from('data:\n  a: "1"\n  a: "2"\n  a:\n    b: 3\ndata2: {}\n'));
  assert.deepEqual(duplicates, ['line 3: key "a" already set in map', 'line 5: key "a" already set in map']);
  assert.deepEqual(value, { data: { a: { b: 3 } }, data2: {} });
});

test("a text in another version of YAML than 1.1 is refused", () => {
  for (const version of ["1.0", "1.2", "1.3", "2.0"]) {
    const text = Buffer.from(`%YAML ${version}\n---\na: 1\n`);
    assert.throws(() => decodeYaml(text), { message: "yaml: found incompatible YAML document" }, version);
  }
});

test("only the first document counts, and an empty one is null", () => {
  const value = (text: string): unknown => decodeYaml(Buffer.from(text)).value;
  assert.deepEqual(value("a: 1\n---\n{broken"), { a: 1 });
  assert.deepEqual(value("%YAML 1.1\n---\na: 1\n...\n{broken"), { a: 1 });
  assert.deepEqual(value("# x\n---\na: 1\n"), { a: 1 });
  assert.deepEqual(value("\ufeffa: 1\n"), { a: 1 });
  for (const text of ["", "# x", "---", "---\n---\na: 1\n", "null", "  \n"]) assert.equal(value(text), null, text);
});

test("aliases that multiply, deep nesting and odd bytes are refused, at no more cost than their length", async () => {
  const bomb = (levels: number): string => {
    let text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (let i = 1; i < levels; i++)
      text += `a${i}: &a${i} [${Array(10)
        .fill(`*a${i - 1}`)
        .join(", ")}]\n`;
    return text;
  };
  const expectRefusal = (text: string | Uint8Array, message: RegExp) =>
    assert.throws(
      () => decodeYaml(Buffer.from(text)),
      (error) => error instanceof DecodeError && message.test(error.message),
    );
  await growsInProportion(7, (levels) => expectRefusal(bomb(levels), /^yaml: document contains excessive aliasing$/));
  await growsInProportion(50_000, (depth) => expectRefusal("[".repeat(depth), /^yaml: line 1: nesting/));
  await growsInProportion(50_000, (depth) => expectRefusal("- ".repeat(depth), /^yaml: line 1: nesting/));
  expectRefusal("a: \u0001", /^yaml: control characters are not allowed$/);
  expectRefusal(Buffer.from([0x61, 0x3a, 0x20, 0xff]), /^yaml: invalid leading UTF-8 octet$/);
  expectRefusal("a: b: c", /^yaml: line 1: /);
});

test("a few repeated parts are fine and shared", () => {
  const { value } = decodeYaml(Buffer.from("a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n"));
  assert.deepEqual(value, { a: { b: 1 }, c: { b: 1 }, d: { b: 1, e: 2 } });
});

test("names of the language are ordinary keys", () => {
  const { value } = decodeYaml(Buffer.from("__proto__: {a: b}\nconstructor: x\n"));
  assert.equal(JSON.stringify(value), '{"__proto__":{"a":"b"},"constructor":"x"}');
  assert.equal(encodeYaml(value).toString(), "__proto__:\n  a: b\nconstructor: x\n");
});

/**
 * Texts that some reader of YAML takes for another value unless they are quoted, or that are difficult in other ways.
 */
const texts: readonly string[] = [
  ["", "~", "null", "Null", "y", "Y", "yes", "n", "no", "NO", "on", "Off", "true", "FALSE"],
  ["0", "-0", "+1", "0755", "08", "0o17", "0O7", "-0o7", "0x1f", "0X1F", "0b11", "1_000", "12345678901234567890"],
  ["1e3", "1E+3", "1.5", ".5", "1.", "-.5", "1_0.5", ".inf", "-.INF", ".nan", "1e400"],
  ["1:30", "12:30:45", "190:20:30.15", "2001-01-01", "2001-1-1 1:00:00", "2001-12-14 21:59:43.10 -5"],
  ["<<", "=", "-", "- a", "---", "--- a", "...", "... a", "?", "? a", ":", ": a", "a: b", "a:", "a:b", "#", "a #b"],
  ["{", "}", "[", "],", "&a", "*a", "!a", "!!str a", "|", ">", "%", "@", "`", '"', "'", "''", "it's", "\\", "\\n"],
  [" ", "  a", "a ", "a  b", "\t", "a\tb", "\ta", "a\t", "\n", "\n\n", "a\n", "a\nb", "a\n\n", "\na", " a\n", "a \nb"],
  ["a\n b\n", "a\n\n\nb", "a\n  \nb\n", "k: v\n", "# a\n", "a\n---\nb\n", "a\r\nb\r\n", "a\rb", "a\n\tb"],
  [
    "\0",
    "\u0001",
    "\u001b",
    "\u007f",
    "\u0085",
    "a\u0085b",
    "\u00a0",
    "\u00e9",
    "\u2028",
    "\u2029",
    "\ufeffa",
    "\uffff",
  ],
  ["\u{1f600}", "__proto__", "word ".repeat(40), "word\n".repeat(40), "x".repeat(300), "yes ".repeat(40_000)],
  ["\u007f\n".repeat(100_000), "- \n".repeat(50_000)],
].flat();

test("every text is read again as the same text by readers of all versions [MEDIA-02]", () => {
  for (const text of texts) {
    const value = { data: { v: text, [text]: [text, [{ [text]: text, w: text }]] }, [text]: "last" };
    const yaml = encodeYaml(value);
    const same = (read: unknown, reader: string): void =>
      assert.equal(toSortedJson(read), toSortedJson(value), `${reader}: ${yaml.subarray(0, 1000).toString()}`);
    same(decodeYaml(yaml).value, "ours");
    assert.deepEqual(decodeYaml(yaml).duplicates, []);
    same(load(yaml.toString(), { schema: CORE_SCHEMA }), "YAML 1.2");
    same(load(yaml.toString(), { schema: YAML11_SCHEMA }), "YAML 1.1");
  }
});

test("other values are read again as the same", () => {
  const scalars = [null, true, false, 0, 5, -7, 1.5, 0.1, 1e21, 5e-7, 2 ** 53];
  const collections = [[], {}, [[], {}], [[[]]], [{}, [{ a: {} }]], [["a", ["b"]], { a: ["b", { c: "d", e: "f" }] }]];
  const values = [...scalars, ...collections, { a: { b: { c: [1, 2, [3]] } } }];
  for (const value of values) {
    for (const whole of [value, [value], { v: value, w: [value] }]) {
      const text = encodeYaml(whole).toString();
      assert.equal(JSON.stringify(decodeYaml(Buffer.from(text)).value), JSON.stringify(whole), text);
    }
  }
});

test("numbers that JavaScript would change are written as they came", () => {
  const { value } = decodeJson(Buffer.from('{"a":[9007199254740993,18446744073709551615,0.10]}'));
  const text = encodeYaml(value).toString();
  assert.match(text, /- 9007199254740993\n- 18446744073709551615\n/u);
  assert.equal(
    JSON.stringify(decodeYaml(Buffer.from(text)).value),
    '{"a":[9007199254740993,18446744073709551615,0.1]}',
  );
});

test("the text is easy to read: block style, lines as lines, few quotes", () => {
  const text = encodeYaml({
    kind: "ConfigMap",
    data: { "a.conf": "x = 1\n  y = 2\n", b: "it's: so", c: "plain words", d: "1.5" },
    list: [{ name: "a", args: ["--b", "c"] }, []],
  });
  const lines = [
    ["data:", "  a.conf: |", "    x = 1", "      y = 2", '  b: "it\'s: so"', "  c: plain words", '  d: "1.5"'],
    ["kind: ConfigMap", "list:", "- args:", "  - --b", "  - c", "  name: a", "- []"],
  ].flat();
  assert.equal(text.toString(), `${lines.join("\n")}\n`);
});

/** Items of a list are encoded one by one. */
test("pieces of a list, one after the other, are the list", () => {
  const items = texts.map((text) => ({ [`k${text}`]: { v: text } }));
  const text = `items:\n${items.map((item) => encodeYaml([item]).toString()).join("")}`;
  assert.deepEqual(decodeYaml(Buffer.from(text)).value, { items });
});

test("keys stand in their natural order", () => {
  const text = encodeYaml({ k10: 1, k9: 2, K: 3, "1": 4, a: 5, "": 6 }).toString();
  assert.equal(text, '"": 6\n"1": 4\nK: 3\na: 5\nk9: 2\nk10: 1\n');
});

test("deeply nested values are JSON on one line, and still the same value", () => {
  const nest = (depth: number): unknown =>
    depth === 0 ? { z: [1, "a: b", "\u007f\u2028"] } : { a: [nest(depth - 1)] };
  for (const depth of [10, 31, 32, 33, 40, 400]) {
    const text = encodeYaml(nest(depth)).toString();
    assert.deepEqual(decodeYaml(Buffer.from(text)).value, nest(depth));
    assert.ok(text.length < 100 * (depth + 100));
  }
});

function toSortedJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) =>
    typeof item === "object" && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}
