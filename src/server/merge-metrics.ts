/**
 * Adds up the metrics pages of several processes: counters, histograms, and gauges of work and memory. Of what all
 * processes know alike, the page has the largest value. Pages are in Prometheus' text format 0.0.4, as `std/metrics.ts`
 * prints it.
 */
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
  [/^apiserver_storage_(?:objects|size_bytes)$/, largest],
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

/** Returns one page for several. `missing` is the number of processes whose page is not there. */
export function mergeMetrics(pages: readonly string[], missing: number): string {
  const families = new Map<string, Family>();
  for (const page of pages) addPage(families, page);
  families.set("binnacle_processes_missing", {
    help: "[ALPHA] Processes of this server whose figures are not on this page, since they did not answer.",
    type: "gauge",
    series: new Map([["binnacle_processes_missing", missing]]),
  });
  const byName = [...families].sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = byName.flatMap(([name, { help, type, series }]) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...Array.from(series, ([key, value]) => `${key} ${printNumber(value)}`),
  ]);
  return `${lines.join("\n")}\n`;
}

function addPage(families: Map<string, Family>, page: string): void {
  let name = "";
  let help = "";
  let family: Family | undefined;
  for (const line of page.split("\n")) {
    if (line.startsWith("# HELP ")) {
      const end = line.indexOf(" ", 7);
      name = line.slice(7, end);
      help = line.slice(end + 1);
    } else if (line.startsWith("# TYPE ")) {
      family = families.get(name) ?? { help, type: line.slice(line.lastIndexOf(" ") + 1), series: new Map() };
      families.set(name, family);
    } else if (family !== undefined && line !== "") addSample(name, family, line);
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
  // A summary's quantiles have its name; its sum and its count have endings.
  return type === "summary" && key.startsWith(`${name}{`) ? largest : sum;
}

function readNumber(text: string): number {
  return text.endsWith("Inf") ? Number(text.replace("Inf", "Infinity")) : Number(text);
}
