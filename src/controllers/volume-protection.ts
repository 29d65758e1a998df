/** Removes the protection finalizer of a deleted persistent volume once no claim is bound to it. */
import type { PersistentVolume } from "#api/core/v1.ts";
import { protectionController } from "./protection.ts";

export const volumeProtectionController = protectionController<PersistentVolume>({
  finalizer: "kubernetes.io/pv-protection",
  what: "volume",
  path: "/api/v1/persistentvolumes",
  pathOf: (_namespace, name) => `/api/v1/persistentvolumes/${name}`,
  isUsed: (volume) => volume.status.phase === "Bound",
});
