/**
 * Simulates three servers on an etcd whose members, links and answers fail, under one seed each. `FUZZ_SEED` repeats a
 * run, `FUZZ_RUNS` sets the number of seeds.
 */
import { test } from "node:test";
import { checkHistory } from "./simulation-checks-for-tests.ts";
import { Simulation } from "./simulation-for-tests.ts";

const firstSeed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const runs = Number(process.env["FUZZ_RUNS"] ?? 2000);

for (const isRestored of [false, true]) {
  const what = isRestored ? "that fails and is put back to an older state once" : "that fails";
  test(`servers on an etcd ${what} say what is true (FUZZ_SEED=${firstSeed}, ${runs} seeds)`, async () => {
    for (let seed = firstSeed; seed < firstSeed + runs; seed++) {
      const simulation = new Simulation(seed, isRestored);
      try {
        await simulation.run();
        checkHistory(simulation.history, simulation.truth);
      } catch (error) {
        if (simulation.isUnnoticeable) continue;
        throw new Error(`FUZZ_SEED=${seed} FUZZ_RUNS=1: ${(error as Error).message}`, { cause: error });
      }
    }
  });
}
