/** Tests that comments without a main clause are found, and sentences are not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { firstWords, findRetiredWords, repeatedSentences } from "./tidy-words.ts";

void test("comments that begin as a part of the name below are found", () => {
  const first = (text: string): number => firstWords("x.ts", text).length;
  for (const text of [
    "/** Of the store. */",
    "  // What is left.",
    "/**  Those of others. */",
    "/** How often it is tried. */",
    "const a = 1;\n// Where it is,\n// or was.",
    "  /**\n   * Why it failed, and\n   * when.\n   */",
  ])
    assert.equal(first(text), 1, text);
  for (const text of [
    "/** Offers a seat. */",
    "// Whether it is open.",
    " * Of a paragraph's middle.",
    "// It says\n// why it failed.\n// Why is the middle of a comment.",
  ])
    assert.equal(first(text), 0, text);
});

void test("comments that say a sentence twice are found, wherever its lines break", () => {
  const twice =
    "/**\n * Storage. Revisions are one sequence over the whole\n * store. More.\n *\n * Revisions are one sequence\n * over the whole store.\n */";
  const message = "a comment says twice: Revisions are one sequence over the whole store.";
  assert.deepEqual(
    repeatedSentences("x.ts", `const a = 1;\n${twice}`).map(({ line, message: text }) => [line, text.trim()]),
    [[2, message]],
  );
  assert.deepEqual(
    repeatedSentences("x.ts", "/** Storage. More. Storage. */\n/** Revisions are one sequence over all. */"),
    [],
  );
});

void test("declarations with a retired name are found", () => {
  const findings = findRetiredWords("x.ts", "const a = 1;\nexport class Pace {}\nexport class Paces {}\n");
  assert.deepEqual(findings, [{ file: "x.ts", line: 2, message: "Pace is retired: say Yielder" }]);
  for (const code of ["const place = 1;", "let places = 0;", "interface Place {}"])
    assert.equal(findRetiredWords("x.ts", code).length, 1, code);
  assert.deepEqual(findRetiredWords("x.ts", "const placeholder = 1;\nclass Placement {}\n"), []);
});
