/**
 * `npm test`: runs the build, the steps of `npm run check`, and the tests of whole servers (`test/`), as a test of every
 * change. `npm run test:more` runs the rest: random tests, crashes, long simulations, other programs against the server,
 * and the recorded scenarios if `../shared` exists. Both need no network, and end with one line, `N passed, N failed, N
 * skipped`.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { styleText } from "node:util";
import { build } from "./build.ts";
import { checkSources, runStep } from "./check.ts";
import { readCommandLine } from "./command-line.ts";
import { conformance, missingReason } from "./conformance.ts";
import { clockText } from "./progress.ts";
import { requirementProblems } from "./requirements.ts";
import { addTallies, emptyTally, findTests, printSkips, type Tally } from "./run-tests.ts";
import { report, step } from "./steps.ts";

const usage = `Runs tests: build, format, lint, types, structure, unit tests, whole servers. With --more instead: random
tests, crashes, simulations, other programs, recorded scenarios.

Usage: npm test -- [options]
       npm run test:more -- [options]

      --more           what takes long or needs other programs
      --add-to FILE    count together with the run that wrote FILE, and write it again
  -v, --verbose        name the tests that are skipped, below each reason
  -h, --help           print this`;

/** Whether a file takes long and a change rarely breaks it, or starts programs that are not on every machine. */
const isMore = (file: string): boolean =>
  /\.fuzz\.ts$|crash\.test\.ts$/.test(file) ||
  /^test\/(?:control-plane|kubectl|helm|simulation|real-world|scale-out|processes|executable|examples)\//.test(file) ||
  /^test\/console\/(?:pages|editing|everywhere|origin)\.test\.ts$/.test(file) ||
  /^test\/(?:objects\/every-kind|hostile\/(?:flood|load|large-faults)|program\/(?:envtest|hostile))\.test\.ts$/.test(
    file,
  ) ||
  /^test\/(?:aggregation\/sample-apiserver|admission\/cert-manager)\.test\.ts$/.test(file);

const {
  more: runsMore = false,
  verbose = false,
  "add-to": sumFile,
} = readCommandLine(usage, {
  more: { type: "boolean" },
  "add-to": { type: "string" },
  verbose: { type: "boolean", short: "v" },
}).values;

const start = performance.now();
const files = findTests(["{src,scripts,test}/**/*.test.ts", "{src,test}/**/*.fuzz.ts"]);
const mine = files.filter((file) => isMore(file) === runsMore);
const [before, others] = runsMore ? ["build", "npm test"] : ["build, format, lint, types, tidy", "npm run test:more"];
process.stdout.write(`${before}, then ${mine.length} of ${files.length} test files; \`${others}\` runs the others\n`);

let problems = 0;
const count = (ok: boolean): void => {
  if (!ok) problems++;
};
const built = await step("build", async () => {
  const output = await build({ declarations: !runsMore });
  return { ok: output === "", output };
});
count(built);
if (!runsMore) count((await checkSources()).length === 0);
let tally: Tally = await runStep(runsMore ? "more" : "tests", mine);
if (runsMore) {
  const missing = missingReason();
  if (missing !== undefined) report("conformance", true, 0, `skipped: ${missing}`);
  else if (built) tally = addTallies(tally, await conformance());
} else {
  count(
    await step("requirements", () => {
      const problems = requirementProblems();
      return Promise.resolve({ ok: problems.length === 0, output: problems.join("\n") });
    }),
  );
}
printSkips(tally, verbose);
tally = { ...tally, failed: tally.failed + problems };
process.stdout.write(`took ${clockText((performance.now() - start) / 1000)}\n`);
process.exitCode = tally.failed === 0 ? 0 : 1;

if (sumFile !== undefined) {
  // The other command has written its sums in the same form.
  if (existsSync(sumFile))
    tally = addTallies(tally, { ...emptyTally, ...(JSON.parse(readFileSync(sumFile, "utf8")) as object) });
  const { passed, failed, skipped } = tally;
  writeFileSync(sumFile, JSON.stringify({ passed, failed, skipped }));
}
const line = `${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`;
process.stdout.write(`${styleText(tally.failed === 0 ? "green" : "red", line)}\n`);
