/** The event queue of the batch mode. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { Batching, type BatchOptions } from "./batching.ts";
import { type AuditEvent, EventRecord } from "./event.ts";

const record = (auditId: string): EventRecord =>
  new EventRecord({ auditId, requestReceivedMs: 0, stageMs: 0, sourceIps: [] } as unknown as AuditEvent); // no other field matters

/** Returns a queue with a writer that finishes at once, or when the test says so. */
function openBackend(options: Partial<BatchOptions> = {}, isSlow = false) {
  const clock = new FakeClock();
  const batches: string[][] = [];
  const ends: (() => void)[] = [];
  const losses: string[] = [];
  let closed = 0;
  const batching = new Batching(
    {
      write(records) {
        batches.push(records.map(({ event }) => event.auditId));
        return isSlow ? new Promise((resolve) => ends.push(resolve)) : Promise.resolve();
      },
      close: () => Promise.resolve(void closed++),
    },
    {
      plugin: "test",
      clock,
      bufferSize: 4,
      maxSize: 2,
      maxWaitMs: 100,
      parallel: 1,
      lost: (plugin, count, error) => losses.push(`${plugin} ${count} ${(error as Error).message}`),
      ...options,
    },
  );
  return {
    batching,
    clock,
    batches,
    ends,
    lost: losses,
    closed: () => closed,
    process: (id: string) => batching.process(record(id)),
  };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a full batch is sent at once, another one when its first event has waited long enough", async () => {
  const { process, batches, clock } = openBackend();
  process("a");
  process("b");
  assert.deepEqual(batches, [["a", "b"]]);
  await settle();
  process("c");
  clock.advance(99);
  assert.equal(batches.length, 1);
  clock.advance(1);
  assert.deepEqual(batches[1], ["c"]);
});

test("events that find the queue full are lost and reported, and no request waits or is refused", () => {
  const { process, lost: losses, batches } = openBackend({}, true);
  for (const id of "abcdefg") assert.equal(process(id), true);
  assert.deepEqual(batches, [["a", "b"]]);
  assert.deepEqual(losses, ["test 1 the queue of audit events is full"]);
});

test("batches keep to the rate, with a burst after a pause", async () => {
  const { process, batches, clock } = openBackend({ maxSize: 1, throttle: { qps: 10, burst: 2 } });
  for (const id of "abcd") {
    process(id);
    await settle();
  }
  assert.equal(batches.length, 2);
  clock.advance(100);
  await settle();
  assert.equal(batches.length, 3);
  clock.advance(100);
  assert.equal(batches.length, 4);
});

test("a batch is limited in bytes as well", async () => {
  const { process, batches, clock } = openBackend({ maxSize: 10, bufferSize: 10, maxBytes: record("a").bytes * 2 });
  for (const id of "abc") process(id);
  clock.advance(100);
  await settle();
  clock.advance(100);
  assert.deepEqual(batches, [["a", "b"], ["c"]]);
});

test("closing writes everything that was taken, without waiting for the rate, and then takes nothing more", async () => {
  const {
    batching,
    process,
    batches,
    ends,
    lost: losses,
    closed,
  } = openBackend({ throttle: { qps: 0.001, burst: 1 } }, true);
  for (const id of "abcd") process(id);
  assert.equal(batches.length, 1);
  const end = batching.close();
  process("late");
  ends[0]?.();
  await settle();
  assert.equal(closed(), 0);
  ends[1]?.();
  await end;
  assert.deepEqual(batches, [
    ["a", "b"],
    ["c", "d"],
  ]);
  assert.equal(closed(), 1);
  assert.deepEqual(losses, ["test 1 the audit log is closed"]);
});

test("a batch that could not be written is reported with its length", async () => {
  const clock = new FakeClock();
  const losses: number[] = [];
  const batching = new Batching(
    { write: () => Promise.reject(new Error("down")), close: () => Promise.resolve() },
    {
      plugin: "test",
      clock,
      bufferSize: 9,
      maxSize: 2,
      maxWaitMs: 0,
      parallel: 1,
      lost: (_, count) => losses.push(count),
    },
  );
  for (const id of "abc") batching.process(record(id));
  await batching.close();
  assert.deepEqual(losses, [2, 1]);
});
