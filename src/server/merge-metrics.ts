/**
 * Adds up the metrics pages of several processes: counters, histograms, and gauges of work and memory. Of what all
 * processes know alike, the page has the largest value. Pages are in Prometheus' text format 0.0.4, as `std/metrics.ts`
 * prints it.
 */
import type { Clock } from "#std/clock.ts";
import { Yielder } from "#std/cooperative.ts";
import { printNumber } from "#std/metrics.ts";

type Rule = (a: number, b: number) => number;

const sum: Rule = (a, b) => a + b;
/** Quantiles without values are not numbers. */
const largest: Rule = (a, b) => (Number.isNaN(a) ? b : Math.max(a, Number.isNaN(b) ? a : b));

/** The rules of gauges by name. The first one whose pattern fits holds. */
const gaugeRules: readonly (readonly [pattern: RegExp, rule: Rule])[] = [
  // Memory of each process, and the watches that it serves.
  [/^binnacle_storage_(?:watchers|value_bytes|history_bytes)$/, sum],
  // Facts of the store, which all processes know.
  [/^binnacle_(?:storage_|peers$)/, largest],
  [/^apiserver_(?:storage_(?:objects|size_bytes)|watch_cache_resource_version)$/, largest],
  // Facts of the program and of its configuration.
  [/^kubernetes_(?:build_info|feature_enabled)$/, largest],
  [/_timestamp_seconds$/, largest],
  // States that are on when one process sees them.
  [/^apiserver_requested_deprecated_apis$/, largest],
  [/^aggregator_unavailable_apiservice$/, largest],
  [/^binnacle_admission_webhook_circuit_open$/, largest],
  // Times and shares, which have no sum.
  [/^process_start_time_seconds$/, Math.min],
  [/^nodejs_eventloop_utilization$/, largest],
  [/^workqueue_longest_running_processor_seconds$/, largest],
  [/^apiserver_flowcontrol_(?:seat_fair_frac|current_r|dispatch_r|latest_s|next_\w+)$/, largest],
  // All others count work, memory, or shares of a bound: seats, requests, keys of queues, files, bytes.
  [/^apiserver_flowcontrol_/, sum],
  [/^apiserver_(?:current_inflight_requests|current_inqueue_requests|longrunning_requests)$/, sum],
  [/^apiserver_envelope_encryption_dek_source_cache_size$/, sum],
  [/^etcd_bookmark_counts$/, sum],
  [/^workqueue_(?:depth|unfinished_work_seconds)$/, sum],
  [/^process_virtual_memory_max_bytes$/, largest],
  [/^(?:process|nodejs)_/, sum],
];

/** Counters of metrics themselves, which are the same in each process. */
const constantCounters = /^(?:hidden|disabled|registered)_metrics_total$/;

/** Returns the rule of a gauge; `undefined` for one that nobody has thought of, which is added up. */
export const gaugeRule = (name: string): Rule | undefined => gaugeRules.find(([pattern]) => pattern.test(name))?.[1];

interface Family {
  readonly help: string;
  readonly type: string;
  /** The values by name and labels, as they are printed. */
  readonly series: Map<string, number>;
}

/** Returns one page for several. `missing` is the number of processes that have not answered. */
export async function mergeMetrics(pages: readonly string[], missing: number, clock: Clock): Promise<string> {
  const yielder = new Yielder(clock);
  const families = await familiesOf(pages, yielder);
  families.set("binnacle_processes_missing", {
    help: "[ALPHA] Processes of this server that did not answer, so that this page has their last figures.",
    type: "gauge",
    series: new Map([["binnacle_processes_missing", missing]]),
  });
  return printFamilies(families, yielder);
}

/**
 * Returns a page with what processes have counted, for others that count on after their end: counters, histograms, and
 * the sums of summaries.
 */
export async function countedMetrics(pages: readonly string[], clock: Clock): Promise<string> {
  const yielder = new Yielder(clock);
  const families = await familiesOf(pages, yielder);
  for (const [name, { type, series }] of families) {
    if (type === "gauge") families.delete(name);
    else if (type === "summary") for (const key of series.keys()) if (isQuantile(name, key)) series.delete(key);
  }
  return printFamilies(families, yielder);
}

/** The number of lines after which other work may have a turn. */
const linesPerPiece = 256;

async function printFamilies(families: ReadonlyMap<string, Family>, yielder: Yielder): Promise<string> {
  const byName = [...families].sort(([a], [b]) => (a < b ? -1 : 1));
  let text = "";
  for (const [name, { help, type, series }] of byName) {
    text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
    let count = 0;
    for (const [key, value] of series) {
      text += `${key} ${printNumber(value)}\n`;
      if (++count % linesPerPiece === 0 && yielder.isDue) await yielder.pause();
    }
  }
  return text;
}

async function familiesOf(pages: readonly string[], yielder: Yielder): Promise<Map<string, Family>> {
  const families = new Map<string, Family>();
  for (const page of pages) await addPage(families, page, yielder);
  return families;
}

async function addPage(families: Map<string, Family>, page: string, yielder: Yielder): Promise<void> {
  let name = "";
  let help = "";
  let family: Family | undefined;
  let count = 0;
  for (let start = 0; start < page.length; ) {
    const found = page.indexOf("\n", start);
    const end = found < 0 ? page.length : found;
    const line = page.slice(start, end);
    start = end + 1;
    if (line.startsWith("# HELP ")) {
      const nameEnd = line.indexOf(" ", 7);
      name = line.slice(7, nameEnd);
      help = line.slice(nameEnd + 1);
    } else if (line.startsWith("# TYPE ")) {
      family = families.get(name) ?? { help, type: line.slice(line.lastIndexOf(" ") + 1), series: new Map() };
      families.set(name, family);
    } else if (family !== undefined && line !== "") addSample(name, family, line);
    if (++count % linesPerPiece === 0 && yielder.isDue) await yielder.pause();
  }
}

function addSample(name: string, { type, series }: Family, line: string): void {
  const end = line.lastIndexOf(" ");
  const key = line.slice(0, end);
  const value = readNumber(line.slice(end + 1));
  const present = series.get(key);
  series.set(key, present === undefined ? value : ruleOf(name, type, key)(present, value));
}

function ruleOf(name: string, type: string, key: string): Rule {
  if (type === "gauge") return gaugeRule(name) ?? sum;
  if (type === "counter") return constantCounters.test(name) ? largest : sum;
  return type === "summary" && isQuantile(name, key) ? largest : sum;
}

/** Whether a line of a summary is a quantile: these have its name; its sum and its count have endings. */
const isQuantile = (name: string, key: string): boolean => key.startsWith(`${name}{`);

function readNumber(text: string): number {
  return text.endsWith("Inf") ? Number(text.replace("Inf", "Infinity")) : Number(text);
}
