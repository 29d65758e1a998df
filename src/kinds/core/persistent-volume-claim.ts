/**
 * PersistentVolumeClaim: a request for storage. Binding, resizing and modifying volumes are drivers'; the protection
 * finalizer and default classes are admission's. Source: upstream's `pkg/registry/core/persistentvolumeclaim` and
 * `ValidatePersistentVolumeClaim*`; where the specification says more, it decides.
 */
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, forbidden, invalid, notSupported, required } from "#meta/field-error.ts";
import { qualifiedName } from "#meta/names.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { Column } from "#registry/resource-definition.ts";
import { accessModesText, ageColumn, nameColumn, text, wideText } from "../cells.ts";
import {
  editField,
  fillAbsent,
  fillZero,
  isAbsent,
  type Json,
  listField,
  noFields,
  objectField,
  textField,
  textsField,
  withField,
} from "../json-edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { type ClaimGates, claimGates, compareTexts, prepareClaimSpec, validateClaimSpec } from "./claim-spec.ts";

/** Of resizes. The specification's names; upstream's `…Infeasible` of 1.32 stand for the same failures. */
const resizeStates = [
  "ControllerResizeFailed",
  "ControllerResizeInProgress",
  "ControllerResizeInfeasible",
  "NodeResizeFailed",
  "NodeResizeInProgress",
  "NodeResizeInfeasible",
  "NodeResizePending",
].sort();

export function persistentVolumeClaims(environment: KindEnvironment): KindBehaviour {
  const gates = claimGates(environment);
  const { rename } = environment.domain;
  const classAnnotation = rename("volume.beta.kubernetes.io/storage-class");
  return {
    metadataRepeats: 2,
    returnsDeleted: true,
    columns: columns(classAnnotation),
    strategy: {
      defaults: (object) => ({
        ...editField(object, "spec", (spec) => fillAbsent(spec, { volumeMode: "Filesystem" })),
        status: fillZero(objectField(object, "status") ?? noFields, { phase: "Pending" }),
      }),
      prepareForCreate: (object) =>
        editField({ ...object, status: { phase: "Pending" } }, "spec", (spec) =>
          prepareClaimSpec(spec, undefined, gates),
        ),
      prepareForUpdate: (object, old) =>
        editField(object, "spec", (spec) => prepareClaimSpec(spec, objectField(old, "spec"), gates)),
      validate: (object) => validateClaimSpec(specOf(object), "spec", gates),
      subresources: {
        status: {
          prepareForUpdate: (object, old) =>
            editField(object, "status", (status) => dropDisabledStatus(status, old, gates)),
          validateUpdate: (object) => validateStatus(object, gates, rename("kubernetes.io/")),
        },
      },
      validateUpdate(object, old) {
        const errors = validateSpecUpdate(object, old, gates, classAnnotation);
        // A spec that may not change is not checked twice.
        return errors.length > 0 ? errors : validateClaimSpec(specOf(object), "spec", gates);
      },
    },
  };
}

const specOf = (object: Unstructured): Json => objectField(object, "spec") ?? noFields;
const statusOf = (object: Unstructured): Json => objectField(object, "status") ?? noFields;

const storageRequest = (object: Unstructured): string | undefined =>
  textsField(objectField(specOf(object), "resources") ?? noFields, "requests")?.["storage"];

function dropDisabledStatus(status: Json, old: Unstructured, gates: ClaimGates): Json {
  const before = statusOf(old);
  let next = status;
  const drop = (isOn: boolean, ...names: readonly string[]) => {
    if (isOn) return;
    for (const name of names) if (isAbsent(before[name])) next = withField(next, name, undefined);
  };
  drop(gates.recoverExpansion, "allocatedResources", "allocatedResourceStatuses");
  drop(gates.attributesClass, "currentVolumeAttributesClassName", "modifyVolumeStatus");
  return next;
}

function validateSpecUpdate(
  object: Unstructured,
  old: Unstructured,
  gates: ClaimGates,
  classAnnotation: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const before = specOf(old);
  const after = specOf(object);
  const annotation = object.metadata.annotations?.[classAnnotation] ?? "";
  const oldAnnotation = old.metadata.annotations?.[classAnnotation] ?? "";
  const oldClass = textField(before, "storageClassName");
  const newClass = textField(after, "storageClassName");
  // The class may move from the old annotation to the field, and be set where there was none.
  const movesToField = oldAnnotation !== "" && isAbsent(before["storageClassName"]) && newClass === oldAnnotation;
  const isFirstClass =
    oldAnnotation === "" && isAbsent(before["storageClassName"]) && !isAbsent(after["storageClassName"]);
  if (!movesToField && annotation !== oldAnnotation) {
    errors.push(invalid(`metadata.annotations[${classAnnotation}]`, annotation, "field is immutable"));
  }
  const isBound = textField(statusOf(object), "phase") === "Bound";
  let comparable: Json = after;
  if (textField(before, "volumeName") === "") comparable = withField(comparable, "volumeName", before["volumeName"]);
  if (movesToField || (isFirstClass && oldClass === "")) {
    comparable = withField(comparable, "storageClassName", before["storageClassName"]);
  }
  if (isBound) comparable = withField(comparable, "resources", withStorage(after, before));
  // The specification: mutable after creation; upstream asks for a bound claim. Its own rules follow below.
  comparable = withField(comparable, "volumeAttributesClassName", before["volumeAttributesClassName"]);
  if (!jsonEquals(comparable, before)) {
    errors.push(
      forbidden(
        "spec",
        "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
      ),
    );
  } else errors.push(...validateShrink(object, old, gates));
  if ((after["volumeMode"] ?? null) !== (before["volumeMode"] ?? null)) {
    errors.push(invalid("volumeMode", after["volumeMode"] ?? null, "field is immutable"));
  }
  errors.push(...validateAttributesClass(after, before, gates));
  return errors;
}

