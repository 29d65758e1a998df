/**
 * A thread that simulates one seed after the other, and ends with an error that names the first seed with a finding. It
 * takes half the time that the thread of a test would take, in which the test runner follows every promise.
 */
import { workerData } from "node:worker_threads";
import { checkHistory } from "./simulation-checks-for-tests.ts";
import { Simulation } from "./simulation-for-tests.ts";

export interface SimulatedSeeds {
  readonly firstSeed: number;
  readonly runs: number;
  readonly isRestored: boolean;
}

const { firstSeed, runs, isRestored } = workerData as SimulatedSeeds;
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
