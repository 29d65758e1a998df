/** Tests that requirement IDs are found in test names, and that unproved rows are reported. */
import assert from "node:assert";
import { test } from "node:test";
import { findUnknownCitations, proofsIn, readRows, requirementIndex } from "./requirements.ts";

void test("IDs in brackets are found in names of tests, with ranges", () => {
  const proofs = proofsIn(
    "a.test.ts",
    [
      `test("a claim has defaults [PVC-01, PVC-04..06]", () => {});`,
      "test(`in ${domain}: it's kept [GEN-02]`, () => {});",
      `const list = ["x", "[not an id]"];`,
    ].join("\n"),
  );
  assert.deepStrictEqual(proofs, [
    { ids: ["PVC-01", "PVC-04", "PVC-05", "PVC-06"], file: "a.test.ts", name: "a claim has defaults" },
    { ids: ["GEN-02"], file: "a.test.ts", name: "in …: it's kept" },
  ]);
});

void test("a row needs a test, or a reason to have none", () => {
  const rows = readRows(
    "| ID | Requirement | Check |\n| GEN-01 | One. | x |\n| GEN-02 | Two. | x |\n| GEN-03 | Three. | x |\n",
  );
  assert.deepStrictEqual(
    rows.map(({ id }) => id),
    ["GEN-01", "GEN-02", "GEN-03"],
  );
  const index = requirementIndex(
    rows,
    [{ ids: ["GEN-01", "GEN-99"], file: "f", name: "n" }],
    { "GEN-01": "it had none", "GEN-02": "nothing shows it" },
    new Set(["GEN-01", "GEN-02", "GEN-03"]),
  );
  assert.deepStrictEqual(index.open, ["GEN-03"]);
  assert.deepStrictEqual(index.proven, ["GEN-01"]);
  assert.deepStrictEqual(index.unknown, ["GEN-99"]);
  assert.match(index.page, /^\| GEN-01 \| One\. \| f: n \|$/m);
  assert.match(index.page, /^\| GEN-02 \| Two\. \| no proof: nothing shows it \|$/m);
});

void test("what a page cites must be in the repository", () => {
  const proofs = [
    { ids: ["GEN-01"], file: "a.test.ts", name: "it's one | two" },
    { ids: ["GEN-01"], file: "b.yaml", name: "there" },
  ];
  const rows = readRows("| GEN-01 | One. | x |\n| GEN-02 | Two. | x |\n");
  const { page } = requirementIndex(rows, proofs, { "GEN-02": "nothing: shows it" }, new Set());
  assert.deepStrictEqual(findUnknownCitations(page, proofs), []);
  assert.deepStrictEqual(findUnknownCitations(page, proofs.slice(0, 1)), ["b.yaml: there"]);
});
