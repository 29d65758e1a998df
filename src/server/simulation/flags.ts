/** Flags of the simulation of workloads. */
import { binnacleFlag, duration, list, type OptionsOf } from "#std/flags.ts";

export const simulationFlags = {
  simulate: list(
    binnacleFlag("simulate"),
    "names",
    "Simulate: workloads gives Deployments, Jobs and other workloads pods that become Ready although nothing runs (docs/simulation.md).",
    (name) => (name === "workloads" ? undefined : "must be workloads"),
  ),
  simulateReadyAfterMs: duration(
    binnacleFlag("simulate-ready-after"),
    1000,
    "How long simulated pods take to become Ready, or to end by themselves.",
  ),
};

export type SimulationFlags = OptionsOf<typeof simulationFlags>;
