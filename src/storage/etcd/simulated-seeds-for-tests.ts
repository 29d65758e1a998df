/** Runs simulations of servers on an etcd in memory in a thread of their own. */
import { once } from "node:events";
import { startThread } from "#std/thread.ts";

/** The seeds of a thread. */
export interface SimulatedSeeds {
  readonly firstSeed: number;
  readonly runs: number;
  /** Whether etcd is put back to an older state once in each run. */
  readonly isRestored: boolean;
}

/** A seed under which a server said what is not true. */
export interface SimulationFinding {
  readonly seed: number;
  readonly isRestored: boolean;
  readonly text: string;
}

/** Simulates seeds. Resolves with what was found. Rejects when the thread ends before the last one. */
export async function simulateSeeds(seeds: SimulatedSeeds): Promise<readonly SimulationFinding[]> {
  const thread = startThread(import.meta.resolve("#storage/etcd/simulation-thread-for-tests.ts"), {
    workerData: seeds,
  });
  const findings: SimulationFinding[] = [];
  thread.on("message", (finding: SimulationFinding) => findings.push(finding));
  const [code] = (await once(thread, "exit")) as [number];
  // A thread in which nothing goes on ends as well, with another code.
  if (code !== 0) throw new Error(`the simulation of ${JSON.stringify(seeds)} ended with code ${code}`);
  return findings;
}
