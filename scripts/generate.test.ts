/** The committed types equal the generator's output. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { generateFiles } from "./generate.ts";
import { root } from "./steps.ts";

test("the committed types equal those that the tables give", () => {
  const files = generateFiles();
  assert.ok(files.size > 30);
  for (const [name, text] of files) {
    assert.ok(readFileSync(join(root, "src/api", name), "utf8") === text, `${name} differs; run npm run generate`);
  }
});
