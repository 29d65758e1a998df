/**
 * `npm run check`: format, lint, types, tidy and unit tests, in less than a minute. The tools run side by side, the
 * tests after them. No test starts if the types have errors, so that the errors stay visible.
 */
import { styleText } from "node:util";
import { readCommandLine } from "./command-line.ts";
import { findTests, printFailures, printSkips, runFailedAgain, runTests, type Tally } from "./run-tests.ts";
import { type Outcome, report, step, tool } from "./steps.ts";
import { tidyReport } from "./tidy.ts";

/** The slow unit tests (`*crash.test.ts`), which only `npm run test:more` runs. */
const slowTests = /crash\.test\.ts$/;

const typesKept = "node_modules/.cache/types.tsbuildinfo";

/** Runs the tools that check source text. Returns the names of those that failed. */
export async function checkSources(fix = false): Promise<string[]> {
  const tools: Readonly<Record<string, () => Promise<Outcome>>> = {
    format: () => tool("@biomejs/biome/bin/biome", ["format", ...(fix ? ["--write"] : []), "--colors=off", "."]),
    lint: () =>
      tool("oxlint/bin/oxlint", ["--type-aware", "--deny-warnings", "src", "bin", "scripts", "test", "bench"]),
    // The console has the types of browsers, which the server must not see.
    console: () => tool("typescript/bin/tsc", ["-p", "src/console"]),
    // The compiler reuses findings about unchanged files, which saves most of the time of the next run.
    types: () => tool("typescript/bin/tsc", ["-p", ".", "--incremental", "--tsBuildInfoFile", typesKept]),
    tidy() {
      const findings = tidyReport();
      return Promise.resolve({ ok: findings.length === 0, output: findings.join("\n") });
    },
  };
  const names = Object.keys(tools);
  const results = await Promise.all(names.map((name) => step(name, tools[name]!)));
  return names.filter((_, at) => !results[at]);
}

function unitTests(): Promise<Tally> {
  return runStep("unit", findTests(["src/**/*.test.ts", "scripts/**/*.test.ts"], slowTests));
}

/** Runs test files as one reported step. */
export async function runStep(name: string, files: readonly string[]): Promise<Tally> {
  const start = performance.now();
  const tally = await runFailedAgain(await runTests(name, files));
  const seconds = (performance.now() - start) / 1000;
  const counts = `${tally.passed} passed${tally.skipped > 0 ? `, ${tally.skipped} skipped` : ""}`;
  report(name, tally.failed === 0, seconds, tally.failed === 0 ? counts : `${tally.failed} failed, ${counts}`);
  printFailures(tally.failures);
  return tally;
}

const usage = `Checks the code: format, lint, types, structure (tidy) and unit tests. Unit tests do not start where types
do not fit.

Usage: npm run check -- [options]

      --fix       the formatter writes
      --quick     no unit tests
  -v, --verbose   name the tests that are skipped, below each reason
  -h, --help      print this`;

async function check(): Promise<void> {
  const {
    fix = false,
    quick = false,
    verbose = false,
  } = readCommandLine(usage, {
    fix: { type: "boolean" },
    quick: { type: "boolean" },
    verbose: { type: "boolean", short: "v" },
  }).values;
  const failed = await checkSources(fix);
  if (!quick && failed.includes("types")) process.stdout.write("unit         not started: the types do not fit\n");
  else if (!quick) {
    const tally = await unitTests();
    printSkips(tally, verbose);
    if (tally.failed > 0) failed.push("unit");
  }
  const ok = failed.length === 0;
  process.stdout.write(
    ok ? styleText("green", "check passed\n") : styleText("red", `check failed: ${failed.join(", ")}\n`),
  );
  process.exitCode = ok ? 0 : 1;
}

if (import.meta.main) await check();
