/** DaemonSet: one pod on every node. */
import { ageColumn, inside, integer, labelsText, nameColumn, text } from "../cells.ts";
import { editField, fillAbsent, fillZero, type Json, noFields, objectField, textField, withField } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { defaultPodTemplate } from "../core/pod-spec.ts";
import { statusNumber, templateColumns } from "./workload.ts";

export function daemonSets(): KindBehaviour {
  return {
    columns: [
      nameColumn,
      integer("Desired", "How many nodes should run the pod.", (object) =>
        statusNumber(object, "desiredNumberScheduled"),
      ),
      integer("Current", "How many nodes run the pod and should.", (object) =>
        statusNumber(object, "currentNumberScheduled"),
      ),
      integer("Ready", "How many of the pods are ready.", (object) => statusNumber(object, "numberReady")),
      integer("Up-to-date", "How many pods have the present template.", (object) =>
        statusNumber(object, "updatedNumberScheduled"),
      ),
      integer("Available", "How many pods have been ready for long enough.", (object) =>
        statusNumber(object, "numberAvailable"),
      ),
      text("Node Selector", "Labels of the nodes.", (object) =>
        labelsText(inside(object, "spec", "template", "spec", "nodeSelector")),
      ),
      ageColumn,
      ...templateColumns,
    ],
    strategy: { defaults: (object) => editField(object, "spec", defaultSpec) },
  };
}

function defaultSpec(spec: Json): Json {
  let strategy = fillZero(objectField(spec, "updateStrategy") ?? noFields, { type: "RollingUpdate" });
  if (textField(strategy, "type") === "RollingUpdate") {
    const rolling = objectField(strategy, "rollingUpdate") ?? noFields;
    strategy = withField(strategy, "rollingUpdate", fillAbsent(rolling, { maxUnavailable: 1, maxSurge: 0 }));
  }
  const next = fillAbsent(withField(spec, "updateStrategy", strategy), { revisionHistoryLimit: 10 });
  return editField(next, "template", defaultPodTemplate);
}
