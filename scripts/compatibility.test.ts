/**
 * Tests that `docs/compatibility.md` can be scanned: fixed areas, three columns, one sentence in each cell, and
 * requirement IDs that exist.
 */
import assert from "node:assert";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const page = readFileSync(new URL("../docs/compatibility.md", import.meta.url), "utf8");
const index = readFileSync(new URL("../docs/requirements.md", import.meta.url), "utf8");

const areas = [
  "Names and versions",
  "Requests and negotiation",
  "Writes and patches",
  "Apply",
  "Lists and watches",
  "Deletion",
  "Validation of built-in kinds",
  "Custom resources",
  "Aggregated API servers",
  "Authentication",
  "Authorization",
  "Expressions",
  "Admission",
  "Controllers",
  "Audit",
  "Priority and fairness",
  "Storage and backup",
  "Several servers",
  "Limits",
  "Clients and tools",
];

/** The rows of all tables, without heads and rules. */
const rows = page
  .split("\n")
  .filter((line) => line.startsWith("|"))
  .map((line) => line.slice(2, -2).split(" | "))
  .filter(([what]) => what !== "What" && what !== "---");

void test("the areas come in their order, each with a table of three columns", () => {
  const sections = page.split(/^## /m).slice(1);
  assert.deepStrictEqual(
    sections.map((section) => section.slice(0, section.indexOf("\n"))),
    areas,
  );
  for (const section of sections)
    assert.match(section, /^.*\n\n\| What \| Binnacle \| Kubernetes 1\.32 \|\n\| --- \| --- \| --- \|\n\|/);
});

void test("a row is three cells, of which the answers are one sentence each", () => {
  const wrong = rows.filter(
    ([what, here, upstream, ...more]) =>
      what === undefined || what === "" || more.length > 0 || !isSentence(here) || !isSentence(upstream),
  );
  assert.deepStrictEqual(wrong, []);
});

void test("no difference is told twice", () => {
  const subjects = rows.map(([what]) => what);
  assert.deepStrictEqual(
    subjects.filter((what, at) => subjects.indexOf(what) !== at),
    [],
  );
});

void test("a difference that the specification asks for cites rows that exist", () => {
  const cited = rows.flatMap(([what = ""]) => /^\*\*Spec\*\* ([^:]+):/.exec(what)?.[1]?.split(", ") ?? []);
  assert.ok(cited.length > 20);
  const unknown = cited.filter((id) => id !== "Update rule 7" && !index.includes(`| ${id} |`));
  assert.deepStrictEqual(unknown, []);
  const unmarked = rows.filter(([what = ""]) => /\b[A-Z]{3,}-\d\d\b/.test(what) && !what.startsWith("**Spec** "));
  assert.deepStrictEqual(unmarked, []);
});

/** Whether a cell ends with a full stop and has no other one, except inside code. */
function isSentence(cell: string | undefined): boolean {
  const text = cell?.replaceAll(/`[^`]*`/g, "x") ?? "";
  return text.endsWith(".") && !/[.!?] +[A-Z]/.test(text) && text.length < 300;
}
