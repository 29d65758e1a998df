/** StorageClass: how volumes are provisioned. */
import type { StorageClass } from "#api/storage/v1.ts";
import { defaultClassCheck } from "#meta/default-class.ts";
import { ageColumn, classNameColumn, text } from "../cells.ts";
import { fillAbsent } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { forbidUpdates, validateImmutable } from "../immutable.ts";

export function storageClasses({ domain }: KindEnvironment): KindBehaviour<StorageClass> {
  return {
    metadataRepeats: 1,
    returnsDeleted: true,
    columns: [
      classNameColumn(defaultClassCheck("StorageClass", domain)),
      text("Provisioner", "Program that makes the volumes.", (object) => object.provisioner),
      text(
        "ReclaimPolicy",
        "What happens to a volume when its claim goes.",
        (object) => object.reclaimPolicy || "Delete",
      ),
      text(
        "VolumeBindingMode",
        "When volumes are made and bound.",
        (object) => object.volumeBindingMode || "Immediate",
      ),
      text("AllowVolumeExpansion", "Whether volumes may grow.", (object) => object.allowVolumeExpansion === true),
      ageColumn,
    ],
    strategy: {
      defaults: (object) => fillAbsent(object, { reclaimPolicy: "Delete", volumeBindingMode: "Immediate" }),
      validateUpdate: (object, old) => [
        ...forbidUpdates(object, old, ["parameters", "provisioner", "reclaimPolicy"]),
        ...validateImmutable(object, old, ["volumeBindingMode"]),
      ],
    },
  };
}
