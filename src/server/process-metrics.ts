/** Metrics of the process and its store, read at each scrape. The names are those of Prometheus' own clients. */
import { readdirSync, readFileSync } from "node:fs";
import type { FeatureGates } from "#api/feature-gates.ts";
import type { Metrics, Sample } from "#std/metrics.ts";
import { versionDocument } from "#publication/version.ts";
import type { LogWatchCache, StorageObserver } from "#storage/memory.ts";
import { programVersion } from "./program-version.ts";

const one = (value: number): readonly Sample[] => [{ labels: [], value }];

type Gauge = (name: string, help: string, read: () => number) => void;

const gaugesOf =
  (metrics: Metrics): Gauge =>
  (name, help, read) =>
    metrics.observable({ name, help, type: "gauge", isUnstaged: true }, () => one(read()));

export function addProcessMetrics(metrics: Metrics, gates: Pick<FeatureGates, "all">): void {
  addFeatureMetrics(metrics, gates);
  addBuildMetric(metrics);
  addMetricCounts(metrics);
  const startedSeconds = Date.now() / 1000 - process.uptime();
  const gauge = gaugesOf(metrics);
  metrics.observable(
    {
      name: "process_cpu_seconds_total",
      help: "CPU time of the process, of user and system together.",
      type: "counter",
      isUnstaged: true,
    },
    () => {
      const { user, system } = process.cpuUsage();
      return one((user + system) / 1e6);
    },
  );
  gauge("process_start_time_seconds", "Time of the start, in seconds since 1970.", () => startedSeconds);
  gauge("process_resident_memory_bytes", "Memory of the process that is in RAM.", () => process.memoryUsage.rss());
  metrics.observable(
    { name: "process_open_fds", help: "File descriptors that the process has.", type: "gauge", isUnstaged: true },
    openFiles,
  );
  metrics.observable(
    {
      name: "process_max_fds",
      help: "Most file descriptors that the process may have.",
      type: "gauge",
      isUnstaged: true,
    },
    maxFiles,
  );
  metrics.observable(
    {
      name: "process_virtual_memory_bytes",
      help: "Addresses that the process has reserved, in bytes.",
      type: "gauge",
      isUnstaged: true,
    },
    () => fromFile("/proc/self/status", /^VmSize:\s+(\d+) kB/m, (kibibytes) => Number(kibibytes) * 1024),
  );
  metrics.observable(
    {
      name: "process_virtual_memory_max_bytes",
      help: "Most addresses that the process may reserve, in bytes.",
      type: "gauge",
      isUnstaged: true,
    },
    () =>
      fromFile("/proc/self/limits", /^Max address space\s+(\d+|unlimited)/m, (limit) =>
        limit === "unlimited" ? 2 ** 64 : Number(limit),
      ),
  );
  const memory = process.memoryUsage;
  gauge("nodejs_heap_size_total_bytes", "Process heap size from Node.js in bytes.", () => memory().heapTotal);
  gauge("nodejs_heap_size_used_bytes", "Process heap size used from Node.js in bytes.", () => memory().heapUsed);
  gauge("nodejs_external_memory_bytes", "Node.js external memory size in bytes.", () => memory().external);
  let before = performance.eventLoopUtilization();
  gauge("nodejs_eventloop_utilization", "Share of time the event loop was busy since the last scrape.", () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  });
}

/** Adds the numbers of metrics that are shown, hidden since they are deprecated, and disabled by a flag. */
function addMetricCounts(metrics: Metrics): void {
  const count = (name: string, what: string, read: () => number): void =>
    metrics.observable({ name, help: `[BETA] Metrics that are ${what}.`, type: "counter" }, () => one(read()));
  count("hidden_metrics_total", "hidden", () => metrics.counts.hidden);
  count("disabled_metrics_total", "disabled", () => metrics.counts.disabled);
  metrics.observable(
    {
      name: "cardinality_enforcement_unexpected_categorizations_total",
      help: "Uses of label values that --allow-metric-labels does not name.",
      type: "counter",
    },
    () => one(metrics.counts.unexpected),
  );
  metrics.observable(
    {
      name: "registered_metrics_total",
      help: "[BETA] Metrics that were made, by stability and by the release that deprecates them.",
      type: "counter",
      labels: ["stability_level", "deprecated_version"],
    },
    () => metrics.counts.shown,
  );
}

/** Adds a gauge that is always 1, with the fields of `/version` as labels. */
function addBuildMetric(metrics: Metrics): void {
  const document = versionDocument(programVersion());
  const fields = Object.entries(document).map(([name, value]) => [name.replace(/[A-Z]/g, "_$&").toLowerCase(), value]);
  const [labels, values] = [fields.map(([name]) => name!), fields.map(([, value]) => value!)]; // pairs
  metrics
    .gauge({ name: "kubernetes_build_info", help: "Always 1; the labels say which version of the API runs.", labels })
    .with(...values)
    .set(1);
}

