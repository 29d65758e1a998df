/** ReplicaSet: keeps a number of pods running. */
import type { ReplicaSet } from "#api/apps/v1.ts";
import { templateRules } from "../core/pod-validation/rules.ts";
import { ageColumn, integer, nameColumn } from "../cells.ts";
import { defaultPodTemplate } from "../core/pod-spec.ts";
import { templateWarnings } from "../core/pod-warnings.ts";
import { editField, fillAbsent } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { validateReplicaSet, validateReplicaSetStatus } from "./replica-set-validation.ts";
import { templateColumns } from "./workload.ts";
import { validateSelectorUpdate } from "./workload-validation.ts";

export function replicaSets(environment: KindEnvironment): KindBehaviour<ReplicaSet> {
  const { domain } = environment;
  const rulesOf = templateRules<ReplicaSet>(environment, ({ spec }) => spec.template);
  return {
    // Upstream: the error about a missing object names the scale.
    missingScale: { group: "apps", resource: "replicasets/scale" },
    columns: [
      nameColumn,
      integer("Desired", "How many pods are wanted.", ({ spec }) => spec.replicas ?? 0),
      integer("Current", "How many pods there are.", ({ status }) => status.replicas),
      integer("Ready", "How many pods are ready.", ({ status }) => status.readyReplicas ?? 0),
      ageColumn,
      ...templateColumns,
    ],
    selectableFields: [],
    strategy: {
      defaults: (object) =>
        editField(object, "spec", (spec) =>
          editField(fillAbsent(spec, { replicas: 1 }), "template", defaultPodTemplate),
        ),
      validate: (object) => validateReplicaSet(object, rulesOf(object)),
      validateUpdate: (object, old) => [
        ...validateReplicaSet(object, rulesOf(object, old)),
        ...validateSelectorUpdate(object, old),
      ],
      ...templateWarnings<ReplicaSet>(({ spec }) => spec.template, { domain, namesPods: true }),
      subresources: { status: { validateUpdate: validateReplicaSetStatus } },
    },
  };
}
