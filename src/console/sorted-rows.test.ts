/** Rows that stay sorted while some of them change, and the work that this takes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { compareSortKeys, type RowChange, SortedRows } from "./sorted-rows.ts";

interface Row {
  readonly key: string;
  readonly size: number;
}

const row = (key: number, size: number): RowChange<Row> => {
  const name = String(key).padStart(6, "0");
  return { key: name, row: { key: name, size } };
};

function open(isDown = false) {
  const work = { keys: 0, comparisons: 0 };
  const rows = new SortedRows<Row>({
    fits: ({ size }) => size >= 0,
    sortKeyOf: ({ size }) => {
      work.keys += 1;
      return size;
    },
    compare(one, other) {
      work.comparisons += 1;
      return isDown ? compareSortKeys(other, one) : compareSortKeys(one, other);
    },
  });
  return { rows, work };
}

for (const isDown of [false, true]) {
  test(`changed rows are where sorting all of them would put them: ${isDown ? "downwards" : "upwards"}`, () => {
    const { rows } = open(isDown);
    const model = new Map<string, Row>();
    let seed = 7;
    const random = (max: number): number => (seed = (seed * 48_271) % 2_147_483_647) % max;
    for (let round = 0; round < 300; round++) {
      const changes = Array.from({ length: random(12) }, (): RowChange<Row> => {
        const changed = row(random(60), random(8) - 1);
        return random(4) === 0 ? { key: changed.key, row: undefined } : changed;
      });
      rows.change(changes);
      for (const { key, row: changed } of changes) {
        if (changed === undefined || changed.size < 0) model.delete(key);
        else model.set(key, changed);
      }
      const sign = isDown ? -1 : 1;
      const expected = [...model.values()].sort(
        (one, other) => sign * (one.size - other.size) || compareSortKeys(one.key, other.key),
      );
      assert.deepEqual(rows.rows, expected);
    }
  });
}

test("a change of some rows among many compares few, and makes no key of the others", () => {
  const { rows, work } = open();
  const count = 10_000;
  rows.change(Array.from({ length: count }, (_, at) => row(at, at % 100)));
  Object.assign(work, { keys: 0, comparisons: 0 });
  rows.change(Array.from({ length: 100 }, (_, at) => row(at * 100, 50)));
  assert.equal(work.keys, 100);
  // Each is found among 10,000, and sorted among 100.
  assert.ok(work.comparisons <= 100 * (14 + 7), `${work.comparisons} comparisons`);
  assert.equal(rows.rows.length, count);
});

test("numbers come before texts, so that every column has one order", () => {
  assert.deepEqual(["b", 10, "a", 9, ""].sort(compareSortKeys), [9, 10, "", "a", "b"]);
});
