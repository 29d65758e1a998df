/** A queue behaves like an array, at any length. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { Deque } from "./deque.ts";
import { seededRandom } from "./random.ts";

test("items leave in the order they came, through growth and shrinking", () => {
  const deque = new Deque<number>();
  const model: number[] = [];
  const random = seededRandom(1);
  for (let i = 0; i < 50_000; i++) {
    // Long phases of pushing alternate with long phases of shifting.
    if (random.next() < (Math.floor(i / 5000) % 2 === 0 ? 0.8 : 0.2)) {
      deque.push(i);
      model.push(i);
    } else {
      assert.equal(deque.shift(), model.shift());
    }
    assert.equal(deque.length, model.length);
    const index = Math.floor(random.next() * (model.length + 1));
    assert.equal(deque.at(index), model[index]);
    assert.equal(deque.last(), model.at(-1));
  }
  assert.equal(deque.at(-1), undefined);
});

test("the first index after a value is found by bisection", () => {
  const deque = new Deque<number>();
  for (let i = 0; i < 100; i++) deque.push(i * 2);
  for (let i = 0; i < 10; i++) deque.shift();
  assert.equal(
    deque.firstIndex((item) => item > 0),
    0,
  );
  assert.equal(
    deque.firstIndex((item) => item > 20),
    1,
  );
  assert.equal(
    deque.firstIndex((item) => item > 21),
    1,
  );
  assert.equal(
    deque.firstIndex((item) => item > 1000),
    deque.length,
  );
});
