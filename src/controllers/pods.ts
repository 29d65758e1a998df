/** Predicates of pods that several controllers use. */
import type { Pod } from "#api/core/v1.ts";
import type { OwnerReference } from "#meta/object-meta.ts";

export const isReady = ({ status }: Pod): boolean =>
  status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true;

/** Whether it has run to its end. */
export const isTerminal = ({ status: { phase } }: Pod): boolean => phase === "Succeeded" || phase === "Failed";

/** The owner that controls it. */
export const controllerOf = ({ metadata }: Pod): OwnerReference | undefined =>
  metadata.ownerReferences?.find(({ controller }) => controller === true);

/** The reference of what is made for a pod and goes with it. */
export const ownerOf = ({ metadata: { name = "", uid = "" } }: Pod): OwnerReference => ({
  apiVersion: "v1",
  kind: "Pod",
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});
