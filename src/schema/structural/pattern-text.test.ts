/** Tests the sizes of patterns that take long to parse, and the removal of group names. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { patternError } from "./pattern.ts";
import { expandedSize, readingSize, withoutNames } from "./pattern-text.ts";

test("classes of Unicode and wide ranges without regard to case count by the time that reading them takes", () => {
  for (const [pattern, least, most] of [
    ["a".repeat(1000), 250, 250],
    ["\\pL", 100, 101],
    [`[${"\\pL".repeat(100)}]`, 10_000, 10_100],
    ["[B-\u{1e942}]", 0, 5],
    ["(?i)[B-\u{1e942}]", 4900, 5100],
    ["(?i)[\\x{42}-\\x{1e942}]", 4900, 5100],
    ["(?mi:[B-\u{1e942}])", 4900, 5100],
    ["(?i)[a-z0-9\\-._~]", 0, 10],
    ["(?i)[\\x{F900}-\\x{FDCF}]", 40, 60],
    ["(?i)[\\x{1e950}-\\x{10ffff}]", 0, 10],
  ] as const) {
    const size = readingSize(pattern);
    assert.ok(size >= least && size <= most, `${pattern.slice(0, 40)}: ${size}`);
  }
});

test("a pattern that would take seconds to read is refused; usual ones are not", () => {
  for (const pattern of [`[${"\\pL".repeat(5000)}]`, `(?i)[${"B-\u{1e942}".repeat(3000)}]`]) {
    assert.equal(patternError(pattern), "error parsing regexp: expression too large: classes of too many characters");
  }
  const letters = "a-z0-9\\-._~\\x{A0}-\\x{D7FF}\\x{F900}-\\x{FDCF}\\x{FDF0}-\\x{FFEF}";
  for (const pattern of [`(?i)^[${letters}]+(\\.[${letters}]+)*$`, "^[\\p{L}\\p{N} ]{1,255}$", "(?i)^\\p{Greek}+$"]) {
    assert.equal(patternError(pattern), undefined, pattern);
  }
});

test("no text takes long to walk", async () => {
  const parts = ["[", "[:a", "[[:", "[^", "\\Q", "(?P<", "(?P<a>", "(?i[B-", "\\x{0", "[[:]", "[[:x]", "[\\"];
  await growsInProportion(100_000, (size) =>
    parts.map((part) => {
      const text = part.repeat(size / part.length);
      return [withoutNames(text), readingSize(text), expandedSize(text)];
    }),
  );
});

test("names of groups go where groups begin, and nowhere else", () => {
  for (const [pattern, unnamed] of [
    ["^(?P<n>a)(?<m>b)$", "^(a)(b)$"],
    ["[(?P<n>](?P<n>b)", "[(?P<n>](b)"],
    ["[](?P<n>](?P<n>b)", "[](?P<n>](b)"],
    ["[[:alpha:](?P<n>](?P<n>b)", "[[:alpha:](?P<n>](b)"],
    ["\\(?P<n>a\\Q(?P<n>\\E(?P<n>b)", "\\(?P<n>a\\Q(?P<n>\\E(b)"],
    ["(?P<n->a)(?:b)", "(?P<n->a)(?:b)"],
    ["\\Q(?P<n>", "\\Q(?P<n>"],
  ] as const) {
    assert.equal(withoutNames(pattern), unnamed);
  }
});
