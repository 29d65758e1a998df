/** Creates the priority classes of system pods. Source: upstream's scheduling storage provider. */
import type { PriorityClass } from "#api/scheduling/v1.ts";
import type { Controller } from "./controller.ts";
import { ignoreCodes } from "./ignore-codes.ts";
import { retryUntilDone } from "./repeat.ts";

const classes = [
  ["system-node-critical", 2_000_001_000, "System pods that have to stay on the node where they run."],
  ["system-cluster-critical", 2_000_000_000, "System pods that have to run, on whichever node of the cluster."],
] as const;

export const systemPriorityClassesController: Controller = (environment) =>
  retryUntilDone(environment, "make the priority classes of the system", async () => {
    const { client, domain } = environment;
    const apiVersion = domain.rename("scheduling.k8s.io/v1");
    for (const [name, value, description] of classes) {
      const created = client.create<PriorityClass>(`/apis/${apiVersion}/priorityclasses`, {
        apiVersion,
        kind: "PriorityClass",
        metadata: { name },
        value,
        description,
        preemptionPolicy: "PreemptLowerPriority",
      });
      // The classes are there, or the resource is switched off.
      await ignoreCodes([404, 409], created);
    }
  });
