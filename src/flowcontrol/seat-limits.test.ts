/** Division of the seats. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allocate, Demand, divideSeats, seatLimits } from "./seat-limits.ts";

const shares = (count: number, lendablePercent: number, borrowingLimitPercent?: number) => ({
  shares: count,
  lendablePercent,
  borrowingLimitPercent,
});

test("a level has its share, lends a part of it, and borrows up to its limit", () => {
  assert.deepEqual(seatLimits(shares(20, 50), 245, 600), { nominal: 49, lower: 24, upper: 649 });
  assert.deepEqual(seatLimits(shares(30, 33, 100), 245, 600), { nominal: 74, lower: 50, upper: 148 });
  assert.deepEqual(seatLimits(shares(0, 0, 0), 245, 600), { nominal: 0, lower: 0, upper: 0 });
  assert.deepEqual(seatLimits(shares(0, 0), 0, 600), { nominal: 0, lower: 0, upper: 600 });
});

test("the last seat is never lent", () => {
  assert.deepEqual(seatLimits(shares(20, 100), 245, 4), { nominal: 1, lower: 1, upper: 5 });
});

test("an allocation is in proportion to the targets, within everybody's bounds", () => {
  const check = (total: number, claims: readonly (readonly [number, number, number])[], wanted: readonly number[]) => {
    const { seats } = allocate(
      total,
      claims.map(([lower, target, upper]) => ({ lower, target, upper })),
    );
    assert.deepEqual(
      seats.map((one) => Math.round(one * 1000) / 1000),
      wanted,
    );
  };
  check(
    100,
    [
      [0, 10, 200],
      [0, 30, 200],
    ],
    [25, 75],
  );
  check(
    100,
    [
      [40, 40, 200],
      [0, 160, 200],
    ],
    [40, 60],
  );
  check(
    100,
    [
      [0, 10, 200],
      [0, 30, 50],
    ],
    [50, 50],
  );
  check(
    10,
    [
      [5, 5, 5],
      [5, 100, 100],
    ],
    [5, 5],
  );
  check(
    100,
    [
      [0, 1, 10],
      [0, 1, 10],
    ],
    [10, 10],
  );
});

test("random allocations keep bounds and give out everything that can be given", () => {
  let state = 7;
  const random = (max: number): number => {
    state = (state * 48_271) % 2_147_483_647;
    return state % max;
  };
  for (let run = 0; run < 300; run++) {
    const claims = Array.from({ length: 1 + random(8) }, () => {
      const lower = random(50);
      return { lower, target: lower + random(100), upper: lower + random(200) };
    });
    const least = claims.reduce((sum, { lower }) => sum + lower, 0);
    const most = claims.reduce((sum, { upper }) => sum + upper, 0);
    const total = least + random(300);
    const { seats } = allocate(total, claims);
    for (const [index, { lower, upper }] of claims.entries()) {
      assert.ok(seats[index]! >= lower && seats[index]! <= upper);
    }
    const sum = seats.reduce((all, one) => all + one, 0);
    assert.ok(Math.abs(sum - Math.min(total, most)) < 0.01, `${sum} of ${total}`);
  }
});

test("exempt levels take what they use before the others divide the rest", () => {
  const limits = { nominal: 50, lower: 10, upper: 650 };
  const { seats } = divideSeats([
    { isExempt: true, limits: { nominal: 0, lower: 0, upper: 600 }, high: 30, smoothed: 30 },
    { isExempt: false, limits, high: 100, smoothed: 100 },
    { isExempt: false, limits, high: 0, smoothed: 0 },
  ]);
  assert.equal(seats[0], 30);
  assert.equal(seats[1]! + seats[2]!, 70);
  assert.ok(seats[1]! > 50);
  // Even with too few seats, no level gets less than its lower limit.
  const short = divideSeats([
    { isExempt: true, limits: { nominal: 0, lower: 0, upper: 600 }, high: 95, smoothed: 95 },
    { isExempt: false, limits, high: 100, smoothed: 100 },
    { isExempt: false, limits, high: 100, smoothed: 100 },
  ]);
  assert.deepEqual(short.seats, [95, 10, 10]);
});

test("demand is averaged over time and falls slowly", () => {
  const demand = new Demand();
  demand.add(10, 5000);
  demand.add(0, 5000);
  assert.deepEqual(demand.endPeriod(0), { average: 5, deviation: 5, high: 10 });
  assert.equal(demand.smoothed, 10);
  demand.add(0, 10_000);
  assert.equal(demand.endPeriod(0).high, 0);
  assert.ok(demand.smoothed > 9.7 && demand.smoothed < 10);
});
