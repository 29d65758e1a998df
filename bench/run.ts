/**
 * `npm run bench [-- NAME…] [--update] [-o json]`: measures the server against its committed baselines. A row whose
 * CPU per operation grew by more than a tenth is marked; `--update` writes what was measured as the new baseline.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { styleText } from "node:util";
import { type Measurement, measureServer } from "./server.bench.ts";

const baselineFile = new URL("./baselines/server.json", import.meta.url);
const args = process.argv.slice(2);
const isUpdate = args.includes("--update");
const isJson = args.includes("json");
const names = args.filter((arg) => !arg.startsWith("-") && arg !== "json");
const baselines: Record<string, Measurement> = existsSync(baselineFile)
  ? (JSON.parse(readFileSync(baselineFile, "utf8")) as Record<string, Measurement>) // written below
  : {};
const rows: Measurement[] = [];
const isTerminal = process.stdout.isTTY;

const cell = (value: number | undefined, unit: string): string =>
  (value === undefined ? "" : `${value.toLocaleString("en")} ${unit}`).padStart(16);

if (!isJson)
  console.log(
    `${"row".padEnd(20)}${"rate".padStart(16)}${"CPU/op".padStart(16)}${"RSS".padStart(16)}${"time".padStart(16)}`,
  );
await measureServer(
  (row) => {
    rows.push(row);
    if (isJson) return;
    const before = baselines[row.name]?.cpuUsPerOp;
    const change = before === undefined || row.cpuUsPerOp === undefined ? 0 : row.cpuUsPerOp / before - 1;
    const text = `${row.name.padEnd(20)}${cell(row.rate, "/s")}${cell(row.cpuUsPerOp, "us")}${cell(row.rssMb, "MB")}${cell(row.ms, "ms")}`;
    const note = before === undefined ? "" : `  ${change >= 0 ? "+" : ""}${Math.round(change * 100)} %`;
    console.log(text + (change > 0.1 && isTerminal ? styleText("red", note) : note) + (change > 0.1 ? "  slower" : ""));
  },
  (name) => names.length === 0 || names.includes(name),
);
if (isJson) console.log(JSON.stringify(rows, undefined, 2));
if (isUpdate) {
  const next = { ...baselines, ...Object.fromEntries(rows.map((row) => [row.name, row])) };
  mkdirSync(new URL(".", baselineFile), { recursive: true });
  writeFileSync(baselineFile, `${JSON.stringify(next, undefined, 2)}\n`);
  if (!isJson) console.log(`\nWrote ${rows.length} rows to bench/baselines/server.json.`);
}
