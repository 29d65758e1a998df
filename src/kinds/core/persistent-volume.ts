/** PersistentVolume: storage that a claim can be bound to. */
import type { PersistentVolume, PersistentVolumeSpec } from "#api/core/v1.ts";
import { type FieldError, forbidden, invalid, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1123Subdomain } from "#meta/names.ts";
import { accessModesText, ageColumn, nameColumn, text, wideText } from "../cells.ts";
import { editField, fillAbsent, fillZero } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { roundedAmounts } from "./amounts.ts";
import { defaultVolumeSources } from "./pod-spec.ts";

export function persistentVolumes(environment: KindEnvironment): KindBehaviour<PersistentVolume> {
  const hasClasses = environment.gate("VolumeAttributesClass");
  const classAnnotation = environment.domain.rename("volume.beta.kubernetes.io/storage-class");
  return {
    metadataRepeats: 1,
    returnsDeleted: true,
    columns: [
      nameColumn,
      text("Capacity", "Size of the volume.", ({ spec }) => spec.capacity?.["storage"] ?? "0"),
      text("Access Modes", "How the volume may be mounted.", ({ spec }) => accessModesText(spec.accessModes)),
      text(
        "Reclaim Policy",
        "What happens to the volume when its claim goes.",
        ({ spec }) => spec.persistentVolumeReclaimPolicy ?? "",
      ),
      text("Status", "Whether the volume has its claim.", ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined ? (status.phase ?? "") : "Terminating",
      ),
      text("Claim", "Claim that the volume belongs to.", ({ spec: { claimRef } }) =>
        claimRef === undefined ? "" : `${claimRef.namespace ?? ""}/${claimRef.name ?? ""}`,
      ),
      text(
        "StorageClass",
        "Class of storage.",
        ({ metadata, spec }) => metadata.annotations?.[classAnnotation] ?? spec.storageClassName ?? "",
      ),
      text("VolumeAttributesClass", "Class of attributes.", ({ spec }) => spec.volumeAttributesClassName ?? "<unset>"),
      text("Reason", "Why the volume is in its state.", ({ status }) => status.reason ?? ""),
      ageColumn,
      wideText(
        "VolumeMode",
        "Whether the volume has a file system or is a raw device.",
        ({ spec }) => spec.volumeMode ?? "<unset>",
      ),
    ],
    strategy: {
      defaults: (object) => ({
        ...object,
        spec: defaultVolumeSources(
          editField(
            fillAbsent(fillZero(object.spec, { persistentVolumeReclaimPolicy: "Retain" }), {
              volumeMode: "Filesystem",
            }),
            "capacity",
            roundedAmounts,
          ),
        ),
        status: fillZero(object.status, { phase: "Pending" }),
      }),
      prepareForCreate: (object) => ({ ...object, status: { phase: "Pending" } }),
      validate: ({ spec }) => validateAttributesClass(spec),
      // Upstream: tells each finding about the object twice.
      validateUpdate({ spec }, old) {
        const errors = validateAttributesClass(spec);
        return [...errors, ...errors, ...validateClassUpdate(spec, old.spec, hasClasses)];
      },
    },
  };
}

const classPath = FieldPath.of("spec", "volumeAttributesClassName");

function validateAttributesClass({ volumeAttributesClassName: name, csi }: PersistentVolumeSpec): FieldError[] {
  if (name === undefined) return [];
  const errors =
    name === ""
      ? [required(classPath, "an empty string is disallowed")]
      : dns1123Subdomain(name).map((message) => invalid(classPath, name, message));
  if (csi === undefined) {
    errors.push(required(FieldPath.of("spec", "csi"), "has to be specified when using volumeAttributesClassName"));
  }
  return errors;
}

function validateClassUpdate(
  { volumeAttributesClassName: name }: PersistentVolumeSpec,
  { volumeAttributesClassName: before }: PersistentVolumeSpec,
  hasClasses: boolean,
): FieldError[] {
  if (name === before) return [];
  const errors: FieldError[] = [];
  if (!hasClasses) {
    errors.push(forbidden(classPath, "update is forbidden when the VolumeAttributesClass feature gate is disabled"));
  }
  if (name === undefined) errors.push(forbidden(classPath, "update from non-nil value to nil is forbidden"));
  return errors;
}
