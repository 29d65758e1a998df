/**
 * PersistentVolumeClaimResize: a claim may grow when it is bound and its storage class says so. Source: upstream's
 * plugin of this name.
 */
import type { Unstructured } from "#meta/object-meta.ts";
import { compareQuantities, parseQuantity } from "#meta/quantity.ts";
import { type AdmissionPlugin, refusal } from "./plugin.ts";

export interface ClaimResizeOptions {
  /** From memory; `undefined` when there is none. */
  getStorageClass(name: string): Unstructured | undefined;
  /** The annotation that named the class before there was a field. */
  readonly classAnnotation: string;
}

/** The part of a claim that the plugin looks at. */
interface Claim extends Unstructured {
  readonly spec?: {
    readonly storageClassName?: string | null;
    readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
  };
  readonly status?: { readonly phase?: string };
}

export function claimResize(options: ClaimResizeOptions): AdmissionPlugin {
  return {
    name: "PersistentVolumeClaimResize",
    operations: ["UPDATE"],
    validate(attributes) {
      const { resource, subresource } = attributes;
      if (resource.group !== "" || resource.resource !== "persistentvolumeclaims" || subresource !== "") return;
      const { object, oldObject } = attributes;
      if (object === undefined || oldObject === undefined || !grows(object, oldObject)) return;
      const old = oldObject as Claim; // the resource says so
      if (old.status?.phase !== "Bound") {
        throw refusal(attributes, "Only bound persistent volume claims can be expanded");
      }
      const className =
        object.metadata.annotations?.[options.classAnnotation] ?? (object as Claim).spec?.storageClassName;
      const storageClass = (className ?? "") === "" ? undefined : options.getStorageClass(className!);
      if (storageClass?.["allowVolumeExpansion"] === true) return;
      throw refusal(
        attributes,
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
      );
    },
  };
}

function grows(object: Claim, old: Claim): boolean {
  const wanted = parseQuantity(object.spec?.resources?.requests?.["storage"] ?? "0");
  const had = parseQuantity(old.spec?.resources?.requests?.["storage"] ?? "0");
  return wanted !== undefined && had !== undefined && compareQuantities(wanted, had) > 0;
}
