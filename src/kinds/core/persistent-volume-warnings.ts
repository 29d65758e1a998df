/** Warnings about persistent volumes. Source: the answers of kube-apiserver. */
import type { PersistentVolume } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { ObjectMeta } from "#meta/object-meta.ts";
import { warningAt } from "../checks.ts";
import { nodeLabels, nodeSelectorWarnings } from "../node-labels.ts";
import { outdatedWarnings } from "./pod-warnings.ts";

const selectorPath = FieldPath.of("spec", "nodeAffinity", "required");

const annotationsPath = FieldPath.of("metadata", "annotations");

/** Returns a warning about an annotation that a field has replaced. */
export const replacedAnnotation = (
  { annotations = {} }: ObjectMeta,
  name: string,
  field: string,
  since: string,
): string[] =>
  Object.hasOwn(annotations, name)
    ? [warningAt(annotationsPath.key(name), `deprecated since ${since}; use "${field}" attribute instead`)]
    : [];

/** The deprecated sources. */
const outdated = ["cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd"] as const;

const recycling =
  "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.";

/** Returns the function that returns the warnings about a volume. */
export function volumeWarnings(domain: ApiDomain): (volume: PersistentVolume) => string[] {
  const labels = nodeLabels(domain);
  const ofClass = domain.rename("volume.beta.kubernetes.io/storage-class");
  const ofOptions = domain.rename("volume.beta.kubernetes.io/mount-options");
  return ({ metadata, spec }) => [
    ...replacedAnnotation(metadata, ofClass, "storageClassName", "v1.8"),
    ...replacedAnnotation(metadata, ofOptions, "mountOptions", "v1.31"),
    ...(spec.persistentVolumeReclaimPolicy === "Recycle" ? [recycling] : []),
    ...nodeSelectorWarnings(spec.nodeAffinity?.required, selectorPath, labels),
    ...outdatedWarnings(spec, outdated, FieldPath.of("spec")),
  ];
}
