/** Quantiles within two percent, of values that are not too old. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { QuantileSummary } from "./quantile-summary.ts";

const near = (actual: number, expected: number): void =>
  assert.ok(Math.abs(actual / expected - 1) < 0.021, `${actual} is not near ${expected}`);

test("quantiles of many values are right within two percent", () => {
  const summary = new QuantileSummary(1000);
  assert.ok(Number.isNaN(summary.quantile(0.5, 0)));
  for (let i = 1; i <= 1000; i++) summary.observe(i / 1000, 0);
  near(summary.quantile(0.5, 0), 0.5);
  near(summary.quantile(0.9, 0), 0.9);
  near(summary.quantile(0.99, 0), 0.99);
  assert.equal(summary.count, 1000);
  near(summary.sum, 500.5);
});

test("values of any size count", () => {
  const summary = new QuantileSummary(1000);
  summary.observe(0, 0);
  near(summary.quantile(0, 0), 1.02e-7);
  for (let i = 0; i < 5; i++) summary.observe(1e9, 0);
  assert.ok(summary.quantile(0.5, 0) > 1000);
});

test("old values are forgotten, but not by the count and the sum", () => {
  const summary = new QuantileSummary(1000);
  for (let i = 0; i < 100; i++) summary.observe(1, 0);
  near(summary.quantile(0.5, 900), 1);
  summary.observe(4, 900);
  near(summary.quantile(0.5, 1100), 4);
  assert.ok(Number.isNaN(summary.quantile(0.5, 5000)));
  assert.deepEqual([summary.count, summary.sum], [101, 104]);
});
