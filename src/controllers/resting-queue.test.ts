/** Tests when an object is reconciled again after a long reconciliation. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { FakeCluster } from "./fake-cluster.ts";
import { RestingQueue } from "./resting-queue.ts";

test("a key whose work took long waits twice as long before its next turn, however often it is added; other keys do not wait", async () => {
  const clock = new FakeClock();
  const api = new FakeCluster(clock);
  const startMs = clock.now();
  const looks: string[] = [];
  const queue = new RestingQueue(api.environment, {
    name: "q",
    workersMax: 2,
    logKey: "service",
    failure: "failed",
    work: (key) => {
      looks.push(`${key} ${clock.now() - startMs}`);
      return key === "large" ? new Promise((resolve) => clock.after(100, resolve)) : Promise.resolve();
    },
  });
  queue.add("large");
  for (let passed = 0; passed < 400; passed += 50) {
    await api.advance(50);
    queue.add("large");
    queue.add("small");
  }
  assert.deepEqual(
    looks.filter((look) => look.startsWith("large")),
    ["large 0", "large 300"],
  );
  assert.ok(looks.filter((look) => look.startsWith("small")).length >= 7);
  api.stop();
});
