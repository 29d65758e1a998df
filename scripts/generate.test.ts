/** The committed tables and types equal the generator's output. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { factsFolder, generateFiles } from "./generate.ts";

const api = join(dirname(dirname(fileURLToPath(import.meta.url))), "src", "api");

test("the committed tables and types equal freshly generated ones", {
  skip: existsSync(factsFolder) ? false : "the fact tables are not on this machine",
}, () => {
  for (const [name, text] of generateFiles(factsFolder)) {
    assert.ok(readFileSync(join(api, name), "utf8") === text, `${name} differs; run npm run generate`);
  }
});
