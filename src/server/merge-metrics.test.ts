/** One page of metrics for several processes. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#std/clock.ts";
import { Metrics } from "#std/metrics.ts";
import { startServer } from "./start-server.ts";
import { countedMetrics, gaugeRule, mergeMetrics } from "./merge-metrics.ts";
import { QuantileSummary } from "#std/quantile-summary.ts";

/** Returns the page of a process that has done some work. */
function page(work: (metrics: Metrics) => void): string {
  const metrics = new Metrics();
  work(metrics);
  return metrics.print();
}

test("counters and histograms add up, also those that only one process has", async () => {
  const pages = [1, 2].map((by) =>
    page((metrics) => {
      const requests = metrics.counter({ name: "requests_total", help: "Requests.", labels: ["path"] });
      requests.with("/a b} 1").add(by);
      requests.with(`/${by}`).add(10);
      const times = metrics.histogram({ name: "times", help: 'Back\\slash "quotes"\nlines.', buckets: [1, 2] }).with();
      times.observe(by);
    }),
  );
  assert.equal(
    await mergeMetrics(pages, 3, systemClock),
    `# HELP binnacle_processes_missing [ALPHA] Processes of this server that did not answer, so that this page has their last figures.
# TYPE binnacle_processes_missing gauge
binnacle_processes_missing 3
# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{path="/a b} 1"} 3
requests_total{path="/1"} 10
requests_total{path="/2"} 10
# HELP times Back\\\\slash "quotes"\\nlines.
# TYPE times histogram
times_bucket{le="1"} 1
times_bucket{le="2"} 2
times_bucket{le="+Inf"} 2
times_sum 3
times_count 2
`,
  );
});

test("gauges of work add up, what all processes know alike does not, and the start is that of the eldest", async () => {
  const pages = [5, 7].map((value) =>
    page((metrics) => {
      for (const name of [
        "process_open_fds",
        "binnacle_storage_watchers",
        "binnacle_storage_revision",
        "apiserver_storage_objects",
        "process_start_time_seconds",
      ])
        metrics.gauge({ name, help: "Text." }).with().set(value);
    }),
  );
  const merged = await mergeMetrics(pages, 0, systemClock);
  for (const line of [
    "process_open_fds 12",
    "binnacle_storage_watchers 12",
    "binnacle_storage_revision 7",
    "apiserver_storage_objects 7",
    "process_start_time_seconds 5",
  ])
    assert.ok(merged.includes(`\n${line}\n`), line);
});

const waitsOf = (metrics: Metrics) =>
  metrics.summary({
    name: "waits",
    help: "Waits.",
    quantiles: [0.5],
    make: () => new QuantileSummary(1000),
    now: () => 0,
  });

test("quantiles of a summary are the largest, and its count adds up", async () => {
  const pages = [0, 3].map((times) =>
    page((metrics) => {
      const summary = waitsOf(metrics);
      if (times > 0) summary.with().observe(1, 0, times);
      else summary.with();
    }),
  );
  const merged = await mergeMetrics(pages, 0, systemClock);
  assert.match(merged, /^waits\{quantile="0.5"\} (?:1|0\.9|1\.0)/m);
  assert.match(merged, /^waits_count 3$/m);
});

test("what ended processes have counted is kept, without gauges and quantiles", async () => {
  const pages = [1, 2].map((by) =>
    page((metrics) => {
      metrics.counter({ name: "requests_total", help: "Requests." }).with().add(by);
      metrics.gauge({ name: "depth", help: "Depth." }).with().set(by);
      metrics
        .histogram({ name: "times", help: "Times.", buckets: [1] })
        .with()
        .observe(by);
      const summary = waitsOf(metrics);
      summary.with().observe(by, 0, 1);
    }),
  );
  const counted = await countedMetrics(pages, systemClock);
  assert.equal(
    counted,
    `# HELP requests_total Requests.
# TYPE requests_total counter
requests_total 3
# HELP times Times.
# TYPE times histogram
times_bucket{le="1"} 1
times_bucket{le="+Inf"} 2
times_sum 3
times_count 2
# HELP waits Waits.
# TYPE waits summary
waits_sum 3
waits_count 2
`,
  );
  assert.equal(await countedMetrics([counted], systemClock), counted);
});

test("other work has its turn while long pages are merged", async () => {
  const long = page((metrics) => {
    const requests = metrics.counter({ name: "requests_total", help: "Requests.", labels: ["path"] });
    for (let at = 0; at < 5000; at++) requests.with(`/${at}`).add();
  });
  // A pause is due whenever somebody asks.
  let now = 0;
  const clock = { ...systemClock, monotonic: () => (now += 1000) };
  let turns = 0;
  const turn = (): void => {
    turns++;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  await mergeMetrics([long, long, long], 0, clock);
  clearImmediate(next);
  assert.ok(turns >= 50, `${turns}`);
});

test("somebody has thought of each gauge of a server", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-gauges-"));
  let print = (): string => "";
  const server = await startServer(
    { dataDir: join(folder, "data"), securePort: 0, processes: 2 },
    {
      processes: {
        index: 0,
        count: 2,
        port: undefined,
        folder,
        offerMetrics(of) {
          print = of;
        },
        gatherMetrics: (own) => Promise.resolve(own),
        end() {},
        othersEnded: () => Promise.resolve(),
      },
    },
  );
  t.after(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });
  const gauges = Array.from(print().matchAll(/^# TYPE (\S+) gauge$/gm), ([, name]) => name!);
  assert.ok(gauges.length > 30, gauges.join());
  assert.deepEqual(
    gauges.filter((name) => gaugeRule(name) === undefined),
    [],
  );
});
