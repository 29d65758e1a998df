/** Texts that would control a terminal. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { oneLine, printable } from "./printable.ts";
import { StartError } from "./start-error.ts";

void test("control characters are marks, and everything else stays", () => {
  assert.equal(printable("a\u001b[31mb\u009bc\tü\u{1f6a2}"), "a?[31mb?c?ü\u{1f6a2}");
  assert.equal(printable("a\nb"), "a?b");
  assert.equal(printable("a\u202eb\u2066c"), "a?b?c");
});

void test("a message of several lines is one line", () => {
  assert.equal(oneLine("one \r\n  two\n\nthree\u001b]0;x\u0007"), "one two three?]0;x?");
});

void test("the error of a command shows nothing of a server's answer that controls a terminal", () => {
  assert.equal(new StartError("the server says: \u001b[2J\nno").message, "the server says: ?[2J no");
});
