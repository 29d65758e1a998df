/** The committed tables are what the generator makes of the fact tables. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { factsFolder, generateTables } from "./generate.ts";

const tables = join(dirname(dirname(fileURLToPath(import.meta.url))), "src", "api", "tables");

test("the committed tables equal freshly generated ones", {
  skip: existsSync(factsFolder) ? false : "the fact tables are not on this machine",
}, () => {
  for (const [name, text] of generateTables(factsFolder)) {
    assert.ok(readFileSync(join(tables, name), "utf8") === text, `${name} differs; run npm run generate`);
  }
});
