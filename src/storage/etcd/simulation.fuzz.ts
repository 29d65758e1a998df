/**
 * Simulates three servers on an etcd whose members, links and answers fail, under one seed each. `FUZZ_SEED` repeats a
 * run, `FUZZ_RUNS` sets the number of seeds.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { simulateSeeds } from "./simulated-seeds-for-tests.ts";

const firstSeed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const runs = Number(process.env["FUZZ_RUNS"] ?? 2000);

for (const isRestored of [false, true]) {
  const what = isRestored ? "that fails and is put back to an older state once" : "that fails";
  test(`servers on an etcd ${what} say what is true (FUZZ_SEED=${firstSeed}, ${runs} seeds)`, async () => {
    const findings = await simulateSeeds({ firstSeed, runs, isRestored });
    const texts = findings.map(({ seed, text }) => `FUZZ_SEED=${seed} FUZZ_RUNS=1: ${text}`);
    assert.deepEqual(texts, []);
  });
}
