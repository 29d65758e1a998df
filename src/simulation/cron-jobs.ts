/** Makes the Jobs of CronJobs when they are due. Source: upstream's `pkg/controller/cronjob`. */
import { after, controller, isConditionTrue, type ReconcileContext } from "#client/controllers.ts";
import { CronJob, Job } from "#client/kinds.ts";
import { cronTimes } from "#meta/cron-schedule.ts";
import { timestampOf, timeToMs } from "#meta/time.ts";
import type { SimulationParts } from "./parts.ts";

export const cronJobController = ({ domain }: SimulationParts) =>
  controller(CronJob, {
    owns: [Job],
    concurrency: 5,
    async reconcile(cron, context) {
      const { metadata, spec, status } = cron;
      const { concurrencyPolicy, successfulJobsHistoryLimit = 3, failedJobsHistoryLimit = 1 } = spec;
      const jobs = await context.readOwned(Job);
      await forget(jobs, "Complete", successfulJobsHistoryLimit, context);
      await forget(jobs, "Failed", failedJobsHistoryLimit, context);
      let active = jobs.filter((job) => !hasEnded(job, "Complete") && !hasEnded(job, "Failed"));
      let { lastScheduleTime } = status;
      const createdMs = Date.parse(metadata.creationTimestamp);
      const nowMs = context.client.clock.now();
      const times =
        spec.suspend === true ? undefined : cronTimes(spec.schedule, { timeZone: spec.timeZone, startMs: createdMs });
      const earliestMs = nowMs - Number(spec.startingDeadlineSeconds ?? Infinity) * 1000;
      const dueMs = times?.last(Math.max(timeToMs(lastScheduleTime ?? "") ?? createdMs, earliestMs), nowMs);
      if (dueMs !== undefined && !(concurrencyPolicy === "Forbid" && active.length > 0)) {
        if (concurrencyPolicy === "Replace") {
          for (const job of active) await context.remove(Job, job);
          active = [];
        }
        const made = await context.create(Job, jobOf(cron, dueMs, domain.rename));
        active = [...active.filter((job) => job.metadata.uid !== made.metadata.uid), made];
        lastScheduleTime = timestampOf(dueMs);
        context.event("Normal", "SuccessfulCreate", `Created job ${made.metadata.name}`);
      }
      const successes = jobs.flatMap((job) => (hasEnded(job, "Complete") ? (job.status.completionTime ?? []) : []));
      await context.replaceStatus({
        active: active.length === 0 ? undefined : active.map(referenceTo),
        lastScheduleTime,
        lastSuccessfulTime: [...successes, status.lastSuccessfulTime ?? ""].toSorted().at(-1) || undefined,
      });
      const nextMs = times?.next(nowMs);
      return nextMs === undefined ? undefined : after(nextMs - nowMs);
    },
  });

const hasEnded = ({ status }: Job, type: "Complete" | "Failed"): boolean => isConditionTrue(status.conditions, type);

/** Deletes the oldest Jobs that ended in one way, beyond a limit. */
async function forget(
  jobs: readonly Job[],
  type: "Complete" | "Failed",
  limit: number,
  { remove }: ReconcileContext<CronJob>,
): Promise<void> {
  const ended = jobs.filter((job) => hasEnded(job, type) && job.metadata.deletionTimestamp === undefined);
  const createdMs = ({ metadata }: Job): number => Date.parse(metadata.creationTimestamp);
  const byTime = ended.toSorted((a, b) => createdMs(a) - createdMs(b));
  for (const job of byTime.slice(0, Math.max(0, ended.length - limit))) await remove(Job, job);
}

/** Returns the Job of a time. Its name says the time, so that there is only one. */
function jobOf({ metadata: { name }, spec }: CronJob, dueMs: number, rename: (name: string) => string) {
  const { metadata, spec: job } = spec.jobTemplate;
  const scheduled = rename("batch.kubernetes.io/cronjob-scheduled-timestamp");
  return {
    metadata: {
      name: `${name}-${Math.floor(dueMs / 60_000)}`,
      labels: metadata.labels,
      annotations: { ...metadata.annotations, [scheduled]: timestampOf(dueMs) },
    },
    spec: job,
  };
}

const referenceTo = ({ metadata: { name, namespace = "", uid, resourceVersion } }: Job) => ({
  apiVersion: "batch/v1",
  kind: "Job",
  name,
  namespace,
  uid,
  resourceVersion,
});
