/** Creates the priority classes of system pods. Source: upstream's scheduling storage provider. */
import type { PriorityClass } from "#api/scheduling/v1.ts";
import { StatusError } from "#meta/status-error.ts";
import type { Controller } from "./controller.ts";
import { untilDone } from "./until-done.ts";

const classes = [
  ["system-node-critical", 2_000_001_000, "System pods that have to stay on the node where they run."],
  ["system-cluster-critical", 2_000_000_000, "System pods that have to run, on whichever node of the cluster."],
] as const;

export const systemPriorityClassesController: Controller = (environment) =>
  untilDone(environment, "make the priority classes of the system", async () => {
    const { client, domain } = environment;
    const apiVersion = domain.rename("scheduling.k8s.io/v1");
    for (const [name, value, description] of classes) {
      try {
        await client.create<PriorityClass>(`/apis/${apiVersion}/priorityclasses`, {
          apiVersion,
          kind: "PriorityClass",
          metadata: { name },
          value,
          description,
          preemptionPolicy: "PreemptLowerPriority",
        });
      } catch (error) {
        // They are there, or the resource is switched off.
        const expected = ["AlreadyExists", "NotFound"];
        if (!(error instanceof StatusError) || !expected.includes(error.status.reason ?? "")) throw error;
      }
    }
  });
