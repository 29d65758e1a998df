/**
 * `npm run check`: format, lint, types, tidy and unit tests; under a minute. With `-- --fix` the formatter writes;
 * with `-- -v` what was skipped is named. The tools run side by side, the tests after them.
 */
import { styleText } from "node:util";
import { addTallies, emptyTally, findTests, printFailures, printSkips, runTests, type Tally } from "./run-tests.ts";
import { report, step, tool } from "./steps.ts";
import { tidyReport } from "./tidy.ts";

/** Unit tests: beside the code, the slow ones (`*crash.test.ts`) excepted; `npm test` runs those too. */
export const slowTests = /crash\.test\.ts$/;

/** Runs the tools that check source text; true when all succeed. */
export async function checkSources(fix = false): Promise<boolean> {
  const results = await Promise.all([
    step("format", () =>
      tool("@biomejs/biome/bin/biome", ["format", ...(fix ? ["--write"] : []), "--colors=off", "."]),
    ),
    step("lint", () =>
      tool("oxlint/bin/oxlint", ["--type-aware", "--deny-warnings", "src", "bin", "scripts", "test", "bench"]),
    ),
    step("types", () => tool("typescript/bin/tsc", ["-p", "."])),
    step("tidy", () => {
      const findings = tidyReport();
      return Promise.resolve({ ok: findings.length === 0, output: findings.join("\n") });
    }),
  ]);
  return results.every(Boolean);
}

export async function unitTests(): Promise<Tally> {
  const files = findTests(["src/**/*.test.ts", "scripts/**/*.test.ts"], slowTests);
  // The longest first: none of them goes on alone at the end.
  const isLong = (file: string): boolean => file.startsWith("src/storage/");
  return timedTests("unit", [...files.filter(isLong), ...files.filter((file) => !isLong(file))]);
}

/** Runs test files as one reported step. */
export async function timedTests(name: string, files: readonly string[], env?: Record<string, string>): Promise<Tally> {
  const start = performance.now();
  const tally = await runTests(files, env === undefined ? {} : { env });
  const seconds = (performance.now() - start) / 1000;
  const counts = `${tally.passed} passed${tally.skipped > 0 ? `, ${tally.skipped} skipped` : ""}`;
  report(name, tally.failed === 0, seconds, tally.failed === 0 ? counts : `${tally.failed} failed, ${counts}`);
  printFailures(tally);
  return tally;
}

if (import.meta.main) {
  const clean = await checkSources(process.argv.includes("--fix"));
  const tally = addTallies(emptyTally, await unitTests());
  printSkips(tally, process.argv.includes("-v"));
  const ok = clean && tally.failed === 0;
  process.stdout.write(ok ? styleText("green", "check passed\n") : styleText("red", "check failed\n"));
  process.exitCode = ok ? 0 : 1;
}
