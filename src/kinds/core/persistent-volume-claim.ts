/**
 * PersistentVolumeClaim: a request for storage. Drivers bind, resize and modify volumes; admission adds the protection
 * finalizer and default classes. Source: upstream's `pkg/registry/core/persistentvolumeclaim` and
 * `ValidatePersistentVolumeClaim*`; if the specification requires more, it decides.
 */
import type {
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  PersistentVolumeClaimStatus,
  VolumeResourceRequirements,
} from "#api/core/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, forbidden, GoSyntax, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { qualifiedName } from "#meta/names.ts";
import { compareQuantityTexts } from "#meta/quantity.ts";
import type { Column } from "#registry/resource-definition.ts";
import { addAll } from "#std/add-all.ts";
import { accessModesText, ageColumn, nameColumn, text, wideText } from "../cells.ts";
import { editField, fillAbsent, fillZero, withField } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { checkAmount, roundAmounts, roundResources } from "./amounts.ts";
import { replacedAnnotation } from "./persistent-volume-warnings.ts";
import { claimSpecWarnings } from "./pod-warnings.ts";
import { type ClaimGates, claimGates, prepareClaimSpec, validateClaimSpec } from "./claim-spec.ts";
import { ownPrefix } from "./resource-names.ts";

/** The states of a resize, with the specification's names; upstream's `…Infeasible` of 1.32 mean the same failures. */
const resizeStates = [
  "ControllerResizeInProgress",
  "ControllerResizeInfeasible",
  "ControllerResizeFailed",
  "NodeResizeInProgress",
  "NodeResizeInfeasible",
  "NodeResizeFailed",
  "NodeResizePending",
];

const withRoundedAmounts = (status: PersistentVolumeClaimStatus): PersistentVolumeClaimStatus =>
  editField(editField(status, "capacity", roundAmounts), "allocatedResources", roundAmounts);

export function persistentVolumeClaims(environment: KindEnvironment): KindBehaviour<PersistentVolumeClaim> {
  const gates = claimGates(environment);
  const { rename } = environment.domain;
  const own = ownPrefix(environment.domain);
  const classAnnotation = rename("volume.beta.kubernetes.io/storage-class");
  return {
    returnsDeleted: true,
    columns: columns(classAnnotation),
    strategy: {
      defaults: (object) => ({
        ...object,
        spec: editField(fillAbsent(object.spec, { volumeMode: "Filesystem" }), "resources", roundResources),
        status: withRoundedAmounts(fillZero(object.status, { phase: "Pending" })),
      }),
      prepareForCreate: (object) => ({
        ...object,
        spec: prepareClaimSpec(object.spec, undefined, gates),
        status: { phase: "Pending" },
      }),
      prepareForUpdate: (object, old) => editField(object, "spec", (spec) => prepareClaimSpec(spec, old.spec, gates)),
      validate: ({ spec }) => validateClaimSpec(spec, gates),
      warningsOnCreate: (object) => warnings(object, classAnnotation),
      warningsOnUpdate: (object) => warnings(object, classAnnotation),
      subresources: {
        status: { validateUpdate: (object) => validateStatus(object, gates, own) },
      },
      validateUpdate: (object, old) => [
        ...validateClaimSpec(object.spec, gates, specPath, old.spec),
        ...validateSpecUpdate(object, old, gates, classAnnotation),
      ],
    },
  };
}

const specPath = FieldPath.of("spec");
const statusPath = FieldPath.of("status");
const storagePath = specPath.child("resources", "requests", "storage");
const allocatedPath = statusPath.child("allocatedResources");
/** Upstream: messages have another name for the field. */
const allocatedStatesPath = statusPath.child("allocatedResourceStatus");
const annotationsPath = FieldPath.of("metadata", "annotations");

const warnings = ({ metadata, spec }: PersistentVolumeClaim, classAnnotation: string): string[] => [
  ...replacedAnnotation(metadata, classAnnotation, "storageClassName", "v1.8"),
  ...claimSpecWarnings(spec, specPath),
];

function validateSpecUpdate(
  object: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
  gates: ClaimGates,
  classAnnotation: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const before = old.spec;
  const after = object.spec;
  const annotation = object.metadata.annotations?.[classAnnotation] ?? "";
  const oldAnnotation = old.metadata.annotations?.[classAnnotation] ?? "";
  // The class may move from the old annotation to the field, and a claim without a class may get one.
  const hadNoClass = before.storageClassName === undefined;
  const movesToField = oldAnnotation !== "" && hadNoClass && after.storageClassName === oldAnnotation;
  const isFirstClass = oldAnnotation === "" && hadNoClass && after.storageClassName !== undefined;
  if (!movesToField && annotation !== oldAnnotation) {
    errors.push(invalid(annotationsPath.child(classAnnotation), annotation, "field is immutable"));
  }
  let comparable = after;
  if (!before.volumeName) comparable = withField(comparable, "volumeName", before.volumeName);
  if (movesToField || isFirstClass) {
    comparable = withField(comparable, "storageClassName", before.storageClassName);
  }
  if (object.status.phase === "Bound") {
    comparable = withField(
      comparable,
      "resources",
      withStorage(after.resources, before.resources.requests?.["storage"]),
    );
  }
  // The specification: the class is mutable after creation. Upstream requires a bound claim. The other rules of the
  // class are in `validateAttributesClass`.
  if (after.volumeAttributesClassName !== undefined) {
    comparable = withField(comparable, "volumeAttributesClassName", before.volumeAttributesClassName);
  }
  if (!jsonEquals(comparable, before)) {
    errors.push(
      forbidden(
        specPath,
        "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
      ),
    );
  }
  addAll(errors, validateShrink(object, old, gates));
  if (after.volumeMode !== before.volumeMode) {
    errors.push(invalid(FieldPath.of("volumeMode"), after.volumeMode, "field is immutable"));
  }
  addAll(errors, validateAttributesClass(after, before, gates));
  return errors;
}

