/** What clients are warned of in persistent volumes. Source: the answers of kube-apiserver. */
import type { PersistentVolume, PersistentVolumeSource } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { ObjectMeta } from "#meta/object-meta.ts";
import { about } from "../checks.ts";
import { nodeLabels, nodeSelectorWarnings } from "../node-labels.ts";

const selectorPath = FieldPath.of("spec", "nodeAffinity", "required");

const annotationsPath = FieldPath.of("metadata", "annotations");

/** A warning about an annotation that a field has taken the place of. */
export const replacedAnnotation = (
  { annotations = {} }: ObjectMeta,
  name: string,
  field: string,
  since: string,
): string[] =>
  Object.hasOwn(annotations, name)
    ? [about(annotationsPath.key(name), `deprecated since ${since}; use "${field}" attribute instead`)]
    : [];

/** Kinds of volumes that are on their way out. Upstream: one of them has another name. */
const outdated: readonly (readonly [source: keyof PersistentVolumeSource, warning: string])[] = [
  ["cephfs", "spec.cephfs: deprecated in v1.28, non-functional in v1.31+"],
  ["photonPersistentDisk", "spec.photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+"],
  ["scaleIO", "spec.scaleIO: deprecated in v1.16, non-functional in v1.22+"],
  ["storageos", "spec.storageOS: deprecated in v1.22, non-functional in v1.25+"],
  ["glusterfs", "spec.glusterfs: deprecated in v1.25, non-functional in v1.26+"],
  ["rbd", "spec.rbd: deprecated in v1.28, non-functional in v1.31+"],
];

const recycling =
  "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.";

/** Warnings about a volume. */
export function volumeWarnings(domain: ApiDomain): (volume: PersistentVolume) => string[] {
  const labels = nodeLabels(domain);
  const ofClass = domain.rename("volume.beta.kubernetes.io/storage-class");
  const ofOptions = domain.rename("volume.beta.kubernetes.io/mount-options");
  return ({ metadata, spec }) => [
    ...replacedAnnotation(metadata, ofClass, "storageClassName", "v1.8"),
    ...replacedAnnotation(metadata, ofOptions, "mountOptions", "v1.31"),
    ...(spec.persistentVolumeReclaimPolicy === "Recycle" ? [recycling] : []),
    ...nodeSelectorWarnings(spec.nodeAffinity?.required, selectorPath, labels),
    ...outdated.flatMap(([source, warning]) => (spec[source] === undefined ? [] : [warning])),
  ];
}
