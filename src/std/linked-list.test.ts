/** Joining and leaving, in every order. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "./random.ts";
import { LinkedList, type Node } from "./linked-list.ts";

test("who joined and did not leave is present", () => {
  const random = seededRandom(7);
  const roster = new LinkedList<number>();
  const present = new Map<number, Node<number>>();
  for (let i = 0; i < 2000; i++) {
    const leaver = [...present][Math.floor(random.next() * present.size * 2)];
    if (leaver === undefined) present.set(i, roster.join(i));
    else {
      roster.leave(leaver[1]);
      present.delete(leaver[0]);
    }
    assert.strictEqual(roster.size, present.size);
    if (i % 100 === 0)
      assert.deepStrictEqual(
        roster.members().toSorted((a, b) => a - b),
        [...present.keys()],
      );
  }
});

test("leaving twice does nothing", () => {
  const roster = new LinkedList<string>();
  const a = roster.join("a");
  roster.join("b");
  roster.leave(a);
  roster.leave(a);
  assert.deepStrictEqual(roster.members(), ["b"]);
  assert.strictEqual(roster.size, 1);
});
