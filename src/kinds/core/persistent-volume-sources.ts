/**
 * Validates the sources of persistent volumes. Most are the same as in pods; others refer to secrets of any namespace.
 */
import type {
  CSIPersistentVolumeSource,
  PersistentVolumeSource,
  PersistentVolumeSpec,
  SecretReference,
  VolumeNodeAffinity,
} from "#api/core/v1.ts";
import { forbidden, invalid, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { dns1123Label, dns1123Subdomain } from "#meta/names.ts";
import { checkName, checkNoBackstep, checkRequired, checkRequiredName, type Errors } from "../checks.ts";
import {
  checkDriverName,
  checkIscsi,
  checkSource,
  hasLongInterface,
  iscsiInterfaceTooLong,
} from "./pod-validation/volume-sources.ts";
import { pathNames } from "./pod-validation/volumes.ts";

type SourceName = keyof PersistentVolumeSource;

/** The names of the sources in upstream's order: the first source of a volume counts. */
const sourceNames: readonly SourceName[] = [
  "hostPath",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "glusterfs",
  "flocker",
  "nfs",
  "rbd",
  "quobyte",
  "cephfs",
  "iscsi",
  "cinder",
  "fc",
  "flexVolume",
  "azureFile",
  "vsphereVolume",
  "photonPersistentDisk",
  "portworxVolume",
  "azureDisk",
  "scaleIO",
  "local",
  "storageos",
  "csi",
];

/** Returns only the source of a volume. */
export const sourceOf = (spec: PersistentVolumeSpec): PersistentVolumeSource =>
  Object.fromEntries(sourceNames.filter((name) => spec[name] !== undefined).map((name) => [name, spec[name]]));

/** The spec of a volume with the name of its object. Local volumes need the node affinity. */
interface NamedVolume {
  readonly spec: PersistentVolumeSpec;
  readonly name: string;
  readonly affinity: VolumeNodeAffinity | undefined;
}

/** Checks that a volume has exactly one source, and that this source is valid. */
export function checkVolumeSource(volume: NamedVolume, path: FieldPath, errors: Errors): void {
  const { spec } = volume;
  const givenSources = sourceNames.filter((source) => spec[source] !== undefined);
  if (givenSources.length === 0) errors.push(required(path, "must specify a volume type"));
  for (const [i, source] of givenSources.entries()) {
    // Upstream: a flex volume is allowed as a second source.
    if (i === 0 || source === "flexVolume") checkOneSource(source, volume, path, errors);
    else errors.push(forbidden(path.child(pathNames[source] ?? source), "may not specify more than 1 volume type"));
  }
}

function checkOneSource(
  source: SourceName,
  { spec, name, affinity }: NamedVolume,
  path: FieldPath,
  errors: Errors,
): void {
  const at = path.child(source);
  if (source === "local") {
    checkLocalPath(spec.local?.path ?? "", at.child("path"), errors);
    if (affinity === undefined) {
      errors.push(required(path.child("nodeAffinity"), "Local volume requires node affinity"));
    }
  } else if (source === "csi") {
    if (spec.csi !== undefined) checkCsi(spec.csi, at, errors);
  } else if (source === "iscsi") {
    if (spec.iscsi === undefined) return;
    if (hasLongInterface(name, spec.iscsi)) {
      errors.push(invalid(at.child("targetportal"), spec.iscsi.targetPortal, iscsiInterfaceTooLong));
    }
    checkIscsi(spec.iscsi, "persistentVolume", at, errors);
  } else {
    checkSource(spec, source, path, errors);
    checkNamespaces(spec, source, at, errors);
  }
}

function checkLocalPath(path: string, at: FieldPath, errors: Errors): void {
  checkRequired(path, at, errors);
  checkNoBackstep(path, at, errors);
}

/** Checks the namespaces in sources. Sources of pods have no namespaces. */
function checkNamespaces(spec: PersistentVolumeSpec, source: SourceName, path: FieldPath, errors: Errors): void {
  const { glusterfs, azureFile } = spec;
  if (source === "glusterfs" && glusterfs?.endpointsNamespace !== undefined) {
    const at = path.child("endpointsNamespace");
    const { endpointsNamespace: namespace } = glusterfs;
    if (namespace !== "") checkName(namespace, dns1123Label, at, errors);
    else errors.push(invalid(at, "", "if the endpointnamespace is set, it must be a valid namespace name"));
  }
  if (source === "azureFile" && azureFile?.secretNamespace === "") {
    errors.push(required(path.child("secretNamespace")));
  }
  const secret = source === "cinder" || source === "storageos" ? spec[source]?.secretRef : undefined;
  if (secret !== undefined) checkRequired(secret.namespace, path.child("secretRef", "namespace"), errors);
}

/** The secrets of CSI volumes that are checked. Upstream: `nodeStageSecretRef` is not checked. */
const checkedSecrets = [
  "controllerPublishSecretRef",
  "controllerExpandSecretRef",
  "nodePublishSecretRef",
  "nodeExpandSecretRef",
] as const;

function checkCsi(source: CSIPersistentVolumeSource, path: FieldPath, errors: Errors): void {
  checkDriverName(source.driver, path.child("driver"), errors);
  checkRequired(source.volumeHandle, path.child("volumeHandle"), errors);
  for (const name of checkedSecrets) {
    const secret: SecretReference | undefined = source[name];
    if (secret === undefined) continue;
    checkRequiredName(secret.name, dns1123Subdomain, path.child(name, "name"), errors);
    checkRequiredName(secret.namespace, dns1123Label, path.child(name, "namespace"), errors);
  }
}
