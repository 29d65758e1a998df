/**
 * The plugins of claims and volumes: protection while they are in use, default classes, and growth. Source: upstream's
 * plugins of these names.
 */
import type { PersistentVolumeClaim } from "#api/core/v1.ts";
import type { StorageClass } from "#api/storage/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { defaultClass, defaultClassCheck } from "#meta/default-class.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { compareQuantities, parseQuantity } from "#meta/quantity.ts";
import { type AdmissionAttributes, type AdmissionPlugin, refusal } from "./plugin.ts";

/** Adds a finalizer to new claims and volumes, so that they stay while they are in use. Controllers remove it. */
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

export interface DefaultClassOptions {
  readonly domain: ApiDomain;
  /** Returns all classes, from memory. */
  listClasses(): Iterable<ApiObject>;
}

const claimOf = (attributes: AdmissionAttributes): PersistentVolumeClaim | undefined =>
  attributes.resource.group === "" &&
  attributes.resource.resource === "persistentvolumeclaims" &&
  attributes.subresource === ""
    ? (attributes.object as PersistentVolumeClaim | undefined) // the resource says so
    : undefined;

/**
 * Gives claims without a class the default one, as upstream does. `meta/default-class.ts` says how default classes are
 * marked.
 */
export function defaultStorageClass(options: DefaultClassOptions): AdmissionPlugin {
  const isDefault = defaultClassCheck("StorageClass", options.domain);
  const annotation = options.domain.rename("volume.beta.kubernetes.io/storage-class");
  return {
    name: "DefaultStorageClass",
    operations: ["CREATE"],
    admit(attributes) {
      const claim = claimOf(attributes);
      // The empty name asks for no class; only an absent one asks for the default.
      if (claim === undefined || claim.spec.storageClassName !== undefined) return undefined;
      if (claim.metadata.annotations?.[annotation] !== undefined) return undefined;
      const name = defaultClass(options.listClasses(), isDefault)?.metadata.name;
      return name === undefined ? undefined : withSpec(claim, { storageClassName: name });
    },
  };
}

/**
 * Does the same for volume attributes classes, as the specification demands ("if unset and unbound, the default class
 * is applied when one exists").
 */
export function defaultVolumeAttributesClass(options: DefaultClassOptions): AdmissionPlugin {
  const isDefault = defaultClassCheck("VolumeAttributesClass", options.domain);
  return {
    name: "DefaultVolumeAttributesClass",
    operations: ["CREATE"],
    admit(attributes) {
      const claim = claimOf(attributes);
      if (claim === undefined || claim.spec.volumeAttributesClassName !== undefined) return undefined;
      const name = defaultClass(options.listClasses(), isDefault)?.metadata.name;
      return name === undefined ? undefined : withSpec(claim, { volumeAttributesClassName: name });
    },
  };
}

const withSpec = (
  claim: PersistentVolumeClaim,
  more: Partial<PersistentVolumeClaim["spec"]>,
): PersistentVolumeClaim => ({ ...claim, spec: { ...claim.spec, ...more } });

interface ClaimResizeOptions {
  /** Returns the class from memory; `undefined` when there is none. */
  getStorageClass(name: string): StorageClass | undefined;
  /** The annotation that named the class before there was a field. */
  readonly classAnnotation: string;
}

/** Refuses growth of a claim unless it is bound and its storage class allows expansion. */
export function claimResize(options: ClaimResizeOptions): AdmissionPlugin {
  return {
    name: "PersistentVolumeClaimResize",
    operations: ["UPDATE"],
    validate(attributes) {
      const claim = claimOf(attributes);
      if (claim === undefined) return;
      const old = attributes.oldObject as PersistentVolumeClaim; // of the same resource
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
