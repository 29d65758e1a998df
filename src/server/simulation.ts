/** Starts the simulation of workloads, whose code is loaded only where it is asked for. */
import type { ControllerClients } from "./controllers/clients.ts";
import { leaseTimes } from "./controllers/election.ts";
import type { ControllerFlags } from "./controllers/flags.ts";
import { retriedStep } from "./retried-step.ts";
import type { ServerParts } from "./server-parts.ts";
import type { SimulationFlags } from "./simulation/flags.ts";

interface SimulationParts extends Pick<ServerParts, "domain" | "clock" | "random" | "log"> {
  readonly options: SimulationFlags & ControllerFlags;
  readonly clients: ControllerClients;
}

/** Resolves after the first try to start; others follow a failure. The returned function ends the simulation. */
export async function startSimulation(parts: SimulationParts): Promise<() => Promise<void>> {
  const { options, clients } = parts;
  if (!options.simulate.includes("workloads")) return () => Promise.resolve();
  const { openSimulation } = await import("#simulation/simulation.ts");
  const simulation = await openSimulation({
    ...parts,
    transport: clients.transport,
    administrator: clients.administrator,
    readyAfterMs: options.simulateReadyAfterMs,
    leaseTimes: options.leaderElect ? leaseTimes(options) : undefined,
  });
  const stop = await retriedStep(parts, "could not start the simulation of workloads", () => simulation.start());
  return async () => {
    stop();
    await simulation.close();
  };
}
