/** Tests of the queues that each flow may use. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dealHand } from "./shuffle-shard.ts";

test("a hand has different queues, the same ones each time, and no more than there are", () => {
  for (let flow = 0; flow < 500; flow++) {
    const hand = dealHand(`flow-${flow}`, 128, 6);
    assert.equal(new Set(hand).size, 6);
    assert.ok(hand.every((queue) => queue >= 0 && queue < 128));
    assert.deepEqual(dealHand(`flow-${flow}`, 128, 6), hand);
  }
  assert.deepEqual([...dealHand("x", 3, 8)].sort(), [0, 1, 2]);
});

test("hands are spread over all queues, and two flows rarely share theirs", () => {
  const counts = new Map<number, number>();
  const hands = new Set<string>();
  for (let flow = 0; flow < 2000; flow++) {
    const hand = dealHand(`user/${flow}`, 64, 6);
    hands.add([...hand].sort((a, b) => a - b).join());
    for (const queue of hand) counts.set(queue, (counts.get(queue) ?? 0) + 1);
  }
  assert.ok(hands.size > 1990, String(hands.size));
  const even = (2000 * 6) / 64;
  for (let queue = 0; queue < 64; queue++) {
    assert.ok(Math.abs((counts.get(queue) ?? 0) - even) < even / 2, `${queue}: ${counts.get(queue)}`);
  }
});
