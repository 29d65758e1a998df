/**
 * StorageObjectInUseProtection: adds a finalizer to new claims and volumes, so that they stay while they are in use.
 * Controllers remove it. Source: upstream's plugin of this name.
 */
import type { ApiDomain } from "#meta/api-domain.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { AdmissionPlugin } from "./plugin.ts";

export function storageProtection(options: { readonly domain: ApiDomain }): AdmissionPlugin {
  const finalizers: ReadonlyMap<string, string> = new Map([
    ["persistentvolumeclaims", options.domain.rename("kubernetes.io/pvc-protection")],
    ["persistentvolumes", options.domain.rename("kubernetes.io/pv-protection")],
  ]);
  return {
    name: "StorageObjectInUseProtection",
    operations: ["CREATE"],
    admit(attributes) {
      const { resource, subresource } = attributes;
      const finalizer = resource.group === "" && subresource === "" ? finalizers.get(resource.resource) : undefined;
      if (finalizer === undefined) return undefined;
      const { object } = attributes;
      return object === undefined ? undefined : withFinalizer(object, finalizer);
    },
  };
}

function withFinalizer(object: ApiObject, finalizer: string): ApiObject | undefined {
  const finalizers = object.metadata.finalizers ?? [];
  if (finalizers.includes(finalizer)) return undefined;
  return { ...object, metadata: { ...object.metadata, finalizers: [...finalizers, finalizer] } };
}
