/** A heap behaves like a sorted array. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { Heap } from "./heap.ts";
import { seededRandom } from "./random.ts";

test("the smallest item is always on top, also after a filter", () => {
  const random = seededRandom(3);
  const heap = new Heap<number>((a, b) => a < b);
  let model: number[] = [];
  for (let i = 0; i < 5000; i++) {
    const dice = random.next();
    if (dice < 0.6) {
      const item = Math.floor(random.next() * 1000);
      heap.push(item);
      model.push(item);
    } else if (dice < 0.99) {
      model.sort((a, b) => a - b);
      assert.equal(heap.pop(), model.shift());
    } else {
      heap.filter((item) => item % 3 !== 0);
      model = model.filter((item) => item % 3 !== 0);
    }
    assert.equal(heap.size, model.length);
    assert.equal(heap.peek(), model.length === 0 ? undefined : Math.min(...model));
  }
});
