/** The seats of planes: how many requests are worked on, who waits, and who is refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Reply } from "#http/api-request.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { PlaneSeats } from "./plane-seats.ts";

const bounds = { runningMax: 2, waitingMax: 3 };
const plain: Reply = { code: 200 };
const refused: Reply = { code: 429 };
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Sends requests whose work ends when `finish` is called with their number. */
function crowd(seats: PlaneSeats, count: number, reply: Reply = plain) {
  const begun: number[] = [];
  const ends = new Map<number, () => void>();
  const answers: Reply[] = [];
  const requests = Array.from({ length: count }, () => ({ aborted: false }));
  for (const [at, request] of requests.entries()) {
    const work = (): Promise<Reply> => {
      begun.push(at);
      return new Promise((resolve) => ends.set(at, () => resolve(reply)));
    };
    void Promise.resolve(seats.handle(request, work, () => refused)).then((answer) => (answers[at] = answer));
  }
  const finish = async (at: number): Promise<void> => {
    ends.get(at)?.();
    await settle();
  };
  return { begun, answers, requests, finish };
}

test("as many requests of a plane as it has seats are worked on, and the others follow in order", async () => {
  const { begun, answers, finish } = crowd(new PlaneSeats(bounds, new FakeClock()), 5);
  assert.deepEqual(begun, [0, 1]);
  await finish(1);
  assert.deepEqual(begun, [0, 1, 2]);
  await finish(0);
  await finish(2);
  assert.deepEqual(begun, [0, 1, 2, 3, 4]);
  await finish(3);
  await finish(4);
  assert.deepEqual(
    answers.map(({ code }) => code),
    [200, 200, 200, 200, 200],
  );
});

test("a plane whose requests wait does not delay another", async () => {
  const clock = new FakeClock();
  const noisy = crowd(new PlaneSeats(bounds, clock), 5);
  const quiet = crowd(new PlaneSeats(bounds, clock), 1);
  assert.deepEqual(quiet.begun, [0]);
  assert.equal(noisy.begun.length, bounds.runningMax);
  await quiet.finish(0);
  assert.equal(quiet.answers[0]!.code, 200);
});

test("a request beyond those that may wait is refused, and one whose client has gone is not worked on", async () => {
  const { begun, answers, requests, finish } = crowd(new PlaneSeats(bounds, new FakeClock()), 6);
  await settle();
  assert.equal(answers[5]!.code, 429);
  requests[2]!.aborted = true;
  await finish(0);
  assert.deepEqual(begun, [0, 1, 3]);
});

test("a body that is made while it is written keeps its seat until it is written, but not for a slow client", async () => {
  const clock = new FakeClock();
  const body: Reply = { code: 200, chunks: (async function* () {})() as unknown as NonNullable<Reply["chunks"]> };
  const { begun, answers, finish } = crowd(new PlaneSeats(bounds, clock), 4, body);
  await finish(0);
  assert.deepEqual(begun, [0, 1]);
  answers[0]!.done?.();
  await settle();
  assert.deepEqual(begun, [0, 1, 2]);
  await finish(1);
  clock.advance(1000);
  await settle();
  assert.deepEqual(begun, [0, 1, 2, 3]);
  answers[1]!.done?.();
});
