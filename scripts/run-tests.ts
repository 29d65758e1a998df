/** Runs test files with Node's test runner, one process per file, with progress and totals. */
import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { run } from "node:test";
import { styleText } from "node:util";
import { compileCache, expectedSeconds, showProgress } from "./progress.ts";
import { root } from "./steps.ts";

export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: readonly Failure[];
  readonly skips: readonly SkippedTest[];
}

export interface Failure {
  /** The path of the test file in the repository, or what else failed. */
  readonly file: string;
  /** The report that a person reads, in several lines. */
  readonly text: string;
}

export interface SkippedTest {
  readonly name: string;
  readonly reason: string;
}

export const emptyTally: Tally = { passed: 0, failed: 0, skipped: 0, failures: [], skips: [] };

export function addTallies(a: Tally, b: Tally): Tally {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    failures: [...a.failures, ...b.failures],
    skips: [...a.skips, ...b.skips],
  };
}

/** Returns the repository paths that match `patterns`, sorted. */
export function findTests(patterns: readonly string[], without: RegExp = /^$/): string[] {
  return globSync(patterns, { cwd: root, exclude: ["**/node_modules/**", "dist/**"] })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => !without.test(path))
    .sort();
}

/** The module that ends the process of a file some time after its tests. */
const endOfFile = new URL("end-of-test-file.ts", import.meta.url).href;

/** The maximum time of a test. One that takes longer hangs, also on a slow machine with other work. */
const timeoutMs = 20 * 60_000;

/**
 * Runs `files`, the longest first, several at a time. A file that cannot be loaded or crashes counts as one failure.
 */
export async function runTests(
  name: string,
  files: readonly string[],
  concurrency = availableParallelism() + 1,
): Promise<Tally> {
  if (files.length === 0) return emptyTally;
  let passed = 0;
  let failed = 0;
  let skipped = 0;
  const failures: Failure[] = [];
  const skips: SkippedTest[] = [];
  const output = new Map<string, string>();
  const expected = expectedSeconds(files);
  const progress = showProgress(name, expected);
  const stream = run({
    files: files.toSorted((a, b) => expected.get(b)! - expected.get(a)!).map((file) => root + file),
    concurrency,
    execArgv: ["--conditions=source", "--disable-warning=ExperimentalWarning", `--import=${endOfFile}`],
    env: { NODE_COMPILE_CACHE: compileCache, ...process.env },
    timeout: timeoutMs,
  });
  stream.on("test:stderr", ({ file, message }) => void output.set(file, (output.get(file) ?? "") + message));
  stream.on("test:pass", (event) => {
    if (event.details.type === "suite") return;
    if (event.skip !== undefined && event.skip !== false) {
      skipped += 1;
      skips.push({ name: event.name, reason: typeof event.skip === "string" ? event.skip : "no reason is given" });
    } else if (!isFile(event.name)) passed += 1;
  });
  stream.on("test:fail", (event) => {
    if (event.details.type === "suite") return;
    const { error } = event.details;
    const cause: unknown = error.cause ?? error;
    // A file or parent test fails because tests inside it failed, which were counted already.
    if ((error as { failureType?: string }).failureType === "subtestsFailed") return;
    failed += 1;
    const file = testFile(event.file ?? "", cause);
    const said = isFile(event.name) ? (output.get(event.name) ?? output.get(event.file ?? "") ?? "").trim() : "";
    const parts = [`${file}: ${event.name}`, said, text(cause)];
    failures.push({ file, text: parts.filter((part) => part !== "").join("\n") });
  });
  // The other events come in the order of the files: those of a file wait until the files before it have ended.
  stream.on("test:complete", ({ name, file, details, skip }) => {
    if (details.type === "suite") return;
    if (isFile(name)) progress.advance(name.replace(root, ""), details.duration_ms / 1000);
    else if (skip === undefined || skip === false)
      progress.count(details.passed, `${(file ?? "").replace(root, "")}: ${name}`);
  });
  for await (const _ of stream);
  progress.end();
  return { passed, failed, skipped, failures, skips };
}

/** Whether a name is that of a whole file, which the runner reports by its path. */
const isFile = (name: string): boolean => name.startsWith(root);

/**
 * Returns the file of a test. The runner reports tests that a harness registered under the harness; their stack has the
 * right file.
 */
function testFile(reported: string, cause: unknown): string {
  const [inStack] = /[\w./-]+\.(?:test|fuzz)\.ts/.exec(cause instanceof Error ? (cause.stack ?? "") : "") ?? [];
  const file = /\.(?:test|fuzz)\.ts$/.test(reported) ? reported : (inStack ?? reported);
  return file.replace(root, "");
}

function text(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return (cause.stack ?? cause.message).split("\n").slice(0, 25).join("\n");
}

/** The maximum of files that are run again. When more files fail, the cause is not that the machine was busy. */
const againMax = 3;

/**
 * Runs each file that failed beside others once more, alone. A file that passes then is unsteady: its failures are
 * printed, as a fault of the test or of the server that somebody has to mend, and do not count.
 */
export async function runFailedAgain(tally: Tally): Promise<Tally> {
  const files = [...new Set(tally.failures.map(({ file }) => file))];
  if (files.length > againMax || !files.every((file) => /\.(?:test|fuzz)\.ts$/.test(file))) return tally;
  let { passed, failed, failures } = tally;
  for (const file of files) {
    const again = await runTests(`again ${file}`, [file], 1);
    if (again.failed > 0 || again.passed === 0) continue;
    const unsteady = failures.filter((failure) => failure.file === file);
    printFailures(unsteady, "unsteady");
    failures = failures.filter((failure) => failure.file !== file);
    passed += unsteady.length;
    failed -= unsteady.length;
  }
  return { ...tally, passed, failed, failures };
}

/** Prints failures, one block for each, below the word `mark`. */
export function printFailures(failures: readonly Failure[], mark: "not ok" | "unsteady" = "not ok"): void {
  for (const { text } of failures) {
    process.stdout.write(`${styleText(mark === "not ok" ? "red" : "yellow", mark)} ${text.replaceAll("\n", "\n  ")}\n`);
  }
}

/** Prints the reasons why tests were skipped, with the number of tests; with `verbose` also their names. */
export function printSkips({ skips }: Pick<Tally, "skips">, verbose: boolean): void {
  const byReason = Map.groupBy(skips, ({ reason }) => reason);
  for (const [reason, tests] of [...byReason].sort((a, b) => b[1].length - a[1].length)) {
    process.stdout.write(`skipped ${String(tests.length).padStart(3)}: ${reason}\n`);
    if (verbose) for (const { name } of tests) process.stdout.write(`             ${name}\n`);
  }
}
