/**
 * Simulates three servers on an etcd whose members, links and answers fail, under one seed each. `FUZZ_SEED` repeats a
 * run, `FUZZ_RUNS` sets the number of seeds.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { startThread } from "#std/thread.ts";
import type { SimulatedSeeds } from "./simulation-thread-for-tests.ts";

const firstSeed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const runs = Number(process.env["FUZZ_RUNS"] ?? 2000);

for (const isRestored of [false, true]) {
  const what = isRestored ? "that fails and is put back to an older state once" : "that fails";
  test(`servers on an etcd ${what} say what is true (FUZZ_SEED=${firstSeed}, ${runs} seeds)`, async () => {
    const workerData: SimulatedSeeds = { firstSeed, runs, isRestored };
    const thread = startThread(import.meta.resolve("./simulation-thread-for-tests.ts"), { workerData });
    // A thread in which nothing goes on ends as well, with another code.
    assert.deepEqual(await once(thread, "exit"), [0]);
  });
}
