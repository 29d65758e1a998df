/** Lists of indexes that grow, and the indexes that they lack. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { absentIndexes, addIndexes, countIndexes } from "./index-list.ts";

test("indexes are added in order, and ranges that meet become one", () => {
  assert.equal(addIndexes("", [3, 1, 1], 5), "1,3");
  assert.equal(addIndexes("0-1,4", [2], 6), "0-2,4");
  assert.equal(addIndexes("0-1,4", [3, 2, 5], 6), "0-5");
  assert.equal(addIndexes("0-3", [2, -1, 9, Number.NaN], 6), "0-3");
  assert.equal(addIndexes("x,2", [], 6), "2");
});

test("the indexes that a list lacks are found without the others being counted", () => {
  assert.deepEqual(absentIndexes("", 3, 9), [0, 1, 2]);
  assert.deepEqual(absentIndexes("0,2-3", 6, 2), [1, 4]);
  assert.deepEqual(absentIndexes("0-2", 3, 9), []);
  const most = 2 ** 31 - 1;
  assert.deepEqual(absentIndexes(`0-${most - 3}`, most, 9), [most - 2, most - 1]);
  assert.equal(countIndexes(`0-${most - 3}`, most), most - 2);
});