/** Returns the resources with another request for storage, if both have one. */
function withStorage(resources: VolumeResourceRequirements, storage: string | undefined): VolumeResourceRequirements {
  const { requests } = resources;
  return requests === undefined || storage === undefined
    ? resources
    : { ...resources, requests: { ...requests, storage } };
}

function validateShrink(object: PersistentVolumeClaim, old: PersistentVolumeClaim, gates: ClaimGates): FieldError[] {
  const wanted = object.spec.resources.requests?.["storage"] ?? "0";
  const before = old.spec.resources.requests?.["storage"] ?? "0";
  if (compareQuantityTexts(wanted, before) >= 0) return [];
  if (!gates.recoverExpansion) return [forbidden(storagePath, "field can not be less than previous value")];
  if (compareQuantityTexts(wanted, old.status.capacity?.["storage"] ?? "0") > 0) return [];
  return [forbidden(storagePath, "field can not be less than status.capacity")];
}

function validateAttributesClass(
  { volumeAttributesClassName: wanted }: PersistentVolumeClaimSpec,
  { volumeAttributesClassName: before }: PersistentVolumeClaimSpec,
  gates: ClaimGates,
): FieldError[] {
  if (wanted === before) return [];
  const path = specPath.child("volumeAttributesClassName");
  if (!gates.attributesClass) {
    return [forbidden(path, "update is forbidden when the VolumeAttributesClass feature gate is disabled")];
  }
  if (wanted === undefined) return [forbidden(path, "update from non-nil value to nil is forbidden")];
  if (wanted !== "" || before === undefined) return [];
  return [forbidden(path, "update from non-nil value to an empty string is forbidden")];
}

function validateStatus(
  { spec, status }: PersistentVolumeClaim,
  gates: ClaimGates,
  reservedPrefix: string,
): FieldError[] {
  const errors: FieldError[] = [];
  if ((spec.accessModes ?? []).length === 0) errors.push(required(FieldPath.of("Spec", "accessModes")));
  for (const [name, quantity] of Object.entries(status.capacity ?? {})) {
    checkAmount(quantity, statusPath.child("capacity").key(name), errors);
  }
  for (const [index, condition] of (status.conditions ?? []).entries()) {
    for (const name of ["type", "status"] as const) {
      // The specification: both fields are required. Upstream accepts conditions without them.
      if (condition[name] === "") errors.push(required(statusPath.child("conditions").index(index).child(name)));
    }
  }
  if (status.modifyVolumeStatus?.status === "") errors.push(required(statusPath.child("modifyVolumeStatus", "status")));
  if (!gates.recoverExpansion) return errors;
  for (const [key, state] of Object.entries(status.allocatedResourceStatuses ?? {})) {
    addAll(errors, validateResourceKey(key, allocatedStatesPath, reservedPrefix));
    // Upstream: the message shows the key.
    if (!resizeStates.includes(state)) errors.push(notSupported(allocatedStatesPath, new GoSyntax(key), resizeStates));
  }
  for (const [key, quantity] of Object.entries(status.allocatedResources ?? {})) {
    const keyErrors = validateResourceKey(key, allocatedPath, reservedPrefix);
    addAll(errors, keyErrors);
    if (keyErrors.length === 0) checkAmount(quantity, allocatedPath.key(key), errors);
  }
  return errors;
}

/**
 * Returns findings about a resource name. Names without a prefix and names with the platform's prefix are reserved, and
 * only `storage` has a meaning.
 */
function validateResourceKey(key: string, path: FieldPath, reservedPrefix: string): FieldError[] {
  const messages = qualifiedName(key);
  if (messages.length > 0) return messages.map((message) => invalid(path, key, message));
  const isReserved = !key.includes("/") || key.includes(reservedPrefix);
  return isReserved && key !== "storage" ? [notSupported(path, key, ["storage"])] : [];
}

function columns(classAnnotation: string): readonly Column<PersistentVolumeClaim>[] {
  return [
    nameColumn,
    text("Status", "Whether the claim has its volume.", ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined ? (status.phase ?? "") : "Terminating",
    ),
    text("Volume", "Name of the volume that belongs to the claim.", ({ spec }) => spec.volumeName ?? ""),
    text("Capacity", "Size of the volume.", ({ spec, status }) =>
      spec.volumeName ? (status.capacity?.["storage"] ?? "0") : "",
    ),
    text("Access Modes", "How the volume may be mounted.", ({ spec, status }) =>
      spec.volumeName ? accessModesText(status.accessModes) : "",
    ),
    text(
      "StorageClass",
      "Class of storage that was asked for.",
      ({ metadata, spec }) => metadata.annotations?.[classAnnotation] ?? spec.storageClassName ?? "",
    ),
    text(
      "VolumeAttributesClass",
      "Class of attributes that was asked for.",
      ({ spec }) => spec.volumeAttributesClassName ?? "<unset>",
    ),
    ageColumn,
    wideText(
      "VolumeMode",
      "Whether the volume has a file system or is a raw device.",
      ({ spec }) => spec.volumeMode ?? "<unset>",
    ),
  ];
}
