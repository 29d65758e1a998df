/** An ordered map behaves like a sorted array, whatever shape the tree takes. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { OrderedMap, prefixEnd } from "./ordered-map.ts";
import { type Random, seededRandom } from "./random.ts";

function keysOf(map: OrderedMap<string>, from: string, to: string | undefined): string[] {
  const keys: string[] = [];
  map.scan(from, to, (value, key) => {
    assert.equal(value, `value of ${key}`);
    keys.push(key);
    return true;
  });
  return keys;
}

/**
 * Adds random keys with the probability `chance`, otherwise removes them, and compares with a sorted array from time to
 * time.
 */
function churn(random: Random, map: OrderedMap<string>, model: Set<string>, steps: number, chance: number): void {
  for (let i = 0; i < steps; i++) {
    const key = `k${Math.floor(random.next() * 20_000)}`;
    if (random.next() < chance) {
      map.set(key, `value of ${key}`);
      model.add(key);
    } else {
      assert.equal(map.delete(key), model.delete(key));
    }
    assert.equal(map.size, model.size);
    if (i % 1000 !== 0) continue;
    const sorted = [...model].toSorted((a, b) => (a < b ? -1 : 1));
    const [from, to] = [`k${Math.floor(random.next() * 20_000)}`, `k${Math.floor(random.next() * 20_000)}`];
    assert.deepEqual(
      keysOf(map, from, to),
      sorted.filter((other) => other >= from && other < to),
    );
    assert.equal(map.rank(from), sorted.filter((other) => other < from).length);
    assert.equal(map.rank(undefined), sorted.length);
    assert.equal(map.get(from), model.has(from) ? `value of ${from}` : undefined);
  }
}

test("the map holds the entries of a sorted array, growing and shrinking, in order, and by rank", () => {
  const random = seededRandom(7);
  const map = new OrderedMap<string>();
  const model = new Set<string>();
  for (const chance of [0.9, 0.1, 0.6, 0.02, 0.5, 0]) churn(random, map, model, 20_000, chance);
  for (const key of model) map.delete(key);
  assert.equal(map.size, 0);
  assert.deepEqual(keysOf(map, "", undefined), []);
});

test("keys that come in order, forwards or backwards, are found again", () => {
  for (const direction of [1, -1]) {
    const map = new OrderedMap<string>();
    const names = Array.from(
      { length: 10_000 },
      (_, i) => `n${String(direction === 1 ? i : 9999 - i).padStart(5, "0")}`,
    );
    for (const name of names) map.set(name, `value of ${name}`);
    assert.deepEqual(
      keysOf(map, "", undefined),
      names.toSorted((a, b) => (a < b ? -1 : 1)),
    );
    for (const name of names) assert.equal(map.delete(name), true);
    assert.equal(map.size, 0);
  }
});

test("a scan ends when the visitor has seen enough", () => {
  const map = new OrderedMap<number>();
  for (let i = 0; i < 1000; i++) map.set(String(i), i);
  let visited = 0;
  map.scan("", undefined, () => ++visited < 3);
  assert.equal(visited, 3);
});

test("the end of a prefix is just past everything that starts with it", () => {
  assert.equal(prefixEnd("a/"), "a0");
  assert.equal(prefixEnd(""), undefined);
  assert.equal(prefixEnd("a\uffff"), "b");
  assert.equal(prefixEnd("\uffff\uffff"), undefined);
});
