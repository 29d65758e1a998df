/**
 * Shows the progress of a run of test files: on a terminal in a line that is rewritten, elsewhere in a line from time
 * to time. The remaining time is estimated from the times of the last run, which a file below `node_modules/` stores.
 */
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./steps.ts";

const cacheFolder = join(root, "node_modules/.cache/binnacle");
const memory = join(cacheFolder, "test-seconds.json");
const everyMs = 20_000;
/** The part of a run that must be done before the remaining time is shown. */
const leastDone = 0.05;

/** The folder in which Node stores compiled code, so that not every test file compiles the server again. */
export const compileCache = join(cacheFolder, "compiled");

interface Progress {
  /** Counts a test that has ended. The name of a failed test is printed at once, its reason at the end. */
  count(passed: boolean, test: string): void;
  /** Counts a file whose tests have all ended, after `seconds` seconds. */
  advance(file: string, seconds: number): void;
  end(): void;
}

/** Returns the seconds that each file took in its last run here. */
function readRemembered(): Record<string, number> {
  try {
    return JSON.parse(readFileSync(memory, "utf8")) as Record<string, number>; // `remember` wrote it
  } catch {
    return {};
  }
}

function remember(seconds: Readonly<Record<string, number>>): void {
  try {
    mkdirSync(cacheFolder, { recursive: true });
    writeFileSync(memory, JSON.stringify({ ...readRemembered(), ...seconds }));
  } catch {
    // Only the next estimate is worse.
  }
}

/**
 * Estimates the time of a file that never ran here: files that start servers and long files are slow, and those that run
 * programs or attacks are the slowest, however short they are.
 */
function guessSeconds(file: string): number {
  const kilobytes = statSync(join(root, file)).size / 1024;
  if (/^test\/(?:hostile|processes|program|scale-out|simulation)\//.test(file)) return 60 + kilobytes;
  return file.startsWith("test/") ? 2 + kilobytes / 4 : 0.5 + kilobytes / 40;
}

/** Returns an estimate of the seconds that each file will take. */
export function expectedSeconds(files: readonly string[]): ReadonlyMap<string, number> {
  const remembered = readRemembered();
  return new Map(files.map((file) => [file, remembered[file] ?? guessSeconds(file)]));
}

/** The time until the first test of a file begins, in seconds. */
const startSeconds = 0.5;

/** Returns a time in minutes and seconds. */
export const clockText = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

interface Counts {
  readonly files: number;
  readonly passed: number;
  readonly failed: number;
}

/** Returns the line about a run, whose part `part` (from 0 to 1) is done after `seconds` seconds. */
export function progressText(name: string, counts: Counts, filesMax: number, part: number, seconds: number): string {
  const rest = part < leastDone ? "" : `, about ${clockText((seconds * (1 - part)) / part)} left`;
  const failed = counts.failed > 0 ? `, ${counts.failed} failed` : "";
  return `${name}: ${counts.files} of ${filesMax} files, ${counts.passed} passed${failed}, ${clockText(seconds)}${rest}`;
}

/** Starts to show the progress of the run `name`. */
export function showProgress(name: string, expected: ReadonlyMap<string, number>): Progress {
  const { isTTY } = process.stdout;
  const startMs = performance.now();
  const whole = [...expected.values()].reduce((sum, seconds) => sum + seconds, 0);
  const secondsByFile: Record<string, number> = {};
  const counts = { files: 0, passed: 0, failed: 0 };
  let done = 0;
  const text = (): string =>
    progressText(name, counts, expected.size, done / whole, (performance.now() - startMs) / 1000);
  const timer = isTTY ? undefined : setInterval(() => process.stdout.write(`  ${text()}\n`), everyMs);
  return {
    count(passed, test) {
      counts[passed ? "passed" : "failed"]++;
      if (!passed) process.stdout.write(`${isTTY ? "\r\u001b[K" : ""}  failed: ${test}\n`);
    },
    advance(file, seconds) {
      counts.files++;
      done += expected.get(file) ?? 0;
      secondsByFile[file] = startSeconds + seconds;
      if (isTTY) process.stdout.write(`\r\u001b[K${text()} `);
    },
    end() {
      clearInterval(timer);
      if (isTTY) process.stdout.write("\r\u001b[K");
      remember(secondsByFile);
    },
  };
}
