/** Differences by lines. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { lineDiff } from "./line-diff.ts";

const lines = (...texts: string[]): string => texts.map((text) => `${text}\n`).join("");

test("equal texts have no difference", () => {
  assert.equal(lineDiff("a\n", "a\n"), "");
});

test("a changed line stands between three lines of context", () => {
  const before = lines("1", "2", "3", "4", "5", "6", "7", "8", "9");
  const after = lines("1", "2", "3", "4", "five", "6", "7", "8", "9");
  assert.equal(lineDiff(before, after), lines("@@ -2,7 +2,7 @@", " 2", " 3", " 4", "-5", "+five", " 6", " 7", " 8"));
});

test("a new text is all additions, and distant changes are hunks of their own", () => {
  assert.equal(lineDiff("", lines("a", "b")), lines("@@ -0,0 +1,2 @@", "+a", "+b"));
  const numbers = Array.from({ length: 20 }, (_, i) => String(i));
  const text = lineDiff(lines(...numbers), lines("new", ...numbers.slice(0, 19)));
  assert.equal(
    text,
    lines("@@ -1,3 +1,4 @@", "+new", " 0", " 1", " 2", "@@ -17,4 +18,3 @@", " 16", " 17", " 18", "-19"),
  );
});

test("lines that both texts have are kept in the longest order", () => {
  assert.equal(
    lineDiff(lines("a", "b", "c", "d"), lines("b", "x", "d", "a")),
    lines("@@ -1,4 +1,4 @@", "-a", " b", "-c", "+x", " d", "+a"),
  );
});
