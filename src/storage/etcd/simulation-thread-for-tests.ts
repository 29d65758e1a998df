/**
 * A thread that simulates one seed after the other, posts what it finds, and ends. It takes half the time that the thread
 * of a test would take, in which the test runner follows every promise.
 */
import { parentPort, workerData } from "node:worker_threads";
import { checkHistory } from "./simulation-checks-for-tests.ts";
import { Simulation } from "./simulation-for-tests.ts";
import type { SimulatedSeeds, SimulationFinding } from "./simulated-seeds-for-tests.ts";

const { firstSeed, runs, isRestored } = workerData as SimulatedSeeds;
for (let seed = firstSeed; seed < firstSeed + runs; seed++) {
  const simulation = new Simulation(seed, isRestored);
  try {
    await simulation.run();
    checkHistory(simulation.history, simulation.truth);
  } catch (error) {
    if (simulation.isUnnoticeable) continue;
    const finding: SimulationFinding = { seed, isRestored, text: (error as Error).stack ?? String(error) };
    parentPort!.postMessage(finding);
  }
}
