/**
 * `npm run fuzz -- <name> [--seed N] [--runs N]`: one seeded random test (`<name>.fuzz.ts`), for longer or again with
 * the seed that failed. Without a name: says which there are.
 */
import { spawn } from "node:child_process";
import { basename } from "node:path";
import { parseArgs } from "node:util";
import { findTests } from "./run-tests.ts";
import { root } from "./steps.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: "string" }, runs: { type: "string" } },
});
const files = findTests(["src/**/*.fuzz.ts", "test/**/*.fuzz.ts"]);
const named = files.filter((file) => positionals.some((name) => file.includes(`${name}.fuzz.ts`) || file === name));
if (named.length === 0) {
  const names = files.map((file) => `  ${basename(file, ".fuzz.ts").padEnd(28)} ${file}\n`).join("");
  process.stdout.write(`usage: npm run fuzz -- <name> [--seed N] [--runs N]\n\n${names}`);
  process.exitCode = positionals.length === 0 ? 0 : 1;
} else {
  const child = spawn(process.execPath, ["--conditions=source", "--test", "--test-concurrency=1", ...named], {
    cwd: root,
    stdio: "inherit",
    env: {
      ...process.env,
      ...(values.seed === undefined ? {} : { FUZZ_SEED: values.seed }),
      ...(values.runs === undefined ? {} : { FUZZ_RUNS: values.runs }),
    },
  });
  child.once("exit", (code) => {
    process.exitCode = code ?? 1;
  });
}
