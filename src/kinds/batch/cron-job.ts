/** CronJob: jobs on a schedule. */
import type { CronJob, CronJobSpec } from "#api/batch/v1.ts";
import { FieldPath } from "#meta/field-path.ts";
import { ageOf } from "#meta/human-duration.ts";
import { formatLabelSelector } from "#meta/label-selector.ts";
import { templateRules } from "../core/pod-validation/rules.ts";
import { ageColumn, containerColumns, flag, integer, nameColumn, orNone, text, wideText } from "../cells.ts";
import { defaultPodTemplate } from "../core/pod-spec.ts";
import { templateWarnings } from "../core/pod-warnings.ts";
import { editField, fillAbsent, fillZero } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { validateCronJob } from "./cron-job-validation.ts";

const templatePath = FieldPath.of("spec", "jobTemplate", "spec", "template");

export function cronJobs(environment: KindEnvironment): KindBehaviour<CronJob> {
  const { domain } = environment;
  const rulesOf = templateRules<CronJob>(environment, ({ spec }) => spec.jobTemplate.spec.template);
  return {
    columns: [
      nameColumn,
      text("Schedule", "When jobs are made, as cron says it.", ({ spec }) => spec.schedule),
      text("Timezone", "Time zone of the schedule.", ({ spec }) => orNone(spec.timeZone)),
      flag("Suspend", "Whether no jobs are made for now.", ({ spec: { suspend } }) =>
        suspend === undefined ? "<unset>" : suspend ? "True" : "False",
      ),
      integer("Active", "How many jobs are running.", ({ status }) => status.active?.length ?? 0),
      text("Last Schedule", "Time since a job was last made.", ({ status: { lastScheduleTime: last } }, nowMs) =>
        last === undefined ? "<none>" : ageOf(last, nowMs),
      ),
      ageColumn,
      ...containerColumns<CronJob>(({ spec }) => spec.jobTemplate.spec.template),
      wideText("Selector", "Labels of the pods.", ({ spec }) => formatLabelSelector(spec.jobTemplate.spec.selector)),
    ],
    strategy: {
      defaults: (object) => editField(object, "spec", defaultSpec),
      validate: (object) => validateCronJob(object, rulesOf(object)),
      validateUpdate: (object, old) => validateCronJob(object, rulesOf(object, old), old),
      subresources: { status: { takesAnyFinalizers: true } },
      ...templateWarnings<CronJob>(({ spec }) => spec.jobTemplate.spec.template, {
        domain,
        path: templatePath,
        namesPods: true,
      }),
    },
  };
}

/** Fills in the defaults of a cron job. The defaults of its job template apply when a job is created. */
function defaultSpec(spec: CronJobSpec): CronJobSpec {
  const next = fillAbsent(fillZero(spec, { concurrencyPolicy: "Allow" }), {
    suspend: false,
    successfulJobsHistoryLimit: 3,
    failedJobsHistoryLimit: 1,
  });
  return editField(next, "jobTemplate", (template) =>
    editField(template, "spec", (job) => editField(job, "template", defaultPodTemplate)),
  );
}
