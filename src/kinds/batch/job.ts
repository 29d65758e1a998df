/** Job: pods that run to completion. Selector and labels of the pods are made from the job's uid. */
import type { PodTemplateSpec } from "#api/core/v1.ts";
import type { Job } from "#api/batch/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { humanDuration } from "#meta/human-duration.ts";
import type { ObjectMeta, Unstructured } from "#meta/object-meta.ts";
import { ageColumn, containerColumns, inside, nameColumn, selectorText, text, wideText } from "../cells.ts";
import {
  editField,
  editItems,
  fillAbsent,
  fillZero,
  isAbsent,
  type Json,
  listField,
  noFields,
  numberField,
  objectField,
  textField,
  withField,
} from "../json-edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { defaultPodTemplate } from "../core/pod-spec.ts";
import { withTemplateLabels } from "../core/replication-controller.ts";
import { validateJobUpdate } from "./job-update.ts";

const unlimited = 2147483647;

export function jobs(environment: KindEnvironment): KindBehaviour {
  const { rename } = environment.domain;
  const uidLabel = rename("batch.kubernetes.io/controller-uid");
  const nameLabel = rename("batch.kubernetes.io/job-name");
  return {
    metadataRepeats: 1,
    columns,
    strategy: {
      defaults: (object) =>
        withTemplateLabels(editField(object, "spec", defaultSpec), templateLabels(object) as ObjectMeta["labels"]),
      canonicalize(object) {
        const before = templateLabels(object) ?? {};
        const next = editField(object, "spec", (spec) => selectOwnPods(spec, object, { uidLabel, nameLabel }));
        if (next === object) return object;
        // A job that has no labels but those of its template follows it.
        const follows = jsonEquals(next.metadata.labels ?? {}, before);
        return follows
          ? withTemplateLabels(
              { ...next, metadata: { ...next.metadata, labels: {} } },
              templateLabels(next) as ObjectMeta["labels"],
            )
          : next;
      },
      validateUpdate: (object, old) => validateJobUpdate(object as unknown as Job, old as unknown as Job), // by its schema
      subresources: { status: {} },
      fields: (object) => ({ "status.successful": String(numberField(objectField(object, "status"), "succeeded")) }),
    },
  };
}

const templateLabels = (object: Unstructured): Json | undefined =>
  inside(object, "spec", "template", "metadata", "labels");

function defaultSpec(spec: Json): Json {
  let next = spec;
  if (isAbsent(next["completions"]) && isAbsent(next["parallelism"])) next = fillAbsent(next, { completions: 1 });
  const policy = objectField(next, "podFailurePolicy");
  next = fillAbsent(next, {
    parallelism: 1,
    backoffLimit: isAbsent(next["backoffLimitPerIndex"]) ? 6 : unlimited,
    completionMode: "NonIndexed",
    suspend: false,
    podReplacementPolicy: policy === undefined ? "TerminatingOrFailed" : "Failed",
  });
  next = editField(next, "podFailurePolicy", (holder) =>
    editItems(holder, "rules", (rule) =>
      editItems(rule, "onPodConditions", (condition) => fillZero(condition, { status: "True" })),
    ),
  );
  return editField(next, "template", defaultPodTemplate);
}

/** Runs on creates only, when name and uid are known. The short labels are those of earlier releases. */
function selectOwnPods(
  spec: Json,
  object: Unstructured,
  names: { readonly uidLabel: string; readonly nameLabel: string },
): Json {
  const { uid = "", name = "" } = object.metadata;
  if (spec["manualSelector"] === true || uid === "" || name === "") return spec;
  const template = objectField(spec, "template") ?? noFields;
  const meta = objectField(template, "metadata") ?? noFields;
  const labels = fillAbsent(objectField(meta, "labels") ?? noFields, {
    [names.uidLabel]: uid,
    [names.nameLabel]: name,
    "controller-uid": uid,
    "job-name": name,
  });
  const selector = objectField(spec, "selector") ?? noFields;
  const matchLabels = fillAbsent(objectField(selector, "matchLabels") ?? noFields, { [names.uidLabel]: uid });
  const labelled = withField(template, "metadata", withField(meta, "labels", labels));
  return withField(withField(spec, "template", labelled), "selector", withField(selector, "matchLabels", matchLabels));
}

function isTrue(object: Unstructured, type: string): boolean {
  const conditions = listField(objectField(object, "status") ?? noFields, "conditions");
  return conditions.some((condition) => condition["type"] === type && condition["status"] === "True");
}

function statusText(object: Unstructured): string {
  if (isTrue(object, "Complete")) return "Complete";
  if (isTrue(object, "Failed")) return "Failed";
  if (object.metadata.deletionTimestamp !== undefined) return "Terminating";
  if (isTrue(object, "Suspended")) return "Suspended";
  return isTrue(object, "FailureTarget") ? "FailureTarget" : "Running";
}

function completionsText(object: Unstructured): string {
  const spec = objectField(object, "spec");
  const succeeded = numberField(objectField(object, "status"), "succeeded");
  const completions = spec?.["completions"];
  if (typeof completions === "number") return `${succeeded}/${completions}`;
  const parallelism = numberField(spec, "parallelism");
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function durationText(object: Unstructured, nowMs: number): string {
  const status = objectField(object, "status");
  const started = textField(status, "startTime");
  if (started === "") return "";
  const ended = textField(status, "completionTime");
  return humanDuration((ended === "" ? nowMs : Date.parse(ended)) - Date.parse(started));
}

const columns = [
  nameColumn,
  text("Status", "Whether the job runs, is over or has failed.", statusText),
  text("Completions", "How many pods have succeeded, of how many that must.", completionsText),
  text("Duration", "How long the job has run.", durationText),
  ageColumn,
  ...containerColumns<Unstructured>((object) => inside(object, "spec", "template") as PodTemplateSpec | undefined),
  wideText("Selector", "Labels of the pods.", (object) => selectorText(inside(object, "spec", "selector"))),
];
