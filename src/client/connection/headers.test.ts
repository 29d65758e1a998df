/** Headers of answers. Those of requests are tested with a server, in `test/client/connection.test.ts`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { requestHeaders, retryAfterMs, warningsOf } from "./headers.ts";

test("warnings are read from one header and from several", () => {
  const first = '299 - "a \\"quoted\\" text"';
  const second = '299 server/1.0 "f\u00c3\u00bcr b, c" "Thu, 01 Jan 2026 00:00:00 GMT"';
  const both = ['a "quoted" text', "für b, c"];
  assert.deepEqual(warningsOf({ warning: `${first}, ${second}` }), both);
  assert.deepEqual(warningsOf({ warning: [first, second] }), both);
  assert.deepEqual(warningsOf({ warning: '199 - "other"' }), []);
  assert.deepEqual(warningsOf({}), []);
});

test("only whole seconds are a time to wait", () => {
  const cases = [
    ["1", 1000],
    ["0", 0],
    ["120", 120_000],
    ["1.5", undefined],
    ["-1", undefined],
    ["soon", undefined],
    ["", undefined],
  ] as const;
  for (const [text, expected] of cases) assert.equal(retryAfterMs({ "retry-after": text }), expected, text);
});

test("each value of a header is a line with a name of its own, and no two names are spelled the same", () => {
  const groups = Array.from({ length: 1000 }, (_, number) => `g${number}`);
  const impersonate = { user: "ann", groups, extra: { "a/B": ["1"], "a/b": ["2"] } };
  const sender = { userAgent: "x", impersonate, proxyAuthorization: undefined };
  const headers = requestHeaders({ method: "GET", path: "/" }, {}, sender, false);
  const names = headers.filter((_, index) => index % 2 === 0);
  assert.equal(new Set(names).size, names.length);
  const groupLines = names.filter((name) => name.toLowerCase() === "impersonate-group");
  assert.equal(groupLines.length, 1000);
  assert.equal(names.filter((name) => name.toLowerCase() === "impersonate-extra-a%2fb").length, 2);
});
