/** The turns of planes: work is charged by its time, which a clock of the test measures. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiRequest } from "#http/api-request.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { PlaneTurns } from "./plane-turns.ts";

/** Makes turns whose loop goes on when the test says so. */
function loop() {
  const clock = new FakeClock();
  const later: (() => void)[] = [];
  const turns = new PlaneTurns(clock, (callback) => void later.push(callback));
  const done: string[] = [];
  /** Adds a plane; its work takes `ms`. */
  const plane = (name: string, ms: number) => {
    const share = turns.share();
    return (count: number) => {
      for (let at = 0; at < count; at++) {
        share.do(() => {
          clock.advance(ms);
          done.push(name);
        });
      }
    };
  };
  const turn = (): void => {
    for (const callback of later.splice(0)) callback();
  };
  return { plane, turn, turns, clock, done, isQuiet: () => later.length === 0 };
}

test("work of one plane is done at once until a turn of the loop is used up, and then in order", () => {
  const { plane, turn, done, isQuiet } = loop();
  plane("a", 1)(6);
  assert.equal(done.length, 4);
  turn();
  assert.equal(done.length, 6);
  turn();
  assert.ok(isQuiet(), "nothing wakes the loop when nobody waits");
});

test("a request waits for one piece of a plane with 500 expensive ones", () => {
  const { plane, turn, done } = loop();
  plane("noisy", 20)(500);
  plane("quiet", 1)(1);
  assert.deepEqual(done, ["noisy"]);
  turn();
  assert.ok(done.indexOf("quiet") <= 2, done.join(" "));
});

test("busy planes get equal times, not equal numbers", () => {
  const { plane, turn, done } = loop();
  plane("dear", 10)(100);
  plane("cheap", 1)(1000);
  for (let at = 0; at < 50; at++) turn();
  const count = (name: string): number => done.filter((one) => one === name).length;
  const difference = Math.abs(count("dear") * 10 - count("cheap"));
  assert.ok(count("cheap") > 50 && difference <= 20, `${count("dear")} dear ones, ${count("cheap")} cheap ones`);
});

test("a plane that was idle has no time in advance", () => {
  const { plane, turn, done } = loop();
  const busy = plane("busy", 5);
  const idle = plane("idle", 5);
  busy(100);
  for (let at = 0; at < 50; at++) turn();
  idle(40);
  const before = done.length;
  for (let at = 0; at < 20; at++) turn();
  const late = done.slice(before);
  assert.ok(late.filter((name) => name === "busy").length >= 9, late.join(" "));
});

test("work that begins more work of its plane does not keep the loop", () => {
  const clock = new FakeClock();
  const later: (() => void)[] = [];
  const turns = new PlaneTurns(clock, (callback) => void later.push(callback));
  const [share, other] = [turns.share(), turns.share()];
  let count = 0;
  const again = (): void => {
    clock.advance(3);
    count++;
    share.do(again);
  };
  share.do(again);
  const begun = count;
  assert.ok(begun <= 3);
  let isDone = false;
  other.do(() => (isDone = true));
  for (const callback of later.splice(0)) callback();
  assert.ok(isDone);
  assert.ok(count <= begun + 3);
});

test("requests of a controller are charged to its plane, and so are the parts of long answers", async () => {
  const { plane, turn, turns, clock, done } = loop();
  const share = turns.share();
  const work = (name: string): void => {
    clock.advance(10);
    done.push(name);
  };
  async function* pieces() {
    for (let at = 0; at < 2; at++) {
      work("part");
      yield Buffer.from("x");
    }
  }
  const handle = share.handler(() => {
    work("request");
    return { code: 200, chunks: { length: 2, [Symbol.asyncIterator]: pieces } };
  });
  const request = {} as ApiRequest; // the handler does not look at it
  const reply = await handle(request);
  const quiet = plane("quiet", 1);
  const parts = reply.chunks![Symbol.asyncIterator]();
  const waiting = [Promise.resolve(handle(request)), parts.next(), parts.next()];
  quiet(1);
  assert.deepEqual(done, ["request"]);
  turn();
  assert.equal(done[1], "quiet");
  for (let at = 0; at < 5; at++) {
    turn();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(waiting);
  assert.deepEqual(done.slice(2), ["request", "part", "part"]);
});
