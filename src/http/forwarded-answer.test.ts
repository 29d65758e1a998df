/** Tests of the headers that keep pages of other servers apart from the console. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ForwardedAnswer } from "#egress/forwarding.ts";
import { isolation } from "./forwarded-answer.ts";

const answer = (headers: ForwardedAnswer["headers"]): ForwardedAnswer => ({
  code: 200,
  headers,
  body: (async function* () {})(),
  destroy: () => undefined,
});

test("answers of the API stay as they are", () => {
  for (const type of [
    "application/json",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf",
    "text/plain; charset=utf-8",
  ]) {
    assert.deepEqual(isolation(answer({ "content-type": [type] })), {}, type);
  }
});

test("whatever a browser could show as a page gets an origin of its own, beside the rules of its server", () => {
  for (const type of [
    "text/html",
    "image/svg+xml",
    "application/xhtml+xml",
    "text/xml",
    "application/jsonx",
    "TEXT/HTML;a=application/json",
    "application/json;,text/html",
    "text/plain;,image/svg+xml",
    "",
  ]) {
    const headers = isolation(answer(type === "" ? {} : { "content-type": [type] }));
    assert.match(headers["content-security-policy"] ?? "", /^sandbox (?!.*allow-same-origin)/, type);
    assert.strictEqual(headers["cross-origin-opener-policy"], "unsafe-none");
  }
  const twice = answer({ "content-type": ["application/json", "text/html"] });
  assert.match(isolation(twice)["content-security-policy"]!, /^sandbox /, "a browser takes the last of several types");
  const own = answer({ "content-type": ["text/html"], "content-security-policy": ["default-src 'self'"] });
  assert.match(isolation(own)["content-security-policy"]!, /^default-src 'self', sandbox /);
});
