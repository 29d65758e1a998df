/** Tests when keys are processed, retried and reported. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { conflict, internalError } from "#meta/status-error.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { Metrics } from "#std/metrics.ts";
import { TokenBucket } from "./token-bucket.ts";
import { WorkQueueMetrics } from "./work-queue-metrics.ts";
import { WorkQueue } from "./work-queue.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Returns a queue whose work gives one answer after the other, and repeats the last one. */
function queueOf(...answers: (() => "again" | void)[]) {
  const clock = new FakeClock();
  const lines: string[] = [];
  const worked: number[] = [];
  const startMs = clock.now();
  const queue = new WorkQueue({
    clock,
    workersMax: 1,
    pauses: { minMs: 100, maxMs: 300 },
    async work() {
      worked.push(clock.now() - startMs);
      await turn();
      return (answers.length > 1 ? answers.shift()! : answers[0]!)();
    },
    failed: (key, error) => lines.push(`${key}: ${(error as Error).message}`),
  });
  const advance = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 50) {
      clock.advance(50);
      await turn();
      await turn();
    }
  };
  return { queue, lines, worked, advance };
}

const failWith = (error: Error) => () => {
  throw error;
};

void test("what fails is tried again after pauses that grow to a bound, and told about each time", async () => {
  const { queue, lines, worked, advance } = queueOf(failWith(internalError("broken")));
  queue.add("a");
  await turn();
  await advance(1400);
  assert.deepEqual(
    worked,
    [0, 100, 300, 600, 900, 1200].map((ms, i) => (i === 0 ? 0 : ms)),
  );
  assert.equal(lines.length, worked.length);
  assert.match(lines[0]!, /^a: .*broken/);
});

void test("what is not done yet is looked at again in the same way, without a word", async () => {
  const { queue, lines, worked, advance } = queueOf(() => "again");
  queue.add("a");
  await turn();
  await advance(700);
  assert.deepEqual(worked, [0, 100, 300, 600]);
  assert.deepEqual(lines, []);
});

void test("a conflict is tried again without a log line", async () => {
  const { queue, lines, worked, advance } = queueOf(
    failWith(conflict({ group: "", resource: "secrets" }, "a", "somebody wrote")),
    () => undefined,
  );
  queue.add("a");
  await turn();
  await advance(1000);
  assert.deepEqual(worked, [0, 100]);
  assert.deepEqual(lines, []);
});

void test("once it is done, pauses begin anew", async () => {
  const fails = failWith(internalError("broken"));
  const { queue, worked, advance } = queueOf(
    fails,
    fails,
    () => undefined,
    fails,
    () => undefined,
  );
  queue.add("a");
  await turn();
  await advance(1000);
  queue.add("a");
  await turn();
  await advance(1000);
  assert.deepEqual(worked, [0, 100, 300, 1000, 1100]);
});

void test("all retries together have a rate", async () => {
  const clock = new FakeClock();
  const queue = new WorkQueue({
    clock,
    workersMax: 10,
    pauses: { minMs: 1, maxMs: 1 },
    retries: new TokenBucket({ perSecond: 2, burst: 3 }, clock),
    work: () => Promise.reject(internalError("broken")),
    failed: (key) => keys.push(key),
  });
  const keys: string[] = [];
  for (let index = 0; index < 5; index++) queue.add(String(index));
  await turn();
  assert.equal(keys.length, 5);
  clock.advance(1);
  await turn();
  assert.equal(keys.length, 8, "three retries at once");
  clock.advance(999);
  await turn();
  assert.equal(keys.length, 10, "two more within the second");
  queue.close();
});

void test("a closed queue drops what waits, and is drained when the running work has ended", async () => {
  const worked: string[] = [];
  const ends: (() => void)[] = [];
  const queue = new WorkQueue({
    clock: new FakeClock(),
    workersMax: 1,
    async work(key) {
      worked.push(key);
      await new Promise<void>((resolve) => ends.push(resolve));
    },
    failed: () => undefined,
  });
  for (const key of ["a", "b"]) queue.add(key);
  queue.add("a");
  let isDrained = false;
  void queue.drained.then(() => {
    isDrained = true;
  });
  queue.close();
  queue.add("c");
  await turn();
  assert.deepEqual([queue.running, isDrained], [["a"], false]);
  ends.shift()!();
  await turn();
  assert.equal(isDrained, true);
  assert.deepEqual(worked, ["a"]);
});

test("a measured queue tells how many keys came, how long they waited and how long the work takes", async () => {
  const clock = new FakeClock();
  const metrics = new Metrics();
  const measured = { name: "q", metrics: new WorkQueueMetrics(metrics, clock) };
  const ends: (() => void)[] = [];
  const queue = new WorkQueue({
    work: () => new Promise<void>((resolve) => ends.push(resolve)),
    clock,
    workersMax: 1,
    measured,
    failed: () => undefined,
  });
  const readMetric = (metric: string): number => {
    const line = metrics
      .print()
      .split("\n")
      .find((one) => one.startsWith(`workqueue_${metric}{name="q"} `));
    return Number(line?.split(" ")[1]);
  };
  for (const key of ["a", "b", "b"]) queue.add(key);
  clock.advance(3000);
  assert.deepEqual(["adds_total", "depth"].map(readMetric), [2, 1]);
  assert.deepEqual(["unfinished_work_seconds", "longest_running_processor_seconds"].map(readMetric), [3, 3]);
  ends.shift()?.();
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(1000);
  ends.shift()?.();
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(["work_duration_seconds_sum", "queue_duration_seconds_sum"].map(readMetric), [4, 3]);
  assert.deepEqual(["depth", "unfinished_work_seconds", "retries_total"].map(readMetric), [0, 0, 0]);
  queue.close();
});
