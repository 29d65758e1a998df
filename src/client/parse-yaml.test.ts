/** YAML as kubectl reads it, and its errors. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseYaml, YamlError } from "./parse-yaml.ts";

const cases: readonly [string, unknown][] = [
  ["", null],
  ["a: 1\na: 2", { a: 2 }],
  ["a: 1\n---\nb: 2", { a: 1 }],
  ["a: yes\nb: off\nc: y\nd: 'yes'", { a: true, b: false, c: true, d: "yes" }],
  ["a: 2020-01-01\nb: ~\nc: 0x10", { a: "2020-01-01", b: null, c: 16 }],
  ["a: &x {b: 1}\nc: {<<: *x, d: 2}", { a: { b: 1 }, c: { b: 1, d: 2 } }],
  ['{"a": [1, "b", null]}', { a: [1, "b", null] }],
];

for (const [text, value] of cases) {
  test(`the text ${JSON.stringify(text)} is read as kubectl reads it`, async () => {
    assert.deepEqual(JSON.parse(JSON.stringify(await parseYaml(text))), value);
  });
}

test("a whole number that JavaScript cannot represent stays as it is", async () => {
  assert.equal(
    JSON.stringify(await parseYaml("a: 12345678901234567890\nb: -9007199254740993")),
    '{"a":12345678901234567890,"b":-9007199254740993}',
  );
});

test("the error of a text that is not YAML names the line and quotes nothing", async () => {
  for (const text of ['a: 1\nb: "s3cret', "a: 1\n\ts3cret", "a: !s3 cret\nb: [s3cret", "a: s3cret: s3cret"]) {
    await assert.rejects(parseYaml(text), (error: Error) => {
      assert.ok(error instanceof YamlError);
      assert.match(error.message, /^line \d+: /);
      assert.doesNotMatch(error.message, /s3cret/);
      assert.equal(error.cause, undefined);
      return true;
    });
  }
});
