/** CSIDriver, CSINode and VolumeAttachment: communication with storage drivers. */
import type { CSIDriver, CSIDriverSpec, CSINode, VolumeAttachment } from "#api/storage/v1.ts";
import { ageColumn, flag, integer, nameColumn, text } from "../cells.ts";
import { editField, fillAbsent, withField } from "../edit.ts";
import { type KindBehaviour, type KindEnvironment, writtenMetadata } from "../generic.ts";

export function csiDrivers({ gate }: KindEnvironment): KindBehaviour<CSIDriver> {
  const hasSeLinuxMount = gate("SELinuxMountReadWriteOncePod");
  return {
    returnsDeleted: true,
    columns: [
      nameColumn,
      flag(
        "AttachRequired",
        "Whether volumes are attached before they are mounted.",
        ({ spec }) => spec.attachRequired ?? true,
      ),
      flag("PodInfoOnMount", "Whether the driver is told about the pod.", ({ spec }) => spec.podInfoOnMount ?? false),
      flag(
        "StorageCapacity",
        "Whether the driver says how much room there is.",
        ({ spec }) => spec.storageCapacity ?? false,
      ),
      text(
        "TokenRequests",
        "For whom the driver gets tokens.",
        ({ spec }) => spec.tokenRequests?.map(({ audience }) => audience).join(",") ?? "<unset>",
      ),
      flag(
        "RequiresRepublish",
        "Whether volumes are published again and again.",
        ({ spec }) => spec.requiresRepublish ?? false,
      ),
      text(
        "Modes",
        "Which lives of volumes the driver supports.",
        ({ spec }) => spec.volumeLifecycleModes?.join(",") || "<none>",
      ),
      ageColumn,
    ],
    strategy: { defaults: (object) => editField(object, "spec", (spec) => defaultDriver(spec, hasSeLinuxMount)) },
  };
}

function defaultDriver(spec: CSIDriverSpec, hasSeLinuxMount: boolean): CSIDriverSpec {
  const next = fillAbsent(spec, {
    attachRequired: true,
    podInfoOnMount: false,
    storageCapacity: false,
    fsGroupPolicy: "ReadWriteOnceWithFSType",
    requiresRepublish: false,
    ...(hasSeLinuxMount ? { seLinuxMount: false } : {}),
  });
  const { volumeLifecycleModes: modes = [] } = next;
  return modes.length > 0 ? next : withField(next, "volumeLifecycleModes", ["Persistent"]);
}

export function csiNodes(): KindBehaviour<CSINode> {
  return {
    metadataRepeats: 1,
    returnsDeleted: true,
    columns: [
      nameColumn,
      integer("Drivers", "How many drivers the node has.", ({ spec }) => spec.drivers?.length ?? 0),
      ageColumn,
    ],
  };
}

export function volumeAttachments(): KindBehaviour<VolumeAttachment> {
  return {
    statusKeeps: writtenMetadata,
    metadataRepeats: 1,
    returnsDeleted: true,
    columns: [
      nameColumn,
      { ...text("Attacher", "Driver that attaches the volume.", ({ spec }) => spec.attacher), format: "name" },
      text("PV", "Volume that is attached.", ({ spec }) => spec.source.persistentVolumeName ?? ""),
      text("Node", "Node that it is attached to.", ({ spec }) => spec.nodeName),
      flag("Attached", "Whether it is attached.", ({ status }) => status.attached),
      ageColumn,
    ],
  };
}
