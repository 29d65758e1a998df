/** Tests that the tests that SECURITY.md names exist. */
import assert from "node:assert";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

const root = new URL("../../", import.meta.url);
const page = readFileSync(new URL("SECURITY.md", root), "utf8");

void test("every class of attack in SECURITY.md names tests that exist", () => {
  const rows = page.split("\n").filter((line) => /^\| .*`(?:src|test)\//.test(line));
  assert.ok(rows.length > 40, `${rows.length} rows`);
  for (const row of rows) {
    const [, name = "", shownBy = ""] = /^\| (.*) \| (`.*) \|$/.exec(row) ?? [];
    assert.ok(name !== "", row);
    for (const reference of shownBy.split(/; (?=`)/)) {
      const [, file = "", title = ""] = /^`([^`]+)`: (.+)$/.exec(reference) ?? [];
      const source = new URL(file, root);
      assert.ok(file !== "" && existsSync(source), `${name}: no file in ${reference}`);
      assert.ok(readFileSync(source, "utf8").includes(title), `${name}: ${file} has no test "${title}"`);
    }
  }
});
