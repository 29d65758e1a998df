/** Runs benchmark suites and prints the results beside the committed baselines. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { styleText } from "node:util";
import type { Measurement, Run, Suite } from "./suite.ts";

interface ReportOptions {
  readonly seconds: number;
  /** The names of the wanted suites and rows; empty for all. */
  readonly names: readonly string[];
  readonly isJson: boolean;
  /** Whether the results become the new baselines. */
  readonly isUpdate: boolean;
}

/** A row and its baseline, compared by CPU time per operation, else by time or memory. */
interface Compared extends Measurement {
  readonly suite: string;
  readonly baseline?: number;
  readonly ratio?: number;
}

type Baselines = Readonly<Record<string, Measurement>>;

/** The ratio to the baseline from which a row is marked. */
const slowerFrom = 1.1;

export const defaultSeconds = 3;

/** The width of the first column, `name`. The figures of a table are aligned to the right. */
export const nameWidth = 30;
export const column = (text: string, width = 13): string => text.padStart(width);

/** Returns three or four significant digits with a unit; empty for unknown values. */
export function figure(value: number | undefined, unit: string): string {
  if (value === undefined || Number.isNaN(value)) return "";
  const text = value.toLocaleString(
    "en",
    value >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 },
  );
  return `${text}${unit}`;
}

/** Reports progress on standard error: in place on a terminal, else as lines if `isKept` is set. */
export function progress(text: string, isKept = false): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${text}`);
  else if (isKept && text !== "") process.stderr.write(`${text}\n`);
}

/** Measures the wanted rows of `suites` and prints each as it is measured. */
export async function runSuites(suites: readonly Suite[], options: ReportOptions): Promise<void> {
  const { names, isJson } = options;
  const all: Compared[] = [];
  if (!isJson) console.log(tableHead());
  for (const suite of suites) {
    const isWanted = (name: string): boolean =>
      names.length === 0 || names.includes(suite.name) || (names.includes(name) && Object.hasOwn(suite.rows, name));
    if (!Object.keys(suite.rows).some(isWanted)) continue;
    const baselines = readBaselines(suite);
    const rows: Compared[] = [];
    const run: Run = {
      seconds: options.seconds,
      isWanted,
      async row(name, measure) {
        if (!isWanted(name)) return;
        progress(`${suite.name}: ${name} ...`, isJson);
        const row = compareRow(suite, roundRow(await measure()), baselines);
        progress("");
        rows.push(row);
        if (!isJson) console.log(tableRow(row));
      },
    };
    await suite.measure(run);
    all.push(...rows);
    if (options.isUpdate) writeBaselines(suite, baselines, rows);
  }
  if (isJson) console.log(JSON.stringify(all, undefined, 2));
}

/** Runs all rows of a bench file that was started alone. */
export async function runAlone(suite: Suite): Promise<void> {
  await runSuites([suite], { seconds: defaultSeconds, names: [], isJson: false, isUpdate: false });
}

const fileOf = (suite: Suite): URL => new URL(`./baselines/${suite.name}.json`, import.meta.url);

function readBaselines(suite: Suite): Baselines {
  const file = fileOf(suite);
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Baselines) : {}; // written by `writeBaselines`
}

function writeBaselines(suite: Suite, before: Baselines, rows: readonly Compared[]): void {
  const measured = Object.fromEntries(
    rows.map(({ suite: _suite, baseline: _baseline, ratio: _ratio, ...row }) => [row.name, row]),
  );
  const merged: Baselines = { ...before, ...measured };
  const next = Object.fromEntries(
    Object.keys(suite.rows).flatMap((name) => (merged[name] ? [[name, merged[name]]] : [])),
  );
  const file = fileOf(suite);
  mkdirSync(new URL(".", file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(next, undefined, 2)}\n`);
  console.error(`wrote ${rows.length} rows to bench/baselines/${suite.name}.json`);
}

/** Rounds figures to at most three decimals, large ones to none. Unknown values are left out. */
function roundRow(row: Measurement): Measurement {
  const entries = Object.entries(row).flatMap(([key, value]: [string, unknown]) => {
    if (typeof value !== "number") return [[key, value]];
    const scale = value >= 1000 ? 1 : value >= 10 ? 10 : 1000;
    return Number.isNaN(value) ? [] : [[key, Math.round(value * scale) / scale]];
  });
  return Object.fromEntries(entries) as Measurement; // the same keys
}

const costOf = (row: Measurement | undefined): number | undefined => row?.cpuUsPerOp ?? row?.ms ?? row?.rssMb;

function compareRow(suite: Suite, row: Measurement, baselines: Baselines): Compared {
  const cost = costOf(row);
  const baseline = costOf(baselines[row.name]);
  if (cost === undefined || baseline === undefined) return { ...row, suite: suite.name };
  return { ...row, suite: suite.name, baseline, ratio: Math.round((cost / baseline) * 100) / 100 };
}

const tableHead = (): string =>
  "workload".padEnd(nameWidth) +
  ["rate", "CPU/op", "RSS", "time", "longest", "baseline", "ratio"].map((title) => column(title)).join("");

function tableRow(row: Compared): string {
  const unit = row.cpuUsPerOp !== undefined ? " us" : row.ms !== undefined ? " ms" : " MB";
  const isSlower = (row.ratio ?? 0) > slowerFrom;
  const cells = [
    figure(row.rate, "/s"),
    figure(row.cpuUsPerOp, " us"),
    figure(row.rssMb, " MB"),
    figure(row.ms, " ms"),
    figure(row.longestMs, " ms"),
    figure(row.baseline, unit),
  ];
  const ratio = column(row.ratio === undefined ? "" : row.ratio.toFixed(2)) + (isSlower ? "  more" : "");
  const text = row.name.padEnd(nameWidth) + cells.map((cell) => column(cell)).join("");
  return text + (isSlower && process.stdout.isTTY ? styleText("red", ratio) : ratio);
}
