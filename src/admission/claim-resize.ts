/**
 * PersistentVolumeClaimResize: a claim may grow only when it is bound and its storage class allows expansion. Source:
 * upstream's plugin of this name.
 */
import type { PersistentVolumeClaim } from "#api/core/v1.ts";
import type { StorageClass } from "#api/storage/v1.ts";
import { compareQuantities, parseQuantity } from "#meta/quantity.ts";
import { type AdmissionPlugin, refusal } from "./plugin.ts";

export interface ClaimResizeOptions {
  /** From memory; `undefined` when there is none. */
  getStorageClass(name: string): StorageClass | undefined;
  /** The annotation that named the class before there was a field. */
  readonly classAnnotation: string;
}

export function claimResize(options: ClaimResizeOptions): AdmissionPlugin {
  return {
    name: "PersistentVolumeClaimResize",
    operations: ["UPDATE"],
    validate(attributes) {
      const { resource, subresource } = attributes;
      if (resource.group !== "" || resource.resource !== "persistentvolumeclaims" || subresource !== "") return;
      const claim = attributes.object as PersistentVolumeClaim; // the resource says so
      const old = attributes.oldObject as PersistentVolumeClaim; // likewise
      if (!grows(claim, old)) return;
      if (old.status.phase !== "Bound") {
        throw refusal(attributes, "Only bound persistent volume claims can be expanded");
      }
      const className = claim.metadata.annotations?.[options.classAnnotation] ?? claim.spec.storageClassName ?? "";
      const storageClass = className === "" ? undefined : options.getStorageClass(className);
      if (storageClass?.allowVolumeExpansion === true) return;
      throw refusal(
        attributes,
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
      );
    },
  };
}

function grows(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): boolean {
  const storageOf = ({ spec }: PersistentVolumeClaim) => parseQuantity(spec.resources.requests?.["storage"] ?? "0");
  const wanted = storageOf(claim);
  const had = storageOf(old);
  return wanted !== undefined && had !== undefined && compareQuantities(wanted, had) > 0;
}
