/** The list of checks has every test file of this folder. */
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { programs, tests } from "./checks.ts";

const folder = fileURLToPath(new URL(".", import.meta.url));

test("`npm run scale-out -- --help` names each test file and each program", () => {
  const ending = ".test.ts";
  const files = readdirSync(folder)
    .filter((file) => file.endsWith(ending) && file !== `checks${ending}`)
    .map((file) => file.slice(0, -ending.length));
  assert.deepEqual(Object.keys(tests).sort(), files.sort());
  for (const { file } of Object.values(programs)) assert.ok(existsSync(`${folder}${file}`), file);
});
