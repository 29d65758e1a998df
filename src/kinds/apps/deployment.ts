/** Deployment: a declared version of an application, rolled out by replica sets. */
import { ageColumn, nameColumn, text } from "../cells.ts";
import {
  editField,
  fillAbsent,
  fillZero,
  type Json,
  noFields,
  numberField,
  objectField,
  textField,
  withField,
} from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { defaultPodTemplate } from "../core/pod-spec.ts";
import { specOf, statusNumber, templateColumns, validateSelectorKept, validateWorkload } from "./workload.ts";

export function deployments(): KindBehaviour {
  return {
    annotationsCount: true,
    statusKeeps: ["labels"],
    columns: [
      nameColumn,
      text(
        "Ready",
        "How many of the wanted pods are ready.",
        (object) => `${statusNumber(object, "readyReplicas")}/${numberField(specOf(object), "replicas")}`,
      ),
      text("Up-to-date", "How many pods have the present template.", (object) =>
        statusNumber(object, "updatedReplicas"),
      ),
      text("Available", "How many pods have been ready for long enough.", (object) =>
        statusNumber(object, "availableReplicas"),
      ),
      ageColumn,
      ...templateColumns,
    ],
    strategy: {
      defaults: (object) => withField(object, "spec", defaultSpec(specOf(object))),
      validate: (object) => validateWorkload(object, "deployment"),
      validateUpdate: (object, old) => [
        ...validateWorkload(object, "deployment"),
        ...validateSelectorKept(object, old),
      ],
      subresources: { status: {} },
    },
  };
}

function defaultSpec(spec: Json): Json {
  let next = fillAbsent(spec, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 });
  const strategy = fillZero(objectField(next, "strategy") ?? noFields, { type: "RollingUpdate" });
  next = withField(next, "strategy", textField(strategy, "type") === "RollingUpdate" ? rolling(strategy) : strategy);
  return editField(next, "template", defaultPodTemplate);
}

function rolling(strategy: Json): Json {
  const update = objectField(strategy, "rollingUpdate") ?? noFields;
  return withField(strategy, "rollingUpdate", fillAbsent(update, { maxUnavailable: "25%", maxSurge: "25%" }));
}
