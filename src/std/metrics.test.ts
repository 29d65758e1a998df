/** Metrics print in Prometheus' format and stay bounded. */
import assert from "node:assert";
import { test } from "node:test";
import { type Deprecation, isHidden, Metrics } from "./metrics.ts";
import { partOfPath, retainedBytes } from "./retained-for-tests.ts";
import { QuantileSummary } from "./quantile-summary.ts";

void test("counters, gauges and histograms print in order of names, label values escaped", () => {
  const metrics = new Metrics();
  const requests = metrics.counter({ name: "b_total", help: "Two\nlines", labels: ["path"] });
  requests.with('a"b\\c\nd').add();
  requests.with("x").add(2);
  const now = metrics.gauge({ name: "a_now", help: "Gauge" }).with();
  now.set(3);
  now.add(-1);
  const sizes = metrics.histogram({ name: "c_sizes", help: "Sizes", buckets: [1, 2.5] }).with();
  for (const size of [0.5, 1, 2, 9]) sizes.observe(size);
  metrics.observable({ name: "d_seen", help: "Seen", type: "gauge", labels: ["k"] }, () => [
    { labels: ["v"], value: 7 },
  ]);
  assert.strictEqual(
    metrics.print(),
    `# HELP a_now Gauge
# TYPE a_now gauge
a_now 2
# HELP b_total Two\\nlines
# TYPE b_total counter
b_total{path="a\\"b\\\\c\\nd"} 1
b_total{path="x"} 2
# HELP c_sizes Sizes
# TYPE c_sizes histogram
c_sizes_bucket{le="1"} 2
c_sizes_bucket{le="2.5"} 3
c_sizes_bucket{le="+Inf"} 4
c_sizes_sum 12.5
c_sizes_count 4
# HELP d_seen Seen
# TYPE d_seen gauge
d_seen{k="v"} 7
`,
  );
});

void test("a metric without label sets yet is not printed", () => {
  const metrics = new Metrics();
  metrics.counter({ name: "a_total", help: "None", labels: ["x"] });
  assert.strictEqual(metrics.print(), "");
});

void test("label sets beyond the bound share one", () => {
  const metrics = new Metrics();
  const counter = metrics.counter({ name: "a_total", help: "Many", labels: ["x", "y"], seriesMax: 3 });
  for (let i = 0; i < 100; i++) counter.with(`x${i}`, "y").add();
  const lines = metrics
    .print()
    .split("\n")
    .filter((line) => line.startsWith("a_total"));
  assert.deepStrictEqual(lines, [
    'a_total{x="x0",y="y"} 1',
    'a_total{x="x1",y="y"} 1',
    'a_total{x="x2",y="y"} 1',
    'a_total{x="other",y="other"} 97',
  ]);
});

void test("a name can be used once, and label values must be as many as names", () => {
  const metrics = new Metrics();
  const counter = metrics.counter({ name: "a_total", help: "A", labels: ["x"] });
  assert.throws(() => metrics.gauge({ name: "a_total", help: "B" }), /exists/);
  assert.throws(() => counter.with("1", "2"), /1 label values/);
});

void test("label sets of what is gone are dropped, also to make room for others", () => {
  const metrics = new Metrics();
  const there = new Set(["a", "b"]);
  let drops = 0;
  const total = metrics.counter({
    name: "total",
    help: "Total",
    labels: ["of"],
    seriesMax: 2,
    isThere: ([name = ""]) => there.has(name),
    dropped: () => drops++,
  });
  total.with("a").add();
  total.with("b").add();
  const lines = (): string[] => metrics.print().split("\n").slice(2, -1);
  assert.deepStrictEqual(lines(), ['total{of="a"} 1', 'total{of="b"} 1']);
  assert.strictEqual(drops, 0);
  there.delete("a");
  there.add("c");
  total.with("c").add(3);
  assert.strictEqual(drops, 1);
  there.add("d");
  total.with("d").add();
  assert.deepStrictEqual(lines(), ['total{of="b"} 1', 'total{of="c"} 3', 'total{of="other"} 1']);
  there.clear();
  assert.deepStrictEqual(lines(), ['total{of="other"} 1']);
});

void test("a deprecated metric is shown for as many releases as its stability says, then hidden [VER-32] [VER-34]", () => {
  const shownIn = (stability: Deprecation["stability"]): number[] =>
    [29, 30, 31, 32, 33].filter((minor) => !isHidden({ minor: 29, stability }, minor));
  assert.deepStrictEqual(shownIn("alpha"), [29]);
  assert.deepStrictEqual(shownIn("beta"), [29]);
  assert.deepStrictEqual(shownIn("stable"), [29, 30, 31]);
});

