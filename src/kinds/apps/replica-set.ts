/** ReplicaSet: keeps a number of pods running. */
import type { ReplicaSet } from "#api/apps/v1.ts";
import { ageColumn, integer, nameColumn } from "../cells.ts";
import { defaultPodTemplate } from "../core/pod-spec.ts";
import { editField, fillAbsent } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { templateColumns, workloadRules } from "./workload.ts";

export function replicaSets(): KindBehaviour<ReplicaSet> {
  return {
    // Upstream names the scale.
    missingScale: { group: "apps", resource: "replicasets/scale" },
    metadataRepeats: 1,
    columns: [
      nameColumn,
      integer("Desired", "How many pods are wanted.", ({ spec }) => spec.replicas ?? 0),
      integer("Current", "How many pods there are.", ({ status }) => status.replicas),
      integer("Ready", "How many pods are ready.", ({ status }) => status.readyReplicas ?? 0),
      ageColumn,
      ...templateColumns,
    ],
    strategy: {
      defaults: (object) =>
        editField(object, "spec", (spec) =>
          editField(fillAbsent(spec, { replicas: 1 }), "template", defaultPodTemplate),
        ),
      ...workloadRules("replicaset"),
      fields: ({ status }) => ({ "status.replicas": String(status.replicas) }),
    },
  };
}
