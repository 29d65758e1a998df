/** Lets deleted persistent volumes go once no claim is bound to them. */
import type { Unstructured } from "#meta/object-meta.ts";
import { protectionController } from "./protection.ts";

interface Volume extends Unstructured {
  readonly status?: { readonly phase?: string };
}

export const volumeProtectionController = protectionController({
  finalizer: "kubernetes.io/pv-protection",
  what: "volume",
  path: "/api/v1/persistentvolumes",
  pathOf: (_namespace, name) => `/api/v1/persistentvolumes/${name}`,
  isUsed: (volume) => (volume as Volume).status?.phase === "Bound", // the path names the kind
});
