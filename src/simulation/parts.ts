/** The parts that all controllers of the simulation are given, and the names by which the simulation is known. */
import type { ApiDomain } from "#meta/api-domain.ts";

export interface SimulationParts {
  readonly domain: ApiDomain;
  /** The time in milliseconds from the start of a pod until it is Ready, or until it ends by itself. */
  readonly readyAfterMs: number;
}

/** The name of the node, which says that it is none. */
export const nodeName = "simulated-node";

/** The domain of the annotations and labels of the simulation, also in servers with another API domain. */
export const simulationDomain = "simulation.binnacle.dev";
