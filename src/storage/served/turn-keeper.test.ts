/** Turns by themselves: which of them are known, and for how long. The others are in `served.test.ts`. */
import assert from "node:assert/strict";
import { test } from "node:test";

import type { CommitResult, LogWrite, Revision } from "../log-store.ts";
import { writeOf } from "./served-for-tests.ts";
import { TurnKeeper } from "./turn-keeper.ts";

const [one, other] = [{}, {}];

/** Returns a keeper of few turns, of a log that begins after `began`. */
function keeperOf(began: Revision): TurnKeeper {
  let revision = began;
  const commit = (): Promise<CommitResult> => Promise.resolve({ committed: true, revision: ++revision });
  return new TurnKeeper({ began, namesMax: 3, revision: () => revision, commit });
}

const inTurn = (name: string, seen: Revision): LogWrite => writeOf(name, 0, "x", { turn: { name, seen } });

test("turns that are too many are forgotten, and count as taken by anybody until then", async () => {
  const keeper = keeperOf(10);
  const outcomes: boolean[] = [];
  const take = async (name: string, seen: Revision, taker: object): Promise<void> => {
    outcomes.push((await keeper.commit(inTurn(name, seen), taker)).committed);
  };
  for (const name of ["a", "b", "c"]) await take(name, 10, one);
  await take("a", 10, one);
  // `b` is the oldest one now, which was taken at 12.
  await take("d", 13, one);
  await take("b", 11, one);
  await take("b", 13, other);
  assert.deepEqual(outcomes, [true, true, true, true, true, false, true]);
});

test("a write that fails does not take its turn", async () => {
  let isBroken = true;
  const keeper = new TurnKeeper({
    began: 0,
    namesMax: 3,
    revision: () => 0,
    commit: () => (isBroken ? Promise.reject(new Error("broken")) : Promise.resolve({ committed: true, revision: 1 })),
  });
  await assert.rejects(keeper.commit(inTurn("a", 0), one), /broken/);
  isBroken = false;
  assert.ok((await keeper.commit(inTurn("a", 0), other)).committed);
});
