/** CronJob: jobs at set times. */
import type { PodTemplateSpec } from "#api/core/v1.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import {
  age,
  ageColumn,
  containerColumns,
  flag,
  inside,
  integer,
  nameColumn,
  orNone,
  selectorText,
  text,
  wideText,
} from "../cells.ts";
import {
  editField,
  fillAbsent,
  fillZero,
  type Json,
  listField,
  noFields,
  objectField,
  textField,
} from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { defaultPodTemplate } from "../core/pod-spec.ts";

export function cronJobs(): KindBehaviour {
  return {
    columns: [
      nameColumn,
      text("Schedule", "When jobs are made, as cron says it.", (object) =>
        textField(objectField(object, "spec"), "schedule"),
      ),
      text("Timezone", "Time zone of the schedule.", (object) => orNone(objectField(object, "spec")?.["timeZone"])),
      flag("Suspend", "Whether no jobs are made for now.", (object) => {
        const suspend = objectField(object, "spec")?.["suspend"];
        return typeof suspend === "boolean" ? (suspend ? "True" : "False") : "<unset>";
      }),
      integer(
        "Active",
        "How many jobs are running.",
        (object) => listField(objectField(object, "status") ?? noFields, "active").length,
      ),
      text("Last Schedule", "Time since a job was last made.", (object, nowMs) => {
        const last = textField(objectField(object, "status"), "lastScheduleTime");
        return last === "" ? "<none>" : age(last, nowMs);
      }),
      ageColumn,
      ...containerColumns<Unstructured>(
        (object) => inside(object, "spec", "jobTemplate", "spec", "template") as PodTemplateSpec | undefined,
      ),
      wideText("Selector", "Labels of the pods.", (object) =>
        selectorText(inside(object, "spec", "jobTemplate", "spec", "selector")),
      ),
    ],
    strategy: { defaults: (object) => editField(object, "spec", defaultSpec) },
  };
}

/** The job's own defaults come when a job is made. */
function defaultSpec(spec: Json): Json {
  const next = fillAbsent(fillZero(spec, { concurrencyPolicy: "Allow" }), {
    suspend: false,
    successfulJobsHistoryLimit: 3,
    failedJobsHistoryLimit: 1,
  });
  return editField(next, "jobTemplate", (template) =>
    editField(template, "spec", (job) => editField(job, "template", defaultPodTemplate)),
  );
}
