/** Validates persistent volumes, and the inline volume specs of attachments. Source: the answers of kube-apiserver. */
import type {
  NodeSelectorTerm,
  PersistentVolume,
  PersistentVolumeSource,
  PersistentVolumeSpec,
  VolumeNodeAffinity,
} from "#api/core/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, forbidden, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1123Subdomain } from "#meta/names.ts";
import { parseQuantity } from "#meta/quantity.ts";
import { checkName, checkOneOf, checkOptionalName, checkOptionalOneOf, type Errors } from "../checks.ts";
import { editField, withField } from "../edit.ts";
import type { KindEnvironment } from "../generic.ts";
import { validateImmutable } from "../immutable.ts";
import { type NodeLabels, nodeLabels } from "../node-labels.ts";
import { checkAmount } from "./amounts.ts";
import { checkAccessModes, volumeModes } from "./claim-spec.ts";
import { checkVolumeSource, sourceOf } from "./persistent-volume-sources.ts";
import { checkNodeSelector } from "./pod-validation/scheduling.ts";

/** The settings on which the rules depend. */
interface VolumeRules {
  readonly hasAttributesClasses: boolean;
  readonly mountOptionsAnnotation: string;
  readonly labels: NodeLabels;
}

export const volumeRules = ({ domain, gate }: KindEnvironment): VolumeRules => ({
  hasAttributesClasses: gate("VolumeAttributesClass"),
  mountOptionsAnnotation: domain.rename("volume.beta.kubernetes.io/mount-options"),
  labels: nodeLabels(domain),
});

const specPath = FieldPath.of("spec");
const classPath = specPath.child("volumeAttributesClassName");

export function validateVolume(volume: PersistentVolume, rules: VolumeRules): FieldError[] {
  const errors: FieldError[] = [];
  checkVolumeSpec(volume.spec, volume.metadata.name ?? "", "volume", specPath, errors);
  checkMountOptions(volume, rules, errors);
  return errors;
}

export function validateVolumeUpdate(volume: PersistentVolume, old: PersistentVolume, rules: VolumeRules) {
  const errors = validateVolume(volume, rules);
  const { spec } = volume;
  if (!jsonEquals(sourceOf(spec), replaceableSource(spec, old.spec))) {
    const path = specPath.child("persistentvolumesource");
    errors.push(forbidden(path, "spec.persistentvolumesource is immutable after creation"));
  }
  for (const error of validateImmutable(spec, old.spec, ["volumeMode"])) errors.push(error);
  checkAffinityUpdate(spec.nodeAffinity, old.spec.nodeAffinity, rules.labels, errors);
  checkClassUpdate(spec, old.spec, rules.hasAttributesClasses, errors);
  return errors;
}

/** Returns the old source with the one reference that an update may add. */
function replaceableSource(spec: PersistentVolumeSpec, old: PersistentVolumeSpec): PersistentVolumeSource {
  const added = spec.csi?.controllerExpandSecretRef;
  const source = sourceOf(old);
  if (added === undefined || source.csi === undefined || source.csi.controllerExpandSecretRef !== undefined)
    return source;
  return { ...source, csi: { ...source.csi, controllerExpandSecretRef: added } };
}

/** Checks that the node affinity does not change, except for newer names of its labels. */
function checkAffinityUpdate(
  affinity: VolumeNodeAffinity | undefined,
  old: VolumeNodeAffinity | undefined,
  labels: NodeLabels,
  errors: Errors,
): void {
  if (old === undefined || jsonEquals(affinity, old)) return;
  const terms = affinity?.required?.nodeSelectorTerms ?? [];
  const renamed = editField(old, "required", (selector) =>
    withField(
      selector,
      "nodeSelectorTerms",
      (selector.nodeSelectorTerms ?? []).map((term, i) => withNewNames(term, terms[i], labels)),
    ),
  );
  if (jsonEquals(affinity, renamed)) return;
  const detail = "field is immutable, except for updating from beta label to GA";
  errors.push(invalid(FieldPath.of("nodeAffinity"), affinity, detail));
}

/** Returns the term with those labels renamed for which `other` has the newer name. */
function withNewNames(
  term: NodeSelectorTerm,
  other: NodeSelectorTerm | undefined,
  labels: NodeLabels,
): NodeSelectorTerm {
  return editField(term, "matchExpressions", (expressions) =>
    expressions.map((expression, i) => {
      // Upstream: labels without a newer name can become empty; the check of label names refuses an empty one.
      const name = labels.renamed(expression.key) ?? "";
      return other?.matchExpressions?.[i]?.key === name ? withField(expression, "key", name) : expression;
    }),
  );
}

function checkClassUpdate(
  { volumeAttributesClassName: name }: PersistentVolumeSpec,
  { volumeAttributesClassName: before }: PersistentVolumeSpec,
  hasClasses: boolean,
  errors: Errors,
): void {
  if (name === before) return;
  if (!hasClasses) {
    const detail = "update is forbidden when the VolumeAttributesClass feature gate is disabled";
    errors.push(forbidden(classPath, detail));
  }
  if (name === undefined) errors.push(forbidden(classPath, "update from non-nil value to nil is forbidden"));
}

/** The sources that may have the annotation with mount options. */
const mountable: readonly (keyof PersistentVolumeSource)[] = [
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "nfs",
  "iscsi",
  "glusterfs",
  "rbd",
  "cinder",
  "cephfs",
  "azureFile",
  "vsphereVolume",
  "quobyte",
  "azureDisk",
  "photonPersistentDisk",
];

