/** The command lines and tables of programs that check several servers. */
import { readCommandLine } from "../../../scripts/command-line.ts";
import { endBySignals } from "../end-with-us.ts";
import { missing } from "../etcd-for-tests.ts";
import { notBuilt } from "../server-processes.ts";

/** One figure of a check, and the bound that it must not exceed. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly most?: number;
  readonly unit?: string;
}

/**
 * Runs a program: `--help` prints `usage`, `--count N` is handed to `work` (`count` without it), and the figures that it
 * returns are printed. The process ends with code 1 when a figure exceeds its bound.
 */
export async function runProgram(
  usage: string,
  count: number,
  work: (count: number) => Promise<readonly Figure[]>,
): Promise<void> {
  const { values } = readCommandLine(
    `${usage}

Options:
  --count N      the number of tries or seconds (default ${count})
  -o FORMAT      json prints the figures as JSON
  -h, --help     print this`,
    { count: { type: "string", default: String(count) }, output: { type: "string", short: "o" } },
  );
  endBySignals();
  const problem = missing() ?? notBuilt();
  if (problem !== undefined) {
    process.stderr.write(`scale-out: ${problem}\n`);
    process.exitCode = 1;
    return;
  }
  const figures = await work(Number(values.count));
  const isJson = values.output === "json";
  process.stdout.write(isJson ? `${JSON.stringify(figures, undefined, 2)}\n` : tableOf(figures));
  if (figures.some(({ value, most }) => most !== undefined && value > most)) process.exitCode = 1;
}

function tableOf(figures: readonly Figure[]): string {
  const width = Math.max(...figures.map(({ name }) => name.length)) + 2;
  const text = (value: number, unit = ""): string =>
    `${value.toLocaleString("en", { maximumFractionDigits: 2 })}${unit}`;
  const lines = figures.map(({ name, value, most, unit }) => {
    const bound = most === undefined ? "" : `at most ${text(most, unit)}${value > most ? "  EXCEEDED" : ""}`;
    return `${name.padEnd(width)}${text(value, unit).padStart(12)}  ${bound}`.trimEnd();
  });
  return `${lines.join("\n")}\n`;
}

/** Returns the value below which this part of the values is; 0 without values. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0;
}
