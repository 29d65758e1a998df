/**
 * Tests decoding of JSON: limits, exact numbers, repaired Unicode, and error texts recorded from the reference server.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DecodeError } from "#schema/decode-error.ts";
import { countKeys } from "#schema/json-values.ts";
import { isRawNumber } from "#std/raw-number.ts";
import { escapeHtml } from "#std/escape-html.ts";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { decodeJson, encodePrettyJson } from "./json.ts";

const value = (text: string | Uint8Array): unknown => decodeJson(Buffer.from(text)).value;

const expectRefusal = (text: string | Uint8Array, message: string): void =>
  assert.throws(() => value(text), { name: "DecodeError", message }, String(text).slice(0, 40));

test("texts that are no JSON are refused in Go's words [ERR-02]", () => {
  const end = "unexpected end of JSON input";
  for (const text of ["", " ", "{", '{"a":1', '"x', '{"a":"x']) expectRefusal(text, end);
  expectRefusal("x", "invalid character 'x' looking for beginning of value");
  expectRefusal('{"a":1,}', "invalid character '}' looking for beginning of object key string");
  expectRefusal('{"a" 1}', "invalid character '1' after object key");
  expectRefusal('{"a":1} x', "invalid character 'x' after top-level value");
  expectRefusal('{"a":1}}', "invalid character '}' after top-level value");
  expectRefusal('{"a":"x\ty"}', "invalid character '\\t' in string literal");
  expectRefusal('{"a":"x\0y"}', "invalid character '\\x00' in string literal");
  expectRefusal('{"a":"\\x"}', "invalid character 'x' in string escape code");
  expectRefusal('{"a":"\\u12x"}', "invalid character 'x' in \\u hexadecimal character escape");
  expectRefusal('{"a":01}', "invalid character '1' after object key:value pair");
  expectRefusal('{"a":-}', "invalid character '}' in numeric literal");
  expectRefusal('{"a":1.}', "invalid character '}' after decimal point in numeric literal");
  expectRefusal('{"a":1e}', "invalid character '}' in exponent of numeric literal");
  expectRefusal('{"a":1e+}', "invalid character '}' in exponent of numeric literal");
  expectRefusal('{"a":tru}', "invalid character '}' in literal true (expecting 'e')");
  expectRefusal('{"a":nul', "invalid character ' ' in literal null (expecting 'l')");
  expectRefusal('{"a":[1,]}', "invalid character ']' looking for beginning of value");
  expectRefusal('{"a":[1 2]}', "invalid character '2' after array element");
  expectRefusal('{"a":NaN}', "invalid character 'N' looking for beginning of value");
  expectRefusal("{'a':1}", "invalid character '\\'' looking for beginning of object key string");
  expectRefusal("{a:1}", "invalid character 'a' looking for beginning of object key string");
  expectRefusal("\u00e9", "invalid character '\u00c3' looking for beginning of value");
  expectRefusal("\ufeff{}", "invalid character '\u00ef' looking for beginning of value");
  expectRefusal("\\", "invalid character '\\\\' looking for beginning of value");
});

test("nesting is bounded where Go bounds it", () => {
  assert.equal(countKeys(value('{"a":'.repeat(1000) + "1" + "}".repeat(1000))), 1000);
  assert.ok(Array.isArray(value("[".repeat(10_000) + "]".repeat(10_000))));
  expectRefusal("[".repeat(10_001) + "]".repeat(10_001), "invalid character '[' exceeded max depth");
  expectRefusal("[".repeat(3_000_000), "invalid character '[' exceeded max depth");
});

test("numbers that JavaScript would change keep their text", () => {
  const exact = (literal: string) => assert.equal(JSON.stringify(value(`{"a":[${literal}]}`)), `{"a":[${literal}]}`);
  for (const literal of [
    "9007199254740993",
    "-9223372036854775808",
    "12345678901234567890",
    "1.0",
    "1e3",
    "1e400",
    "-0",
  ]) {
    exact(literal);
    assert.ok(isRawNumber(value(literal)), literal);
  }
  for (const literal of ["0", "1", "-1", "1.5", "9007199254740992", "123456789012345"]) {
    exact(literal);
    assert.equal(typeof value(literal), "number", literal);
  }
});

test("bytes and escapes that are no Unicode become replacement characters, as in Go", () => {
  assert.equal(value(Buffer.from([0x22, 0x78, 0xff, 0x79, 0xe2, 0x82, 0x7a, 0x22])), "x\ufffdy\ufffd\ufffdz");
  assert.equal(value('"\\ud800"'), "\ufffd");
  assert.equal(value('"\\ud800x\\udc00"'), "\ufffdx\ufffd");
  assert.equal(value('"\\ud83d\\ude00 \\\\ud800"'), "\u{1f600} \\ud800");
  assert.equal(value('{"\\udc00":1}') !== undefined, true);
});

test("the number of keys is that of the text, doubles included", () => {
  const keys = (text: string): number => decodeJson(Buffer.from(text)).keys;
  assert.equal(keys('{"a":1,"a":{"b":[{"c":"x:y\\":"}]}}'), 4);
  assert.equal(keys('"a:b"'), 0);
  assert.equal(keys('{ "a" : { } , "b" : ":" }'), 2);
});

test("names of the language are ordinary keys", () => {
  const object = value('{"__proto__":{"a":1},"constructor":2,"x":1.0}') as Record<string, unknown>;
  assert.deepEqual(Object.keys(object), ["__proto__", "constructor", "x"]);
  assert.equal(Object.getPrototypeOf(object), Object.prototype);
  assert.equal(({} as { a?: unknown }).a, undefined);
});

test("characters that could end a script are escaped, as in Go", () => {
  assert.equal(escapeHtml(JSON.stringify({ a: "<b>&\u2028\u2029" })), '{"a":"\\u003cb\\u003e\\u0026\\u2028\\u2029"}');
  assert.equal(
    encodePrettyJson({ a: [1, { b: "<" }], c: {}, d: [] }).toString(),
    '{\n  "a": [\n    1,\n    {\n      "b": "\\u003c"\n    }\n  ],\n  "c": {},\n  "d": []\n}',
  );
});

test("hostile bodies of 3 MiB cost no more than their length", async () => {
  for (const piece of ['"', "\\", "1", "1.0,", "[1.0,", '{"a":', ":", "\u00ff", " ", "{}"]) {
    await growsInProportion(1.5 * 1024 * 1024, (size) => {
      try {
        decodeJson(Buffer.from(piece.repeat(size / piece.length)));
      } catch (error) {
        assert.ok(error instanceof DecodeError, String(error));
      }
    });
  }
});

test("deeply nested values are indented down to a level, and are on one line below it", async () => {
  const nest = (depth: number, value: unknown): unknown =>
    depth === 0 ? value : { a: [nest(depth - 1, value), ":{"] };
  for (const depth of [1, 31, 32, 33, 40, 100]) {
    const value = nest(depth, { 'b"': [], c: {}, d: [1, "x,<"] });
    const text = encodePrettyJson(value).toString();
    assert.deepEqual(JSON.parse(text), value);
    if (depth < 32) assert.equal(text, JSON.stringify(value, undefined, 2).replaceAll("<", "\\u003c"));
    const widest = Math.max(...text.split("\n").map((line) => line.length - line.trimStart().length));
    assert.ok(widest <= 128);
  }
  const wide = Array.from({ length: 5000 }, () => 1);
  assert.ok(encodePrettyJson(nest(3000, wide)).length < 1e6);
  await growsInProportion(1500, (depth) => encodePrettyJson(nest(depth, wide)));
});
