/** ReplicationController: keeps a number of pods running; the older form of ReplicaSet. */
import type { Unstructured } from "#meta/object-meta.ts";
import { compileLabels } from "#meta/selector.ts";
import { ageColumn, containerColumns, inside, integer, labelsText, nameColumn, wideText } from "../cells.ts";
import { editField, fillAbsent, noFields, numberField, objectField, textsField, withField } from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { defaultPodTemplate } from "./pod-spec.ts";

export function replicationControllers(): KindBehaviour {
  return {
    metadataRepeats: 1,
    scaleSelector: labelsAsSelector,
    columns: [
      nameColumn,
      integer("Desired", "How many pods are wanted.", (object) => numberField(objectField(object, "spec"), "replicas")),
      integer("Current", "How many pods there are.", (object) =>
        numberField(objectField(object, "status"), "replicas"),
      ),
      integer("Ready", "How many pods are ready.", (object) =>
        numberField(objectField(object, "status"), "readyReplicas"),
      ),
      ageColumn,
      ...containerColumns((object) => inside(object, "spec", "template", "spec")),
      wideText("Selector", "Labels of the pods.", (object) => labelsText(inside(object, "spec", "selector"))),
    ],
    strategy: {
      defaults,
      fields: (object) => ({ "status.replicas": String(numberField(objectField(object, "status"), "replicas")) }),
    },
  };
}

/** Upstream: the oldest workload selects by labels alone. */
function labelsAsSelector(object: Unstructured): string {
  const labels = textsField(objectField(object, "spec") ?? noFields, "selector") ?? {};
  return compileLabels(Object.entries(labels).map(([key, value]) => ({ key, operator: "=", values: [value] }))).text;
}

function defaults(object: Unstructured): Unstructured {
  const labels = inside(object, "spec", "template", "metadata", "labels");
  const next = editField(object, "spec", (spec) => {
    const counted = editField(fillAbsent(spec, { replicas: 1 }), "template", defaultPodTemplate);
    const isOpen = Object.keys(objectField(spec, "selector") ?? noFields).length === 0;
    return isOpen && labels !== undefined ? withField(counted, "selector", labels) : counted;
  });
  return withTemplateLabels(next, labels);
}

/** An object without labels gets those of its template. */
export function withTemplateLabels(object: Unstructured, labels: unknown): Unstructured {
  if (labels === undefined || Object.keys(object.metadata.labels ?? {}).length > 0) return object;
  return { ...object, metadata: { ...object.metadata, labels: labels as Readonly<Record<string, string>> } }; // labels of a template
}
