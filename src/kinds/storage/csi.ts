/** CSIDriver, CSINode and VolumeAttachment: what storage drivers say and are told. */
import type { Unstructured } from "#meta/object-meta.ts";
import { ageColumn, flag, inside, integer, nameColumn, text } from "../cells.ts";
import {
  editField,
  fillAbsent,
  isAbsent,
  type Json,
  listField,
  noFields,
  objectField,
  textField,
  withField,
} from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";

const specOf = (object: Unstructured): Json => objectField(object, "spec") ?? noFields;

export function csiDrivers(): KindBehaviour {
  const setting = (name: string, fallback: boolean) => (object: Unstructured) => specOf(object)[name] ?? fallback;
  return {
    returnsDeleted: true,
    columns: [
      nameColumn,
      flag("AttachRequired", "Whether volumes are attached before they are mounted.", setting("attachRequired", true)),
      flag("PodInfoOnMount", "Whether the driver is told about the pod.", setting("podInfoOnMount", false)),
      flag("StorageCapacity", "Whether the driver says how much room there is.", setting("storageCapacity", false)),
      text("TokenRequests", "For whom the driver gets tokens.", (object) =>
        isAbsent(specOf(object)["tokenRequests"])
          ? "<unset>"
          : listField(specOf(object), "tokenRequests")
              .map((request) => textField(request, "audience"))
              .join(","),
      ),
      flag("RequiresRepublish", "Whether volumes are published again and again.", setting("requiresRepublish", false)),
      text("Modes", "Which lives of volumes the driver supports.", (object) => {
        const modes = specOf(object)["volumeLifecycleModes"];
        return Array.isArray(modes) && modes.length > 0 ? modes.join(",") : "<none>";
      }),
      ageColumn,
    ],
    strategy: { defaults: (object) => editField(object, "spec", defaultDriver) },
  };
}

function defaultDriver(spec: Json): Json {
  const next = fillAbsent(spec, {
    attachRequired: true,
    podInfoOnMount: false,
    storageCapacity: false,
    fsGroupPolicy: "ReadWriteOnceWithFSType",
    requiresRepublish: false,
    seLinuxMount: false,
  });
  const modes = next["volumeLifecycleModes"];
  return Array.isArray(modes) && modes.length > 0 ? next : withField(next, "volumeLifecycleModes", ["Persistent"]);
}

export function csiNodes(): KindBehaviour {
  return {
    metadataRepeats: 1,
    returnsDeleted: true,
    columns: [
      nameColumn,
      integer("Drivers", "How many drivers the node has.", (object) => listField(specOf(object), "drivers").length),
      ageColumn,
    ],
  };
}

export function volumeAttachments(): KindBehaviour {
  return {
    metadataRepeats: 1,
    returnsDeleted: true,
    columns: [
      nameColumn,
      {
        ...text("Attacher", "Driver that attaches the volume.", (object) => textField(specOf(object), "attacher")),
        format: "name",
      },
      text("PV", "Volume that is attached.", (object) =>
        textField(inside(object, "spec", "source"), "persistentVolumeName"),
      ),
      text("Node", "Node that it is attached to.", (object) => textField(specOf(object), "nodeName")),
      flag("Attached", "Whether it is attached.", (object) => objectField(object, "status")?.["attached"] === true),
      ageColumn,
    ],
  };
}