/** The new resources with the old request for storage. */
function withStorage(after: Json, before: Json): unknown {
  const resources = objectField(after, "resources");
  const requests = resources === undefined ? undefined : textsField(resources, "requests");
  const storage = textsField(objectField(before, "resources") ?? noFields, "requests")?.["storage"];
  if (resources === undefined || requests === undefined || storage === undefined) return after["resources"];
  return { ...resources, requests: { ...requests, storage } };
}

function validateShrink(object: Unstructured, old: Unstructured, gates: ClaimGates): FieldError[] {
  const wanted = storageRequest(object);
  const before = storageRequest(old);
  if (wanted === undefined || before === undefined || compareTexts(wanted, before) >= 0) return [];
  const field = "spec.resources.requests.storage";
  if (!gates.recoverExpansion) return [forbidden(field, "field can not be less than previous value")];
  const capacity = textsField(statusOf(old), "capacity")?.["storage"] ?? "0";
  if (compareTexts(wanted, capacity) > 0) return [];
  return [forbidden(field, "field can not be less than status.capacity")];
}

function validateAttributesClass(after: Json, before: Json, gates: ClaimGates): FieldError[] {
  const field = "spec.volumeAttributesClassName";
  const wanted = after["volumeAttributesClassName"] ?? null;
  const had = before["volumeAttributesClassName"] ?? null;
  if (wanted === had) return [];
  if (!gates.attributesClass) {
    return [forbidden(field, "update is forbidden when the VolumeAttributesClass feature gate is disabled")];
  }
  if (wanted === null) return [forbidden(field, "update from non-nil value to nil is forbidden")];
  if (wanted === "") return [forbidden(field, "update to empty value is forbidden")];
  return [];
}

function validateStatus(object: Unstructured, gates: ClaimGates, reservedPrefix: string): FieldError[] {
  const status = statusOf(object);
  const errors: FieldError[] = [];
  if (listLength(specOf(object)["accessModes"]) === 0) errors.push(required("Spec.accessModes"));
  for (const [name, quantity] of Object.entries(textsField(status, "capacity") ?? {})) {
    errors.push(...notNegative(`status.capacity[${name}]`, quantity));
  }
  for (const [index, condition] of listField(status, "conditions").entries()) {
    for (const name of ["type", "status"]) {
      // The specification: both are required. Upstream takes conditions without.
      if (textField(condition, name) === "") errors.push(required(`status.conditions[${index}].${name}`));
    }
  }
  const modify = objectField(status, "modifyVolumeStatus");
  if (modify !== undefined && textField(modify, "status") === "") {
    errors.push(required("status.modifyVolumeStatus.status"));
  }
  if (!gates.recoverExpansion) return errors;
  for (const [key, state] of Object.entries(textsField(status, "allocatedResourceStatuses") ?? {})) {
    errors.push(...validateResourceKey(key, "status.allocatedResourceStatuses", reservedPrefix));
    if (!resizeStates.includes(state)) {
      errors.push(notSupported(`status.allocatedResourceStatuses[${key}]`, state, resizeStates));
    }
  }
  for (const [key, quantity] of Object.entries(textsField(status, "allocatedResources") ?? {})) {
    errors.push(...validateResourceKey(key, "status.allocatedResources", reservedPrefix));
    errors.push(...notNegative(`status.allocatedResources[${key}]`, quantity));
  }
  return errors;
}

const listLength = (value: unknown): number => (Array.isArray(value) ? value.length : 0);

const notNegative = (field: string, quantity: string): FieldError[] =>
  compareTexts(quantity, "0") < 0 ? [invalid(field, quantity, "must be greater than or equal to 0")] : [];

/** Names without a prefix, and with the platform's, are reserved; `storage` is the only one that means something. */
function validateResourceKey(key: string, field: string, reservedPrefix: string): FieldError[] {
  const messages = qualifiedName(key);
  if (messages.length > 0) return messages.map((message) => invalid(field, key, message));
  const isReserved = !key.includes("/") || key.includes(reservedPrefix);
  return isReserved && key !== "storage" ? [notSupported(field, key, ["storage"])] : [];
}

function columns(classAnnotation: string): readonly Column[] {
  const isBoundTo = (object: Unstructured): boolean => textField(specOf(object), "volumeName") !== "";
  return [
    nameColumn,
    text("Status", "Whether the claim has its volume.", (object) =>
      object.metadata.deletionTimestamp === undefined ? textField(statusOf(object), "phase") : "Terminating",
    ),
    text("Volume", "Name of the volume that belongs to the claim.", (object) =>
      textField(specOf(object), "volumeName"),
    ),
    text("Capacity", "Size of the volume.", (object) =>
      isBoundTo(object) ? (textsField(statusOf(object), "capacity")?.["storage"] ?? "0") : "",
    ),
    text("Access Modes", "How the volume may be mounted.", (object) =>
      isBoundTo(object) ? accessModesText(statusOf(object)["accessModes"]) : "",
    ),
    text(
      "StorageClass",
      "Class of storage that was asked for.",
      (object) => object.metadata.annotations?.[classAnnotation] ?? textField(specOf(object), "storageClassName"),
    ),
    text(
      "VolumeAttributesClass",
      "Class of attributes that was asked for.",
      (object) => specOf(object)["volumeAttributesClassName"] ?? "<unset>",
    ),
    ageColumn,
    wideText(
      "VolumeMode",
      "Whether the volume has a file system or is a raw device.",
      (object) => specOf(object)["volumeMode"] ?? "<unset>",
    ),
  ];
}
