/**
 * `npm run fuzz -- <name>`: runs one seeded random test (`<name>.fuzz.ts`) for a longer time, or again with a failed
 * seed. Without a name it lists the tests.
 */
import { spawn } from "node:child_process";
import { basename } from "node:path";
import { readCommandLine } from "./command-line.ts";
import { findTests } from "./run-tests.ts";
import { root } from "./steps.ts";

const files = findTests(["src/**/*.fuzz.ts", "test/**/*.fuzz.ts"]);
const names = files.map((file) => `  ${basename(file, ".fuzz.ts").padEnd(28)} ${file}`).join("\n");
const usage = `Runs seeded random tests.

Usage: npm run fuzz -- NAME... [options]

  --seed N     the seed of an earlier run
  --runs N     how many inputs
  -h, --help   print this

${names}`;
const { values, positionals } = readCommandLine(usage, { seed: { type: "string" }, runs: { type: "string" } }, true);
const named = files.filter((file) => positionals.some((name) => file.includes(`${name}.fuzz.ts`) || file === name));
if (named.length === 0) {
  process.stdout.write(`${usage}\n`);
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
