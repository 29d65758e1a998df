/**
 * Shows the progress of a run of test files: on a terminal a line that is rewritten in place, elsewhere a line now and
 * then. The remaining time is estimated from the times that the files took in their last run, which a file below
 * `node_modules/` remembers.
 */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./steps.ts";

const cacheFolder = join(root, "node_modules/.cache/binnacle");
const memory = join(cacheFolder, "test-seconds.json");
const everyMs = 20_000;
/** The part of a run that must be done before the remaining time is shown. */
const leastDone = 0.05;

/** The folder in which Node keeps compiled code, so that not every test file compiles the server again. */
export const compileCache = join(cacheFolder, "compiled");

interface Progress {
  /** A test has ended. One that failed is named at once; the reasons come at the end. */
  count(passed: boolean, test: string): void;
  /** All tests of `file` have ended, which took so many seconds. */
  advance(file: string, seconds: number): void;
  end(): void;
}

/** Seconds that each file took the last time it ran here. */
function remembered(): Record<string, number> {
  try {
    return JSON.parse(readFileSync(memory, "utf8")) as Record<string, number>; // as `remember` wrote it
  } catch {
    return {};
  }
}

function remember(seconds: Readonly<Record<string, number>>): void {
  try {
    mkdirSync(cacheFolder, { recursive: true });
    writeFileSync(memory, JSON.stringify({ ...remembered(), ...seconds }));
  } catch {
    // The next estimate is worse.
  }
}

/** Estimates the time of a file that never ran here: one that starts servers is slow, and so is a long one. */
function guessed(file: string): number {
  const kilobytes = statSync(join(root, file)).size / 1024;
  return file.startsWith("test/") ? 2 + kilobytes / 4 : 0.5 + kilobytes / 40;
}

/** The seconds that each of these files will take, roughly. */
export function expectedSeconds(files: readonly string[]): ReadonlyMap<string, number> {
  const known = remembered();
  return new Map(files.map((file) => [file, known[file] ?? guessed(file)]));
}

/** The time until the first test of a file begins. */
const startSeconds = 0.5;

/** Minutes and seconds. */
export const clockText = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

interface Counts {
  readonly files: number;
  readonly passed: number;
  readonly failed: number;
}

/** The line about a run, of which `part` (from 0 to 1) is done after `seconds` seconds. */
export function progressText(name: string, counts: Counts, filesMax: number, part: number, seconds: number): string {
  const rest = part < leastDone ? "" : `, about ${clockText((seconds * (1 - part)) / part)} left`;
  const failed = counts.failed > 0 ? `, ${counts.failed} failed` : "";
  return `${name}: ${counts.files} of ${filesMax} files, ${counts.passed} passed${failed}, ${clockText(seconds)}${rest}`;
}

/** Shows how far the run `name` is, which has just begun. */
export function showProgress(name: string, expected: ReadonlyMap<string, number>): Progress {
  const { isTTY } = process.stdout;
  const begun = performance.now();
  const whole = [...expected.values()].reduce((sum, seconds) => sum + seconds, 0);
  const took: Record<string, number> = {};
  const counts = { files: 0, passed: 0, failed: 0 };
  let done = 0;
  const text = (): string =>
    progressText(name, counts, expected.size, done / whole, (performance.now() - begun) / 1000);
  const timer = isTTY ? undefined : setInterval(() => process.stdout.write(`  ${text()}\n`), everyMs);
  return {
    count(passed, test) {
      counts[passed ? "passed" : "failed"]++;
      if (!passed) process.stdout.write(`${isTTY ? "\r\u001b[K" : ""}  failed: ${test}\n`);
    },
    advance(file, seconds) {
      counts.files++;
      done += expected.get(file) ?? 0;
      took[file] = startSeconds + seconds;
      if (isTTY) process.stdout.write(`\r\u001b[K${text()} `);
    },
    end() {
      clearInterval(timer);
      if (isTTY) process.stdout.write("\r\u001b[K");
      remember(took);
    },
  };
}
