/** Insertion and removal in every order. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "./random.ts";
import { LinkedList, type Node } from "./linked-list.ts";

test("a node is in the list from its insertion to its removal", () => {
  const random = seededRandom(7);
  const list = new LinkedList<number>();
  const present = new Map<number, Node<number>>();
  for (let i = 0; i < 2000; i++) {
    const leaver = [...present][Math.floor(random.next() * present.size * 2)];
    if (leaver === undefined) present.set(i, list.add(i));
    else {
      list.remove(leaver[1]);
      present.delete(leaver[0]);
    }
    assert.strictEqual(list.size, present.size);
    if (i % 100 === 0)
      assert.deepStrictEqual(
        list.members().toSorted((a, b) => a - b),
        [...present.keys()],
      );
  }
});

test("removing a node twice does nothing", () => {
  const list = new LinkedList<string>();
  const a = list.add("a");
  list.add("b");
  list.remove(a);
  list.remove(a);
  assert.deepStrictEqual(list.members(), ["b"]);
  assert.strictEqual(list.size, 1);
});
