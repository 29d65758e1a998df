/** Predicates of pods that several controllers use. */
import type { Pod } from "#api/core/v1.ts";
import type { OwnerReference } from "#meta/object-meta.ts";

export const isReady = ({ status }: Pod): boolean =>
  status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true;

/** Whether a pod has ended. */
export const isTerminal = ({ status: { phase } }: Pod): boolean => phase === "Succeeded" || phase === "Failed";

/** Returns the owner that controls a pod. */
export const controllerOf = ({ metadata }: Pod): OwnerReference | undefined =>
  metadata.ownerReferences?.find(({ controller }) => controller === true);

/** Returns the reference to a pod for an object that is made for it and deleted with it. */
export const ownerOf = ({ metadata: { name = "", uid = "" } }: Pod): OwnerReference => ({
  apiVersion: "v1",
  kind: "Pod",
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});
