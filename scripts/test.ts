/**
 * `npm test`: everything that needs no network, in order: build, the steps of `npm run check`, short fuzz runs, crash
 * tests, whole servers (`test/`), and the recorded scenarios when `../shared` exists. Ends with one line, `N passed, N
 * failed, N skipped`.
 */
import { styleText } from "node:util";
import { build } from "./build.ts";
import { readCommandLine } from "./command-line.ts";
import { checkSources, slowTests, timedTests, unitTests } from "./check.ts";
import { conformance, missingReason } from "./conformance.ts";
import { addTallies, emptyTally, findTests, printSkips, type Tally } from "./run-tests.ts";
import { requirementProblems } from "./requirements.ts";
import { report, step } from "./steps.ts";

const usage = `Runs all tests: build, check, fuzz runs, crash tests, whole servers, recorded scenarios.

Usage: npm test -- [options]

  -v, --verbose   name the tests that are skipped, below each reason
  -h, --help      print this`;

const { verbose = false } = readCommandLine(usage, { verbose: { type: "boolean", short: "v" } }).values;

const built = await step("build", async () => {
  const output = await build({ declarations: true });
  return { ok: output === "", output };
});
const clean = (await checkSources()).length === 0;
let tally: Tally = emptyTally;
const add = (more: Tally): void => {
  tally = addTallies(tally, more);
};
add(await unitTests());
add(await timedTests("fuzz", findTests(["src/**/*.fuzz.ts", "test/**/*.fuzz.ts"])));
add(
  await timedTests(
    "crash",
    findTests(["src/**/*.test.ts", "test/**/*.test.ts"]).filter((file) => slowTests.test(file)),
  ),
);
add(await timedTests("servers", findTests(["test/**/*.test.ts"], slowTests)));

const missing = missingReason();
if (missing !== undefined) report("conformance", true, 0, `skipped: ${missing}`);
else if (built) add(await conformance());

const indexed = await step("requirements", () => {
  const problems = requirementProblems();
  return Promise.resolve({ ok: problems.length === 0, output: problems.join("\n") });
});

printSkips(tally, verbose);
const failed = tally.failed + (built ? 0 : 1) + (clean ? 0 : 1) + (indexed ? 0 : 1);
const line = `${tally.passed} passed, ${failed} failed, ${tally.skipped} skipped`;
process.stdout.write(`${styleText(failed === 0 ? "green" : "red", line)}\n`);
process.exitCode = failed === 0 ? 0 : 1;
