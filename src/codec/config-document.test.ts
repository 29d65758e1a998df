/** Tests that errors about configuration files name the path of the mistake. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ConfigError,
  durationValue,
  integerValue,
  listOf,
  readDocument,
  readSettings,
  struct,
} from "./config-document.ts";

const fields = { hooks: listOf(struct({ timeout: durationValue, retries: integerValue })) };
const refusal = (read: () => unknown): string => {
  let message = "";
  assert.throws(read, (error) => {
    assert(error instanceof ConfigError);
    message = error.message;
    return true;
  });
  return message;
};

test("settings are read without version and kind, and what is unknown is passed over", () => {
  assert.deepEqual(readSettings("hooks: [{timeout: 90s, other: 1}]", fields), { hooks: [{ timeout: "1m30s" }] });
});

test("a value that is wrong in itself is named by its path, like one of another type", () => {
  const wrong = [
    [{ timeout: "soon" }, 'hooks.timeout: time: invalid duration "soon"'],
    [{ timeout: 5 }, "json: cannot unmarshal number into Go struct field configuration.hooks.timeout of type string"],
    [{ retries: "5" }, "json: cannot unmarshal string into Go struct field configuration.hooks.retries of type int64"],
  ] as const;
  const kind = { kind: "Hooks", apiVersions: ["v1"], fields };
  for (const [hook, message] of wrong) {
    const hooks = [hook];
    assert.equal(
      refusal(() => readSettings(JSON.stringify({ hooks }), fields)),
      message,
    );
    assert.equal(
      refusal(() => readDocument(JSON.stringify({ apiVersion: "v1", kind: "Hooks", hooks }), kind)),
      message,
    );
  }
  assert.match(
    refusal(() => readSettings("hooks: [", fields)),
    /^yaml: /,
  );
});
