/**
 * Gives claims without a class the default one: DefaultStorageClass as upstream, and the same for volume attributes
 * classes, which the specification asks for ("if unset and unbound, the default class is applied when one exists").
 * `meta/default-class.ts` says how default classes are marked.
 */
import type { PersistentVolumeClaim } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { defaultClass, defaultClassCheck } from "#meta/default-class.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { AdmissionAttributes, AdmissionPlugin } from "./plugin.ts";

export interface DefaultClassOptions {
  readonly domain: ApiDomain;
  /** All classes, from memory. */
  listClasses(): Iterable<ApiObject>;
}

const claimOf = (attributes: AdmissionAttributes): PersistentVolumeClaim | undefined =>
  attributes.resource.group === "" &&
  attributes.resource.resource === "persistentvolumeclaims" &&
  attributes.subresource === ""
    ? (attributes.object as PersistentVolumeClaim | undefined) // the resource says so
    : undefined;

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
