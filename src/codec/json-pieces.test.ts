/** Tests long JSON texts: they are decoded in pieces with the same result, and refused when invalid. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { DecodeError } from "#schema/decode-error.ts";
import { runToEnd } from "#std/cooperative.ts";
import { decodeJson } from "./json.ts";
import { decodeInPieces } from "./json-pieces.ts";

const decode = (bytes: Buffer): unknown => decodeJson(bytes).value;
const inPieces = (text: string): unknown => runToEnd(decodeInPieces(Buffer.from(text), decode));

const long = "x".repeat(70_000);

test("short texts, long scalars and long parts are what they say", () => {
  for (const text of [
    "1",
    '{"a":[1,2]}',
    JSON.stringify(long),
    JSON.stringify({ a: long, b: { c: [long, 1, { d: long }], e: {} }, f: null }),
    JSON.stringify([[[long]], [], long]),
    `[${" ".repeat(70_000)}]`,
    `  {"a" : [ ${JSON.stringify(long)} ] , "b" : 9007199254740993 }  `,
    `{"__proto__":[${JSON.stringify(long)}],"a":1}`,
  ]) {
    assert.deepEqual(inPieces(text), decode(Buffer.from(text)));
  }
});

test("no piece decodes much at once", () => {
  const bytes = Buffer.from(`{"a":{"b":[${"{},".repeat(500_000)}{}]}}`);
  let longest = 0;
  let pauses = 0;
  const pieces = decodeInPieces(bytes, (text) => {
    longest = Math.max(longest, text.length);
    return decode(text);
  });
  for (let next = pieces.next(); next.done !== true; next = pieces.next()) pauses++;
  assert.ok(longest < 80_000, String(longest));
  assert.ok(pauses > 20, String(pauses));
});

test("missing or extra tokens between long parts are refused", () => {
  const part = `[${JSON.stringify(long)}]`;
  for (const text of [
    `[${part} ${part}]`,
    `[${part},]`,
    `[,${part}]`,
    `[1 ${part}]`,
    `[${part}1]`,
    `[${part}`,
    `${part}]`,
    `${part} 1`,
    `[${part}}`,
    `{${part}}`,
    `{"a"${part}}`,
    `{"a":1${part}}`,
    `{"a":-${part}}`,
    `{"a":${part}"b":1}`,
    `{"a":${part},}`,
    `["${part}`,
    "[".repeat(100_000),
    `${"[".repeat(100_000)}${"]".repeat(100_000)}`,
  ]) {
    assert.throws(() => inPieces(text), DecodeError, text.slice(0, 20));
  }
});
