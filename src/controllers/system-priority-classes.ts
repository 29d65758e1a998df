/** Makes the priority classes that pods of the system name. Source: upstream's scheduling storage provider. */
import { StatusError } from "#meta/status-error.ts";
import type { Controller } from "./controller.ts";

const classes = [
  ["system-node-critical", 2_000_001_000, "System pods that have to stay on the node where they run."],
  ["system-cluster-critical", 2_000_000_000, "System pods that have to run, on whichever node of the cluster."],
] as const;

export const systemPriorityClassesController: Controller = async ({ client, domain }) => {
  const apiVersion = domain.rename("scheduling.k8s.io/v1");
  const collection = `/apis/${apiVersion}/priorityclasses`;
  for (const [name, value, description] of classes) {
    try {
      await client.create(collection, {
        apiVersion,
        kind: "PriorityClass",
        metadata: { name },
        value,
        description,
        preemptionPolicy: "PreemptLowerPriority",
      });
    } catch (error) {
      // They are there, or the resource is switched off.
      if (!(error instanceof StatusError) || !["AlreadyExists", "NotFound"].includes(error.status.reason ?? ""))
        throw error;
    }
  }
};
