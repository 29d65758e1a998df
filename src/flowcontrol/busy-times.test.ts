/** Histograms weighted by time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Metrics } from "#std/metrics.ts";
import { LevelTimes, TimedCount } from "./busy-times.ts";

const ns = 1e6;

function histogram(name: string, ...buckets: readonly number[]) {
  const metrics = new Metrics();
  const child = metrics.histogram({ name, help: "-", buckets }).with();
  const value = (which: string): number =>
    Number(new RegExp(`^${name}_${which} (.*)$`, "m").exec(metrics.print())?.[1]);
  return { child, sum: () => value("sum") / ns, below: (le: string) => value(`bucket\\{le="${le}"\\}`) / ns };
}

test("a count is seen as long as it lasts, as a part of what it was a part of then", () => {
  const { child, sum, below } = histogram("h", 0, 0.5, 1);
  const count = new TimedCount(child, 1000);
  count.settle(1000, 10);
  count.change(5, 1100); // 100 ms of 0
  count.change(3, 1150); // 50 ms of a half
  count.settle(1150, 80);
  count.change(-8, 1160); // 10 ms of a tenth
  count.settle(1200); // 40 ms of 0
  assert.deepEqual([below("0"), below("0.5"), below("1")], [140, 200, 200]);
  assert.equal(sum(), 50 * 0.5 + 10 * 0.1);
  assert.equal(count.value, 0);
  count.change(100_000, 1200);
  count.change(-100_000, 1201);
  assert.equal(below("\\+Inf"), 201);
});

test("a level's seats, requests and demand are one figure while no request waits, and three otherwise", () => {
  const all = {
    seats: histogram("seats", 0, 0.5, 1),
    running: histogram("running", 0, 0.25, 1),
    waiting: histogram("waiting", 0, 1),
    demand: histogram("demand", 0, 1, 2),
  };
  const { seats, running, waiting, demand } = all;
  const histograms = { seats: seats.child, running: running.child, waiting: waiting.child, demand: demand.child };
  const times = new LevelTimes(histograms, 0);
  const none = { seats: 0, running: 0, waiting: 0, waitingSeats: 0 };
  times.setWholes(0, none, 4, 10);
  times.pass(10, none);
  times.pass(30, { ...none, seats: 2, running: 2 });
  const busy = { seats: 4, running: 1, waiting: 5, waitingSeats: 4 };
  times.settle(40, busy);
  assert.deepEqual([seats.below("0"), seats.below("0.5"), seats.below("1")], [10, 30, 40]);
  assert.deepEqual([running.below("0"), running.below("0.25"), running.below("1")], [10, 20, 40]);
  assert.deepEqual([waiting.below("0"), waiting.below("1"), waiting.sum()], [30, 40, 5]);
  assert.deepEqual([demand.below("0"), demand.below("1"), demand.below("2")], [10, 30, 40]);
  // The value was 0 for 10 ms, 2 for 20 ms, and 8 for 10 ms.
  assert.deepEqual(times.demand.endPeriod(8), { average: 3, deviation: Math.sqrt(9), high: 8 });
});