/** Adds a gauge of each feature gate, which is 1 when the gate is on. */
function addFeatureMetrics(metrics: Metrics, { all }: Pick<FeatureGates, "all">): void {
  metrics.observable(
    {
      name: "kubernetes_feature_enabled",
      help: "[BETA] 1 for each feature gate that is on, 0 for others, by its stage.",
      type: "gauge",
      labels: ["name", "stage"],
    },
    () =>
      all.map(({ name, stage, isOn }) => ({
        labels: [name, stage === "ga" ? "" : stage.toUpperCase()],
        value: isOn ? 1 : 0,
      })),
  );
}

/** Returns the metrics of open files on Linux; empty on other systems. */
function openFiles(): readonly Sample[] {
  try {
    return one(readdirSync("/proc/self/fd").length);
  } catch {
    return [];
  }
}

function maxFiles(): readonly Sample[] {
  const most = openFilesMax();
  return most === undefined ? [] : one(most);
}

/** Returns the metric of what a file of Linux says about the process; empty on other systems. */
function fromFile(path: string, line: RegExp, valueOf: (found: string) => number): readonly Sample[] {
  try {
    const [, found] = line.exec(readFileSync(path, "utf8")) ?? [];
    return found === undefined ? [] : one(valueOf(found));
  } catch {
    return [];
  }
}

/**
 * Returns the maximum number of open files of the process, sockets included; `undefined` without a limit, or on systems
 * other than Linux.
 */
export function openFilesMax(): number | undefined {
  try {
    const [, limit] = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}

/** Makes the metrics of the store, which the store reports or each scrape reads. */
export function storageObserver(metrics: Metrics): StorageObserver {
  const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
  const seconds = (name: string, help: string) => metrics.histogram({ name, help, buckets }).with();
  const counter = (name: string, help: string) => metrics.counter({ name, help }).with();
  const commit = seconds(
    "binnacle_storage_commit_duration_seconds",
    "Time from handing writes to the log until they were synced, per transaction.",
  );
  const writes = counter("binnacle_storage_writes_total", "Writes made durable.");
  const compaction = seconds("binnacle_storage_compaction_duration_seconds", "Time of compactions.");
  const expired = counter("binnacle_storage_expired_total", "Objects deleted because their time was over.");
  const deliveries = counter("binnacle_storage_watch_deliveries_total", "Batches of events handed to watchers.");
  return {
    commit(count, duration) {
      writes.add(count);
      commit.observe(duration);
    },
    compaction: (_revision, duration) => compaction.observe(duration),
    expired: (keys) => expired.add(keys),
    flush: (count) => deliveries.add(count),
  };
}

/** Adds the metric of the size of the store, with a sample labelled by the name of the store. */
export function addSizeMetric(metrics: Metrics, help: string, read: () => readonly Sample[]): void {
  const name = "apiserver_storage_size_bytes";
  metrics.observable({ name, help: `[STABLE] ${help}`, type: "gauge", labels: ["storage_cluster_id"] }, read);
}

/** Adds the metrics of the log of a store on disk. */
export function addLogMetrics(
  metrics: Metrics,
  logState: () => { readonly bytes: number; readonly since: number; readonly fileBytes: number },
): void {
  addSizeMetric(metrics, "Bytes of the files of the store on disk.", () => [
    { labels: ["sqlite"], value: logState().fileBytes },
  ]);
  const gauge = gaugesOf(metrics);
  gauge("binnacle_storage_log_bytes", "Bytes of objects in the log, with their history.", () => logState().bytes);
  gauge("binnacle_storage_history_revision", "Revision up to which old versions are gone.", () => logState().since);
}

export function addStorageMetrics(metrics: Metrics, cache: LogWatchCache): void {
  const gauge = gaugesOf(metrics);
  gauge("binnacle_storage_failed", "1 when the store takes no more writes until the server is started again.", () =>
    cache.failure === undefined ? 0 : 1,
  );
  gauge("binnacle_storage_revision", "Revision that reads see.", () => cache.revision);
  gauge("binnacle_storage_compacted_revision", "Oldest revision kept.", () => cache.compactedRevision);
  gauge("binnacle_storage_keys", "Objects stored.", () => cache.statistics.keys);
  gauge("binnacle_storage_watchers", "Open watches.", () => cache.statistics.watchers);
  gauge("binnacle_storage_value_bytes", "Bytes of objects held in memory.", () => cache.statistics.valueBytes);
  gauge("binnacle_storage_history_bytes", "Of them for history only.", () => cache.statistics.historyBytes);
}
