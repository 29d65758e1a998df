/** Texts of findings: how values are shown. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { aggregate, goQuote, goStruct, GoSyntax, goTexts, goTime } from "./field-error.ts";

const named = new Map(Object.entries({ '"': '\\"', "\\": "\\\\", "\x07": "\\a", "\b": "\\b", "\f": "\\f" }))
  .set("\n", "\\n")
  .set("\r", "\\r")
  .set("\t", "\\t")
  .set("\v", "\\v");
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** Returns a character as Go writes it, by the plainest form of the rule. */
function quote(char: string): string {
  const code = char.codePointAt(0)!;
  const known = named.get(char);
  if (known !== undefined || printable.test(char)) return known ?? char;
  const hex = code.toString(16);
  if (code < 0x20 || code === 0x7f) return `\\x${hex.padStart(2, "0")}`;
  return code > 0xffff ? `\\U${hex.padStart(8, "0")}` : `\\u${hex.padStart(4, "0")}`;
}

test("texts are quoted as Go quotes them, character by character, halves of pairs too", () => {
  for (let code = 0; code <= 0x10_ffff; code += code < 0x3000 || (code >= 0xd7f0 && code < 0x1_0010) ? 1 : 61) {
    const char = String.fromCodePoint(code);
    assert.equal(goQuote(char), `"${quote(char)}"`, code.toString(16));
    assert.equal(goQuote(`é${char}a`), `"é${quote(char)}a"`, code.toString(16));
  }
  assert.equal(goQuote('a"\ud83d\n\u{1f600}\ude00\u{e0001}'), String.raw`"a\"\ud83d\n😀\ude00\U000e0001"`);
});

test("lists and structs are shown as Go writes them", () => {
  assert.equal(goTexts(["a", '"']).text, String.raw`[]string{"a", "\""}`);
  assert.equal(goTexts([], "core.Scope").text, "[]core.Scope{}");
  for (const none of [null, undefined]) assert.equal(goTexts(none, "core.Scope").text, "[]core.Scope(nil)");
  const fields = { Name: "a\n", Keys: goTexts(["k"]), Seconds: new GoSyntax("(*int64)(nil)") };
  assert.equal(
    goStruct("core.Thing", fields).text,
    String.raw`core.Thing{Name:"a\n", Keys:[]string{"k"}, Seconds:(*int64)(nil)}`,
  );
});

test("times are shown as Go writes them, and a long fraction at the cost of its length", async () => {
  const formatTime = (fraction: string): string => goTime(`2020-01-02T03:04:05${fraction}Z`).text;
  assert.deepEqual(
    ["", ".500", ".000", ".1002"].map(formatTime),
    ["", ".5", "", ".1002"].map((end) => `2020-01-02 03:04:05${end} +0000 UTC`),
  );
  assert.equal(goTime(null).text, "0001-01-01 00:00:00 +0000 UTC");
  await growsInProportion(60_000, (length) => formatTime(`.${"0".repeat(length)}1`));
});

test("texts of errors are put together, each once", () => {
  assert.equal(aggregate([]), "");
  assert.equal(aggregate(["a", "a"]), "a");
  assert.equal(aggregate(["a", "b", "a"]), "[a, b]");
});
