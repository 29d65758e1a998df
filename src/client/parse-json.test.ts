/** JSON whose numbers are larger than those of JavaScript. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseExactJson } from "./parse-json.ts";

void test("whole numbers beyond 2^53 are written as they were read, and all else is read as usual", () => {
  const text = '{"a":[9007199254740993,-12345678901234567890,1],"b":"9007199254740993","c":1.5,"d":9007199254740991}';
  const value = parseExactJson(text) as { readonly a: readonly unknown[] };
  assert.equal(JSON.stringify(value), text);
  assert.deepEqual(value.a[0], { rawJSON: "9007199254740993", __proto__: null });
  assert.deepEqual({ ...value, a: value.a[2] }, { a: 1, b: "9007199254740993", c: 1.5, d: 9007199254740991 });
  assert.throws(() => parseExactJson('{"a":9007199254740993'), SyntaxError);
});
