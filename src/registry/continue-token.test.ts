/** Continue tokens: encoded ones decode again; all others are refused with the messages of a 1.32 server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeContinue, encodeContinue } from "./continue-token.ts";

const tokenOf = (text: string): string => Buffer.from(text).toString("base64url");
const withStart = (start: string): string => tokenOf(JSON.stringify({ v: "meta.k8s.io/v1", rv: 1, start }));

void test("a token says where a list goes on, and at which revision [SEM-44]", () => {
  for (const token of [
    { revision: 7, start: "shop/a\0" },
    { revision: -1, start: "a.b\0" },
  ]) {
    assert.deepEqual(decodeContinue(encodeContinue(token)), token);
  }
  assert.deepEqual(decodeContinue(tokenOf('{"v":"meta.k8s.io/v1","rv":-2,"start":"/a","x":1}')), {
    revision: -1,
    start: "a",
  });
});

void test("what is no token is refused with the reason [SEM-44]", () => {
  const mismatch = "json: cannot unmarshal";
  const field = "into Go struct field continueToken";
  for (const [token, reason] of [
    ["abc", "invalid character 'i' looking for beginning of value"],
    ["a", "illegal base64 data at input byte 0"],
    ["abcde", "illegal base64 data at input byte 4"],
    ["e30=", "illegal base64 data at input byte 3"],
    ["ab cd", "illegal base64 data at input byte 2"],
    ["\0\xff", "illegal base64 data at input byte 0"],
    ["", "unexpected end of JSON input"],
    [tokenOf('{"v":'), "unexpected end of JSON input"],
    [tokenOf("{} x"), "invalid character 'x' after top-level value"],
    [tokenOf("[]"), `${mismatch} array into Go value of type storage.continueToken`],
    [tokenOf("3.5e999"), `${mismatch} number into Go value of type storage.continueToken`],
    [tokenOf("true"), `${mismatch} bool into Go value of type storage.continueToken`],
    [tokenOf("null"), "server does not recognize this encoded version "],
    [tokenOf('{"v":"v2"}'), "server does not recognize this encoded version v2"],
    [tokenOf('{"v":2}'), `${mismatch} number ${field}.v of type string`],
    [tokenOf('{"rv":"1"}'), `${mismatch} string ${field}.rv of type int64`],
    [tokenOf('{"rv":1.5}'), `${mismatch} number 1.5 ${field}.rv of type int64`],
    [tokenOf('{"rv":99999999999999999999}'), `${mismatch} number 99999999999999999999 ${field}.rv of type int64`],
    [tokenOf('{"start":{}}'), `${mismatch} object ${field}.start of type string`],
    [tokenOf('{"v":"meta.k8s.io/v1"}'), "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"],
    [tokenOf('{"v":"meta.k8s.io/v1","rv":3}'), "encoded start key empty (version meta.k8s.io/v1)"],
    [withStart("../"), "../"],
    [withStart("a/../b"), "a/../b"],
    [withStart("a/./b"), "a/./b"],
    [withStart("a//b"), "a//b"],
    [withStart("a/"), "a/"],
    [withStart(".."), ".."],
  ] as const) {
    assert.throws(() => decodeContinue(token), {
      message: `invalid continue token: continue key is not valid: ${reason}`,
    });
  }
});
