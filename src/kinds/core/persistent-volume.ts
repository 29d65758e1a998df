/** PersistentVolume: storage that a claim can be bound to. */
import type { PersistentVolume, PersistentVolumeStatus } from "#api/core/v1.ts";
import { timestampOf } from "#meta/time.ts";
import type { Column } from "#registry/resource-definition.ts";
import { accessModesText, ageColumn, nameColumn, text, wideText } from "../cells.ts";
import { editField, fillAbsent, fillZero, withField } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { roundAmounts } from "./amounts.ts";
import { validateVolume, validateVolumeUpdate, volumeRules } from "./persistent-volume-validation.ts";
import { volumeWarnings } from "./persistent-volume-warnings.ts";
import { defaultVolumeSources } from "./pod-spec.ts";

export function persistentVolumes(environment: KindEnvironment): KindBehaviour<PersistentVolume> {
  const classAnnotation = environment.domain.rename("volume.beta.kubernetes.io/storage-class");
  const rules = volumeRules(environment);
  const warnings = volumeWarnings(environment.domain);
  const now = (): string => timestampOf(environment.now());
  return {
    returnsDeleted: true,
    columns: columns(classAnnotation),
    strategy: {
      defaults: (object) => ({
        ...object,
        spec: defaultVolumeSources(
          editField(
            fillAbsent(fillZero(object.spec, { persistentVolumeReclaimPolicy: "Retain" }), {
              volumeMode: "Filesystem",
            }),
            "capacity",
            roundAmounts,
          ),
        ),
        status: fillZero(object.status, { phase: "Pending" }),
      }),
      prepareForCreate: (object) => ({
        ...object,
        status: { phase: "Pending", lastPhaseTransitionTime: now() },
      }),
      validate: (object) => validateVolume(object, rules),
      validateUpdate: (object, old) => validateVolumeUpdate(object, old, rules),
      warningsOnCreate: warnings,
      warningsOnUpdate: warnings,
      subresources: {
        status: {
          prepareForUpdate: (object, old) => ({
            ...object,
            status: withTransitionTime(object.status, old.status, now),
          }),
        },
      },
    },
  };
}

/**
 * Returns the status with the time of the last change of the phase: the client's time if it sets a new one, else the
 * server's.
 */
function withTransitionTime(
  status: PersistentVolumeStatus,
  old: PersistentVolumeStatus,
  now: () => string,
): PersistentVolumeStatus {
  const { lastPhaseTransitionTime: transitionTime } = status;
  const before = old.lastPhaseTransitionTime;
  if (transitionTime !== undefined && transitionTime !== before) return status;
  return withField(status, "lastPhaseTransitionTime", status.phase === old.phase ? before : now());
}

function columns(classAnnotation: string): readonly Column<PersistentVolume>[] {
  return [
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
  ];
}