function checkMountOptions({ metadata, spec }: PersistentVolume, rules: VolumeRules, errors: Errors): void {
  const { mountOptionsAnnotation: name } = rules;
  if (metadata.annotations?.[name] === undefined || mountable.some((source) => spec[source] !== undefined)) return;
  const path = FieldPath.of("metadata", "annotations", name);
  errors.push(forbidden(path, "may not specify mount options for this volume type"));
}

/** The owner of the spec: a persistent volume, or an attachment, whose inline spec may have fewer fields. */
type VolumeOwner = "volume" | "attachment";

const reclaimPolicies = ["Delete", "Recycle", "Retain"];

/** Checks the whole spec; `name` is the name of the object. */
export function checkVolumeSpec(
  spec: PersistentVolumeSpec,
  name: string,
  owner: VolumeOwner,
  path: FieldPath,
  errors: Errors,
): void {
  const isInline = owner === "attachment";
  if (isInline) checkInline(spec, path, errors);
  const { accessModes = [], persistentVolumeReclaimPolicy: policy = "", nodeAffinity, hostPath } = spec;
  if (accessModes.length === 0) errors.push(required(path.child("accessModes")));
  checkAccessModes(accessModes, path.child("accessModes"), errors);
  if (!isInline) checkCapacity(spec.capacity, path.child("capacity"), errors);
  checkReclaimPolicy(policy, isInline, path.child("persistentVolumeReclaimPolicy"), errors);
  if (isInline) forbidInline(nodeAffinity, path.child("nodeAffinity"), errors);
  else checkVolumeAffinity(nodeAffinity, path.child("nodeAffinity"), errors);
  checkVolumeSource({ spec, name, affinity: isInline ? undefined : nodeAffinity }, path, errors);
  if (policy === "Recycle" && hostPath !== undefined && isRoot(hostPath.path)) {
    const detail = "may not be 'recycle' for a hostPath mount of '/'";
    errors.push(forbidden(path.child("persistentVolumeReclaimPolicy"), detail));
  }
  if (isInline) checkInlineModes(spec, path, errors);
  else {
    checkOptionalName(spec.storageClassName, dns1123Subdomain, path.child("storageClassName"), errors);
    checkOptionalOneOf(spec.volumeMode, volumeModes, path.child("volumeMode"), errors);
    checkAttributesClass(spec, path, errors);
  }
}

/**
 * Whether a path leads to `/`, without looking at files. It takes one pass, since the time of `posix.normalize` is
 * quadratic.
 */
function isRoot(path: string): boolean {
  if (!path.startsWith("/")) return false;
  let depth = 0;
  for (const step of path.split("/")) {
    if (step === "..") depth = Math.max(0, depth - 1);
    else if (step !== "" && step !== ".") depth++;
  }
  return depth === 0;
}

const inlineDetail = "may not be specified in the context of inline volumes";

function forbidInline(value: unknown, path: FieldPath, errors: Errors): void {
  if (value !== undefined) errors.push(forbidden(path, inlineDetail));
}

function checkInline({ claimRef, capacity = {}, csi }: PersistentVolumeSpec, path: FieldPath, errors: Errors): void {
  forbidInline(claimRef, path.child("claimRef"), errors);
  if (Object.keys(capacity).length > 0) forbidInline(capacity, path.child("capacity"), errors);
  if (csi === undefined) {
    errors.push(required(path.child("csi"), "has to be specified in the context of inline volumes"));
  }
}

function checkInlineModes({ storageClassName, volumeMode }: PersistentVolumeSpec, path: FieldPath, errors: Errors) {
  if (storageClassName) forbidInline(storageClassName, path.child("storageClassName"), errors);
  if (volumeMode === undefined || volumeMode === "Filesystem") return;
  const detail = "may not specify volumeMode other than Filesystem in the context of inline volumes";
  errors.push(forbidden(path.child("volumeMode"), detail));
}

function checkReclaimPolicy(policy: string, isInline: boolean, path: FieldPath, errors: Errors): void {
  if (policy === "") return;
  if (!isInline) checkOneOf(policy, reclaimPolicies, path, errors);
  else if (policy !== "Retain") errors.push(forbidden(path, "may only be Retain in the context of inline volumes"));
}

/** Checks that the capacity has a positive storage size and nothing else. */
function checkCapacity(capacity: PersistentVolumeSpec["capacity"] = {}, path: FieldPath, errors: Errors): void {
  const names = Object.keys(capacity);
  if (names.length === 0) errors.push(required(path));
  if (names.length !== 1 || names[0] !== "storage") errors.push(notSupported(path, capacity, ["storage"]));
  for (const [name, text] of Object.entries(capacity)) {
    const quantity = parseQuantity(text);
    if (quantity === undefined || quantity.unscaled > 0n) continue;
    checkAmount(text, path.key(name), errors);
    errors.push(invalid(path.key(name), text, "must be greater than zero"));
  }
}

function checkVolumeAffinity(affinity: VolumeNodeAffinity | undefined, path: FieldPath, errors: Errors): void {
  if (affinity === undefined) return;
  const at = path.child("required");
  if (affinity.required === undefined) errors.push(required(at, "must specify required node constraints"));
  else checkNodeSelector(affinity.required, at, errors);
}

/** Checks the volume attributes class, which needs a CSI driver. */
function checkAttributesClass(spec: PersistentVolumeSpec, path: FieldPath, errors: Errors): void {
  const { volumeAttributesClassName: name, csi } = spec;
  if (name === undefined) return;
  const at = path.child("volumeAttributesClassName");
  if (name === "") errors.push(required(at, "an empty string is disallowed"));
  else checkName(name, dns1123Subdomain, at, errors);
  if (csi === undefined) {
    errors.push(required(path.child("csi"), "has to be specified when using volumeAttributesClassName"));
  }
}
