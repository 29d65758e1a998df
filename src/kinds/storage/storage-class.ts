/** StorageClass: a way to make volumes. */
import { defaultClassCheck } from "#meta/default-class.ts";
import { ageColumn, classNameColumn, text } from "../cells.ts";
import { fillAbsent, textField } from "../json-edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { forbidUpdates, validateKept } from "../kept.ts";

export function storageClasses(environment: KindEnvironment): KindBehaviour {
  return {
    metadataRepeats: 1,
    returnsDeleted: true,
    columns: [
      classNameColumn(defaultClassCheck("StorageClass", environment.domain)),
      text("Provisioner", "Program that makes the volumes.", (object) => textField(object, "provisioner")),
      text(
        "ReclaimPolicy",
        "What happens to a volume when its claim goes.",
        (object) => textField(object, "reclaimPolicy") || "Delete",
      ),
      text(
        "VolumeBindingMode",
        "When volumes are made and bound.",
        (object) => textField(object, "volumeBindingMode") || "Immediate",
      ),
      text("AllowVolumeExpansion", "Whether volumes may grow.", (object) => object["allowVolumeExpansion"] === true),
      ageColumn,
    ],
    strategy: {
      defaults: (object) => fillAbsent(object, { reclaimPolicy: "Delete", volumeBindingMode: "Immediate" }),
      validateUpdate: (object, old) => [
        ...forbidUpdates(object, old, ["parameters", "provisioner", "reclaimPolicy"]),
        ...validateKept(object, old, ["volumeBindingMode"]),
      ],
    },
  };
}
