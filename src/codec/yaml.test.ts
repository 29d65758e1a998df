/** YAML as upstream's library reads and writes it. The tables were recorded from the reference server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DecodeError } from "#schema/decode-error.ts";
import { decodeYaml, encodeYaml } from "./yaml.ts";

const head = "apiVersion: apps/v1\nkind: ControllerRevision\nmetadata:\n  name: a\nrevision: 1\n";

/**
 * A value as text after `data:\n  v: ` in line 7 of a body; the JSON of what was read, or null when it was refused;
 * the lines of double keys, or the error. Of keys that look like array indices JavaScript changes the order.
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

test("double keys are told by line, the last one wins [FV-10]", () => {
  const { value, duplicates } = decodeYaml(Buffer.from('data:\n  a: "1"\n  a: "2"\n  a:\n    b: 3\ndata2: {}\n'));
  assert.deepEqual(duplicates, ['line 3: key "a" already set in map', 'line 5: key "a" already set in map']);
  assert.deepEqual(value, { data: { a: { b: 3 } }, data2: {} });
});

test("only the first document counts, and an empty one is null", () => {
  const value = (text: string): unknown => decodeYaml(Buffer.from(text)).value;
  assert.deepEqual(value("a: 1\n---\n{broken"), { a: 1 });
  assert.deepEqual(value("%YAML 1.1\n---\na: 1\n...\n{broken"), { a: 1 });
  assert.deepEqual(value("# x\n---\na: 1\n"), { a: 1 });
  assert.deepEqual(value("\ufeffa: 1\n"), { a: 1 });
  for (const text of ["", "# x", "---", "---\n---\na: 1\n", "null", "  \n"]) assert.equal(value(text), null, text);
});

test("aliases that multiply, deep nesting and odd bytes are refused, quickly", () => {
  let bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (let i = 1; i < 12; i++)
    bomb += `a${i}: &a${i} [${Array(10)
      .fill(`*a${i - 1}`)
      .join(", ")}]\n`;
  const refused = (text: string | Uint8Array, message: RegExp) =>
    assert.throws(
      () => decodeYaml(Buffer.from(text)),
      (error) => error instanceof DecodeError && message.test(error.message),
    );
  const start = performance.now();
  refused(bomb, /^yaml: document contains excessive aliasing$/);
  refused("[".repeat(100_000), /^yaml: line 1: nesting/);
  refused("- ".repeat(100_000), /^yaml: line 1: nesting/);
  refused("a: \u0001", /^yaml: control characters are not allowed$/);
  refused(Buffer.from([0x61, 0x3a, 0x20, 0xff]), /^yaml: invalid leading UTF-8 octet$/);
  refused("a: b: c", /^yaml: line 1: /);
  assert.ok(performance.now() - start < 2000);
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

/** Values and what the reference server wrote for them. */
const written: readonly (readonly [unknown, string])[] = [
  ["a", "data:\n  v: a\n"],
  ["", 'data:\n  v: ""\n'],
  ["yes", 'data:\n  v: "yes"\n'],
  ["no", 'data:\n  v: "no"\n'],
  ["y", 'data:\n  v: "y"\n'],
  ["0755", 'data:\n  v: "0755"\n'],
  ["1_0", 'data:\n  v: "1_0"\n'],
  ["1:30", 'data:\n  v: "1:30"\n'],
  ["2020-01-01", 'data:\n  v: "2020-01-01"\n'],
  ["2020-01-01T00:00:00Z", 'data:\n  v: "2020-01-01T00:00:00Z"\n'],
  ["~", 'data:\n  v: "~"\n'],
  ["null", 'data:\n  v: "null"\n'],
  [" ", "data:\n  v: ' '\n"],
  ["#", "data:\n  v: '#'\n"],
  ["a #b", "data:\n  v: 'a #b'\n"],
  ["a: b", "data:\n  v: 'a: b'\n"],
  ["a:b", "data:\n  v: a:b\n"],
  [":", "data:\n  v: ':'\n"],
  ["-", "data:\n  v: '-'\n"],
  ["- a", "data:\n  v: '- a'\n"],
  ["---", "data:\n  v: '---'\n"],
  ["...", "data:\n  v: '...'\n"],
  ["?", "data:\n  v: '?'\n"],
  ["? a", "data:\n  v: '? a'\n"],
  ["\t", 'data:\n  v: "\\t"\n'],
  ["\n", "data:\n  v: |2+\n\n"],
  ["a\n", "data:\n  v: |\n    a\n"],
  ["a\nb", "data:\n  v: |-\n    a\n    b\n"],
  ["a\n\n", "data:\n  v: |+\n    a\n\n"],
  ["\na", "data:\n  v: |2-\n\n    a\n"],
  [" a\n", "data:\n  v: |2\n     a\n"],
  ["a \nb", 'data:\n  v: "a \\nb"\n'],
  ["a\n b\n", "data:\n  v: |\n    a\n     b\n"],
  ['"', "data:\n  v: '\"'\n"],
  ["'", "data:\n  v: ''''\n"],
  ["it's", "data:\n  v: it's\n"],
  ["\\", "data:\n  v: \\\n"],
  ["{", "data:\n  v: '{'\n"],
  ["}", "data:\n  v: '}'\n"],
  ["[", "data:\n  v: '['\n"],
  ["],", "data:\n  v: '],'\n"],
  ["&a", "data:\n  v: '&a'\n"],
  ["*a", "data:\n  v: '*a'\n"],
  ["!a", "data:\n  v: '!a'\n"],
  ["|", "data:\n  v: '|'\n"],
  [">", "data:\n  v: '>'\n"],
  ["%", "data:\n  v: '%'\n"],
  ["@", "data:\n  v: '@'\n"],
  ["`", "data:\n  v: '`'\n"],
  ["<<", "data:\n  v: <<\n"],
  ["=", "data:\n  v: =\n"],
  ["1e3", 'data:\n  v: "1e3"\n'],
  [".5", 'data:\n  v: ".5"\n'],
  ["0x1f", 'data:\n  v: "0x1f"\n'],
  ["0o7", 'data:\n  v: "0o7"\n'],
  ["+1", 'data:\n  v: "+1"\n'],
  ["-0", 'data:\n  v: "-0"\n'],
  [".inf", 'data:\n  v: ".inf"\n'],
  ["\u00e9", "data:\n  v: \u00e9\n"],
  ["\u2028", "data:\n  v: '\u2028'\n"],
  ["\ufeffa", 'data:\n  v: "\\uFEFF\\x61"\n'],
  ["\u0001", 'data:\n  v: "\\x01"\n'],
  [
    "word word word word word word word word word word word word word word word word word word word word word word word word word ",
    "data:\n  v: 'word word word word word word word word word word word word word word word word\n    word word word word word word word word word '\n",
  ],
  [
    "it's xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx y z",
    "data:\n  v: it's xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx y\n    z\n",
  ],
  [
    ": word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word ",
    "data:\n  v: ': word word word word word word word word word word word word word word word\n    word word word word word word word word word word word word word word word '\n",
  ],
  [
    '"a": b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b ',
    "data:\n  v: '\"a\": b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b b\n    b b b b b b b b b b b b b b b b b b b b b b b b '\n",
  ],
  [
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "data:\n  v: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
  ],
  ["a  b", "data:\n  v: a  b\n"],
  ["k: v\n", "data:\n  v: |\n    k: v\n"],
  [[], "data:\n  v: []\n"],
  [{}, "data:\n  v: {}\n"],
  [[[], {}], "data:\n  v:\n  - []\n  - {}\n"],
  [
    [["a", ["b"]], { a: ["b", { c: "d", e: "f" }] }],
    "data:\n  v:\n  - - a\n    - - b\n  - a:\n    - b\n    - c: d\n      e: f\n",
  ],
  [
    { a: { b: { c: [1, 2, [3]] } } },
    "data:\n  v:\n    a:\n      b:\n        c:\n        - 1\n        - 2\n        - - 3\n",
  ],
  [
    {
      kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk:
        "x",
      "multi\nline": "y",
      "a b": 1,
      "-": 2,
      yes: 3,
      "1": 4,
    },
    'data:\n  v:\n    \'-\': 2\n    "1": 4\n    a b: 1\n    ? kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\n    : x\n    ? |-\n      multi\n      line\n    : "y"\n    "yes": 3\n',
  ],
  [true, "data:\n  v: true\n"],
  [null, "data:\n  v: null\n"],
  [5, "data:\n  v: 5\n"],
  [-7, "data:\n  v: -7\n"],
  [1.5, "data:\n  v: 1.5\n"],
  [0.1, "data:\n  v: 0.1\n"],
  ["x\u2028y", "data:\n  v: 'x\u2028    y'\n"],
  ["tab\there", 'data:\n  v: "tab\\there"\n'],
  ["trail ", "data:\n  v: 'trail '\n"],
  [
    "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9 bbbbbbbbbbbbbbbbbbbb",
    "data:\n  v: \u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\n    bbbbbbbbbbbbbbbbbbbb\n",
  ],
];

test("values are written byte for byte as upstream does [MEDIA-02]", () => {
  for (const [value, text] of written) assert.equal(encodeYaml({ data: { v: value } }).toString(), text);
});

test("numbers keep their digits, keys their natural order", () => {
  const text = encodeYaml({ k10: 1, k9: 2, K: 1.5, "1": 1e21, a: 0.000001, b: -0, c: 1234567.5, d: 1e6, "": null });
  const lines = [
    '"": null',
    '"1": 1e+21',
    "K: 1.5",
    "a: 1e-06",
    "b: 0",
    "c: 1.2345675e+06",
    "d: 1000000",
    "k9: 2",
    "k10: 1",
  ];
  assert.equal(text.toString(), `${lines.join("\n")}\n`);
});

test("what is nested deeply is JSON on one line, and still the same value", () => {
  const nest = (depth: number): unknown => (depth === 0 ? { z: [1, "a: b"] } : { a: [nest(depth - 1)] });
  for (const depth of [10, 40, 400]) {
    const text = encodeYaml(nest(depth)).toString();
    assert.deepEqual(decodeYaml(Buffer.from(text)).value, nest(depth));
    assert.ok(text.length < 100 * (depth + 100));
  }
});