void test("hidden and disabled metrics take values, and are printed only if they are to be shown [VER-33] [VER-35]", () => {
  const printed = (shown: ConstructorParameters<typeof Metrics>[0]): string => {
    const metrics = new Metrics(shown);
    const old = { name: "old_total", help: "Before", deprecated: { minor: 31, stability: "alpha" } } as const;
    metrics.counter(old).with().add();
    metrics.counter({ name: "new_total", help: "After" }).with().add();
    return metrics.print();
  };
  assert.doesNotMatch(printed({ minor: 32 }), /old_total/);
  assert.match(printed({ minor: 31 }), /^# HELP old_total \(Deprecated from 1\.31\) Before$/m);
  assert.match(printed({ minor: 32, showsHidden: true }), /^old_total 1$/m);
  assert.doesNotMatch(printed({ minor: 32, showsHidden: true, disabled: ["old_total"] }), /old_total/);
  assert.doesNotMatch(printed({ disabled: ["new_total"] }), /new_total/);
});

void test("a histogram is shown under its former name, too, where that is not hidden", () => {
  const printed = (showsHidden: boolean): string => {
    const metrics = new Metrics({ minor: 32, showsHidden });
    const former = { name: "before_seconds", deprecated: { minor: 27, stability: "alpha" } } as const;
    const family = metrics.histogram({ name: "now_seconds", help: "Time.", labels: ["of"], buckets: [1], former });
    family.with("a").observe(0.5);
    return metrics.print();
  };
  assert.doesNotMatch(printed(false), /before_seconds/);
  assert.match(printed(true), /^# HELP before_seconds \(Deprecated from 1\.27\) Time\.$/m);
  for (const name of ["before_seconds", "now_seconds"])
    assert.match(printed(true), new RegExp(`^${name}_bucket\\{of="a",le="1"\\} 1$`, "m"));
});

void test("the help of a server's metrics begins with their stability, except of those that have none", () => {
  const metrics = new Metrics({ minor: 32 });
  metrics.counter({ name: "a_total", help: "A" }).with();
  metrics.counter({ name: "b_total", help: "[BETA] B" }).with();
  metrics.counter({ name: "c_total", help: "C", isUnstaged: true }).with();
  const help = metrics.print().match(/^# HELP .*$/gm);
  assert.deepStrictEqual(help, ["# HELP a_total [ALPHA] A", "# HELP b_total [BETA] B", "# HELP c_total C"]);
});

void test("label values that are not allowed are counted together, and how often they are used", () => {
  const allowed = new Map([["verb", new Set(["GET"])]]);
  const names = ["a_total", "b_now", "c_sizes", "d_times", "e_seen"];
  const metrics = new Metrics({ allowedLabels: new Map(names.map((name) => [name, allowed])) });
  const labels = ["verb", "code"];
  const there = new Set(["GET"]);
  const total = metrics.counter({ name: "a_total", help: "A", labels, isThere: ([verb = ""]) => there.has(verb) });
  const kept = total.with("PUT", "200");
  for (let i = 0; i < 3; i++) kept.add(2);
  total.with("GET", "200").add();
  total.with("POST", "200").add();
  metrics.gauge({ name: "b_now", help: "B", labels }).with("PUT", "1").set(4);
  metrics.histogram({ name: "c_sizes", help: "C", labels, buckets: [] }).with("PUT", "1").observe(1);
  metrics
    .summary({ name: "d_times", help: "D", labels, quantiles: [], make: () => new QuantileSummary(1000), now: () => 0 })
    .with("PUT", "1")
    .observe(5, 0);
  assert.strictEqual(metrics.counts.unexpected, 7);
  metrics.observable({ name: "e_seen", help: "E", type: "gauge", labels: ["verb"] }, () =>
    ["PUT", "POST", "GET"].map((verb) => ({ labels: [verb], value: 2 })),
  );
  metrics
    .counter({ name: "f_total", help: "F", labels: ["verb"] })
    .with("PUT")
    .add();
  assert.deepStrictEqual(metrics.print().match(/^[^#].*$/gm), [
    'a_total{verb="unexpected",code="200"} 7',
    'a_total{verb="GET",code="200"} 1',
    'b_now{verb="unexpected",code="1"} 4',
    'c_sizes_bucket{verb="unexpected",code="1",le="+Inf"} 1',
    'c_sizes_sum{verb="unexpected",code="1"} 1',
    'c_sizes_count{verb="unexpected",code="1"} 1',
    'd_times_sum{verb="unexpected",code="1"} 5',
    'd_times_count{verb="unexpected",code="1"} 1',
    'e_seen{verb="unexpected"} 4',
    'e_seen{verb="GET"} 2',
    'f_total{verb="PUT"} 1',
  ]);
  assert.strictEqual(metrics.counts.unexpected, 9);
});

void test("label values that are parts of longer texts do not keep these", () => {
  const bytes = retainedBytes(() => {
    const metrics = new Metrics();
    const one = metrics.counter({ name: "a_total", help: "One", labels: ["resource"] });
    const two = metrics.counter({ name: "b_total", help: "Two", labels: ["verb", "resource"] });
    for (let i = 0; i < 500; i++) {
      one.with(partOfPath(`resources-of-kind-${i}`)).add();
      two.with("get", partOfPath(`resources-of-kind-${i}`)).add();
    }
    return metrics;
  });
  assert.ok(bytes < 20_000_000, `the paths have 60 MB, and ${bytes} bytes are kept`);
});
