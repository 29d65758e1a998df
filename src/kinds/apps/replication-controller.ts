/** ReplicationController: keeps a number of pods running. It is the older form of ReplicaSet, in the core group. */
import type { ReplicationController } from "#api/core/v1.ts";
import type { ApiObject, ObjectMeta } from "#meta/object-meta.ts";
import { compileLabels } from "#meta/selector.ts";
import { templateRules } from "../core/pod-validation/rules.ts";
import { ageColumn, containerColumns, integer, labelsText, nameColumn, wideText } from "../cells.ts";
import { editField, fillAbsent, withField } from "../edit.ts";
import { validateReplicaSetStatus, validateReplicationController } from "./replica-set-validation.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { defaultPodTemplate } from "../core/pod-spec.ts";
import { templateWarnings } from "../core/pod-warnings.ts";

export function replicationControllers(environment: KindEnvironment): KindBehaviour<ReplicationController> {
  const { domain } = environment;
  const rulesOf = templateRules<ReplicationController>(environment, ({ spec }) => spec.template);
  const { warningsOnCreate, warningsOnUpdate } = templateWarnings<ReplicationController>(({ spec }) => spec.template, {
    domain,
    namesPods: true,
  });
  return {
    scaleSelector: labelsAsSelector,
    // Upstream: the error about a missing object names the scale, in the group autoscaling.
    missingScale: { group: "autoscaling", resource: "replicationcontrollers/scale" },
    columns: [
      nameColumn,
      integer("Desired", "How many pods are wanted.", ({ spec }) => spec.replicas ?? 0),
      integer("Current", "How many pods there are.", ({ status }) => status.replicas),
      integer("Ready", "How many pods are ready.", ({ status }) => status.readyReplicas ?? 0),
      ageColumn,
      ...containerColumns<ReplicationController>(({ spec }) => spec.template),
      wideText("Selector", "Labels of the pods.", ({ spec }) => labelsText(spec.selector)),
    ],
    strategy: {
      defaults,
      validate: (object) => validateReplicationController(object, rulesOf(object)),
      validateUpdate: (object, old) => validateReplicationController(object, rulesOf(object, old)),
      warningsOnCreate,
      // Upstream: warnings are about the template before the update.
      warningsOnUpdate: (object, old) => warningsOnUpdate(old, object),
      // A status that is sent without a template gives no labels either, and the stored template still does.
      subresources: {
        status: {
          validateUpdate: validateReplicaSetStatus,
          complete: (object) => withTemplateLabels(object, object.spec.template?.metadata.labels),
        },
      },
      fields: ({ status }) => ({ "status.replicas": String(status.replicas) }),
    },
  };
}

/** Returns the selector as text. Upstream: the oldest workload has labels as its selector. */
function labelsAsSelector({ spec: { selector = {} } }: ReplicationController): string {
  return compileLabels(Object.entries(selector).map(([key, value]) => ({ key, operator: "=", values: [value] }))).text;
}

function defaults(object: ReplicationController): ReplicationController {
  const labels = object.spec.template?.metadata.labels;
  const next = editField(object, "spec", (spec) => {
    const counted = editField(fillAbsent(spec, { replicas: 1 }), "template", defaultPodTemplate);
    const isOpen = Object.keys(spec.selector ?? {}).length === 0;
    return isOpen && labels !== undefined ? withField(counted, "selector", labels) : counted;
  });
  return withTemplateLabels(next, labels);
}

/** Returns the object with the labels of its template, if it has no labels of its own. */
export function withTemplateLabels<T extends ApiObject>(object: T, labels: ObjectMeta["labels"]): T {
  if (labels === undefined || Object.keys(object.metadata.labels ?? {}).length > 0) return object;
  return { ...object, metadata: { ...object.metadata, labels } };
}
