/** Validates cron jobs. Source: `ValidateCronJobCreate` in upstream's `pkg/apis/batch/validation`. */
import type { CronJob, CronJobSpec, JobTemplateSpec } from "#api/batch/v1.ts";
import { type FieldError, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { PodRules } from "../core/pod-validation/rules.ts";
import { invalidSelector, validateCounts } from "../apps/workload-validation.ts";
import { cronScheduleError } from "#meta/cron-schedule.ts";
import { validateJobSpec } from "./job-validation.ts";
import { isTimeZone } from "#meta/time-zone.ts";

const policies = ["Allow", "Forbid", "Replace"];
/** The maximum number of characters of a schedule in a message. */
const detailLengthMax = 4096;

const specPath = FieldPath.of("spec");
const schedulePath = specPath.child("schedule");
const zonePath = specPath.child("timeZone");
const jobPath = specPath.child("jobTemplate", "spec");

/** Returns findings about a cron job. `old` is the stored job of an update. */
export function validateCronJob({ spec }: CronJob, rules: PodRules, old?: CronJob): FieldError[] {
  const { concurrencyPolicy = "" } = spec;
  const policyPath = specPath.child("concurrencyPolicy");
  return [
    ...validateSchedule(spec, old?.spec),
    ...validateCounts(spec, ["startingDeadlineSeconds"], specPath),
    ...(old !== undefined && old.spec.timeZone === spec.timeZone ? [] : validateZone(spec)),
    // An absent policy has got its default.
    ...(policies.includes(concurrencyPolicy) ? [] : [notSupported(policyPath, concurrencyPolicy, policies)]),
    ...validateJobTemplate(spec.jobTemplate, rules),
    ...validateCounts(spec, ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"], specPath),
  ];
}

function validateSchedule({ schedule, timeZone }: CronJobSpec, old: CronJobSpec | undefined): FieldError[] {
  if (schedule === "") return [required(schedulePath)];
  const error = cronScheduleError(schedule);
  const errors = error === undefined ? [] : [invalid(schedulePath, schedule, error.slice(0, detailLengthMax))];
  if (!schedule.includes("TZ")) return errors;
  if (old === undefined || !old.schedule.includes("TZ")) {
    const detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
    errors.push(invalid(schedulePath, schedule, detail));
  } else if (timeZone !== undefined) {
    const detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
    errors.push(invalid(schedulePath, schedule, detail));
  }
  return errors;
}

function validateZone({ timeZone }: CronJobSpec): FieldError[] {
  if (timeZone === undefined) return [];
  if (timeZone === "") return [invalid(zonePath, timeZone, "timeZone must be nil or non-empty string")];
  const errors: FieldError[] = [];
  if (timeZone.toLowerCase() === "local") {
    const detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
    errors.push(invalid(zonePath, timeZone, detail));
  }
  if (timeZone !== "Local" && !isTimeZone(timeZone)) {
    errors.push(invalid(zonePath, timeZone, `unknown time zone ${timeZone.slice(0, detailLengthMax)}`));
  }
  return errors;
}

/** Returns findings about the template of jobs. The selector of a job is generated when the job is created. */
function validateJobTemplate({ spec }: JobTemplateSpec, rules: PodRules): FieldError[] {
  const errors = validateJobSpec(spec, jobPath, rules);
  if (spec.selector !== undefined) {
    errors.push(invalidSelector(spec.selector, "`selector` will be auto-generated", jobPath.child("selector")));
  }
  if (spec.manualSelector === true) {
    errors.push(notSupported(jobPath.child("manualSelector"), true, ["nil", "false"]));
  }
  return errors;
}
