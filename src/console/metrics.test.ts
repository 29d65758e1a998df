/** Tests of the reader of metrics: labels with quotes, sums, and quantiles of histograms. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { MetricsPage } from "./metrics.ts";

const page = new MetricsPage(`# HELP a text
# TYPE a counter
a{code="200",verb="LIST"} 3
a{code="500",verb="say \\"hi\\", {x=\\"y\\"}"} 2
b 7.5
h_bucket{verb="GET",le="0.1"} 98
h_bucket{verb="GET",le="1"} 99
h_bucket{verb="GET",le="+Inf"} 100
h_bucket{verb="PUT",le="0.1"} 0
h_bucket{verb="PUT",le="+Inf"} 100
nonsense
`);

test("samples are added up, those alone whose labels are wanted", () => {
  assert.strictEqual(page.sum("a"), 5);
  assert.strictEqual(
    page.sum("a", ({ code }) => code === "500"),
    2,
  );
  assert.strictEqual(
    page.sum("a", ({ verb }) => verb === 'say "hi", {x="y"}'),
    2,
  );
  assert.deepEqual([page.sum("b"), page.sum("none")], [7.5, 0]);
});

test("a quantile is the bound of a bucket; without observations there is none", () => {
  const ofGet = ({ verb }: Readonly<Record<string, string>>): boolean => verb === "GET";
  assert.deepEqual(
    [0.5, 0.99, 1].map((share) => page.quantile("h", share, ofGet)),
    [0.1, 1, Infinity],
  );
  assert.strictEqual(
    page.quantile("none", 0.5, () => true),
    undefined,
  );
});
