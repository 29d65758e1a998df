/** ReplicaSet: keeps a number of pods running. */
import { ageColumn, integer, nameColumn } from "../cells.ts";
import { editField, fillAbsent, numberField } from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { defaultPodTemplate } from "../core/pod-spec.ts";
import { specOf, statusNumber, templateColumns, validateSelectorKept, validateWorkload } from "./workload.ts";

export function replicaSets(): KindBehaviour {
  return {
    metadataRepeats: 1,
    columns: [
      nameColumn,
      integer("Desired", "How many pods are wanted.", (object) => numberField(specOf(object), "replicas")),
      integer("Current", "How many pods there are.", (object) => statusNumber(object, "replicas")),
      integer("Ready", "How many pods are ready.", (object) => statusNumber(object, "readyReplicas")),
      ageColumn,
      ...templateColumns,
    ],
    strategy: {
      defaults: (object) =>
        editField(object, "spec", (spec) =>
          editField(fillAbsent(spec, { replicas: 1 }), "template", defaultPodTemplate),
        ),
      validate: (object) => validateWorkload(object, "replicaset"),
      validateUpdate: (object, old) => [
        ...validateWorkload(object, "replicaset"),
        ...validateSelectorKept(object, old),
      ],
      subresources: { status: {} },
      fields: (object) => ({ "status.replicas": String(statusNumber(object, "replicas")) }),
    },
  };
}
