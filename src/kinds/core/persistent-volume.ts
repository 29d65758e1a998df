/** PersistentVolume: storage that a claim can be bound to. */
import type { Unstructured } from "#meta/object-meta.ts";
import { accessModesText, ageColumn, inside, nameColumn, text, wideText } from "../cells.ts";
import {
  editField,
  fillAbsent,
  fillZero,
  type Json,
  noFields,
  objectField,
  textField,
  textsField,
} from "../json-edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { defaultVolumeSources } from "./pod-spec.ts";

export function persistentVolumes(environment: KindEnvironment): KindBehaviour {
  const classAnnotation = environment.domain.rename("volume.beta.kubernetes.io/storage-class");
  return {
    metadataRepeats: 1,
    returnsDeleted: true,
    columns: [
      nameColumn,
      text("Capacity", "Size of the volume.", (object) => textsField(specOf(object), "capacity")?.["storage"] ?? "0"),
      text("Access Modes", "How the volume may be mounted.", (object) =>
        accessModesText(specOf(object)["accessModes"]),
      ),
      text("Reclaim Policy", "What happens to the volume when its claim goes.", (object) =>
        textField(specOf(object), "persistentVolumeReclaimPolicy"),
      ),
      text("Status", "Whether the volume has its claim.", (object) =>
        object.metadata.deletionTimestamp === undefined ? textField(statusOf(object), "phase") : "Terminating",
      ),
      text("Claim", "Claim that the volume belongs to.", (object) => {
        const claim = inside(object, "spec", "claimRef");
        return claim === undefined ? "" : `${textField(claim, "namespace")}/${textField(claim, "name")}`;
      }),
      text(
        "StorageClass",
        "Class of storage.",
        (object) => object.metadata.annotations?.[classAnnotation] ?? textField(specOf(object), "storageClassName"),
      ),
      text(
        "VolumeAttributesClass",
        "Class of attributes.",
        (object) => specOf(object)["volumeAttributesClassName"] ?? "<unset>",
      ),
      text("Reason", "Why the volume is in its state.", (object) => textField(statusOf(object), "reason")),
      ageColumn,
      wideText(
        "VolumeMode",
        "Whether the volume has a file system or is a raw device.",
        (object) => specOf(object)["volumeMode"] ?? "<unset>",
      ),
    ],
    strategy: {
      defaults: (object) => ({
        ...editField(object, "spec", (spec) =>
          defaultVolumeSources(
            fillAbsent(fillZero(spec, { persistentVolumeReclaimPolicy: "Retain" }), { volumeMode: "Filesystem" }),
          ),
        ),
        status: fillZero(statusOf(object), { phase: "Pending" }),
      }),
      prepareForCreate: (object) => ({ ...object, status: { phase: "Pending" } }),
    },
  };
}

const specOf = (object: Unstructured): Json => objectField(object, "spec") ?? noFields;
const statusOf = (object: Unstructured): Json => objectField(object, "status") ?? noFields;
