/** The limit of a connection, with a clock that the test moves. */
import assert from "node:assert/strict";
import { Duplex, PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { throttled } from "./throttled.ts";

/** Lets everything happen that waits for no clock. */
async function settle(): Promise<void> {
  for (let count = 0; count < 20; count++) await turn();
}

function open() {
  const clock = new FakeClock();
  const sent: Buffer[] = [];
  const answers = new PassThrough();
  const requests = new PassThrough();
  requests.on("data", (bytes: Buffer) => sent.push(bytes));
  // Node takes such a pair, but its types do not say so.
  const connection = Duplex.from({ writable: requests, readable: answers } as object as Iterable<Buffer>);
  const limited = throttled(connection, 100, clock);
  const received: Buffer[] = [];
  limited.on("data", (bytes: Buffer) => received.push(bytes));
  const length = (pieces: readonly Buffer[]): number => Buffer.concat(pieces).length;
  return {
    limited,
    connection,
    answers,
    sentBytes: () => length(sent),
    receivedBytes: () => length(received),
    async pass(ms: number) {
      for (let at = 0; at < ms; at += 100) {
        clock.advance(100);
        await settle();
      }
    },
  };
}

test("each direction passes its bytes per second, and all of them in the end", async () => {
  const { limited, answers, sentBytes, receivedBytes, pass } = open();
  limited.write(Buffer.alloc(250));
  answers.write(Buffer.alloc(150));
  await settle();
  await pass(1000);
  assert.ok(sentBytes() >= 100 && sentBytes() <= 110, String(sentBytes()));
  assert.ok(receivedBytes() >= 100 && receivedBytes() <= 110, String(receivedBytes()));
  await pass(2000);
  assert.deepEqual([sentBytes(), receivedBytes()], [250, 150]);
});

test("what a side sends before its end still passes", async () => {
  const { connection, answers, limited, receivedBytes, pass } = open();
  answers.end(Buffer.alloc(150));
  await settle();
  connection.end();
  await pass(2000);
  assert.equal(receivedBytes(), 150);
  assert.ok(limited.destroyed);
});

test("both ends close together", async () => {
  const one = open();
  one.limited.destroy();
  await settle();
  assert.ok(one.connection.destroyed);
  const other = open();
  other.connection.destroy();
  await settle();
  assert.ok(other.limited.destroyed);
});
