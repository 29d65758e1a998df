/** Compares base64 with the reference server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { base64Error, canonicalBase64 } from "./base64.ts";

/** Each row has an input, and the recorded answer or error. */
const recorded: readonly (readonly [string, string])[] = [
  ["==Z", "illegal base64 data at input byte 0"],
  ["aGVsbG8/\n=a=A _/", "illegal base64 data at input byte 9"],
  ["/+\n_Zz\nZ", "illegal base64 data at input byte 3"],
  ["", ""],
  ["/=! ", "illegal base64 data at input byte 1"],
  ["aGVsbG8+!-=/ ", "illegal base64 data at input byte 8"],
  ["aGVsbG8aAZ/z", "aGVsbG8aAZ/z"],
  ["+-\n_0+=_+=", "illegal base64 data at input byte 1"],
  ["+=z 9\n  A", "illegal base64 data at input byte 1"],
  ["aGVsbG8a9-a+ Z", "illegal base64 data at input byte 9"],
  ["-+_aA=", "illegal base64 data at input byte 0"],
  ["=", "illegal base64 data at input byte 0"],
  ["99Z _", "illegal base64 data at input byte 3"],
  ["_=+\n_=\n", "illegal base64 data at input byte 0"],
  ["aGVsbG8=0=9", "illegal base64 data at input byte 8"],
  ["aGVsbG8Z\n+\n!", "illegal base64 data at input byte 11"],
  ["zA", "illegal base64 data at input byte 0"],
  ["aGVsbG8 z   +=A", "illegal base64 data at input byte 7"],
  ["aGVsbG8Z", "aGVsbG8Z"],
  ["a9+\n+", "a9++"],
  ["\n", ""],
  ["aGVsbG8 =\n/Z\n+  Z", "illegal base64 data at input byte 7"],
  ["A9/=", "A98="],
  ["\n\n", ""],
  ["aGl=", "aGk="],
  ["aGk=\n", "aGk="],
  ["9=9=", "illegal base64 data at input byte 1"],
  ["9\n9=9!=-!", "illegal base64 data at input byte 3"],
];

test("bytes come back in the form Go writes, or with its error", () => {
  for (const [sent, answer] of recorded) assert.equal(canonicalBase64(sent) ?? base64Error(sent), answer, sent);
});
