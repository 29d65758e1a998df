/** Makes the Jobs of CronJobs when they are due. Source: upstream's `pkg/controller/cronjob`. */
import { after, controller, isConditionTrue, referenceTo } from "#client/controllers.ts";
import { CronJob, Job } from "#client/kinds.ts";
import { cronTimes } from "#meta/cron-schedule.ts";
import { timestampOf, timeToMs } from "#meta/time.ts";
import type { SimulationParts } from "./parts.ts";
import { keepLast } from "./pods.ts";

export const cronJobController = ({ domain }: SimulationParts) =>
  controller(CronJob, {
    owns: [Job],
    async reconcile(cron, context) {
      const { spec, status } = cron;
      const { schedule, timeZone, suspend, concurrencyPolicy } = spec;
      const { successfulJobsHistoryLimit = 3, failedJobsHistoryLimit = 1, startingDeadlineSeconds = Infinity } = spec;
      const jobs = (await context.readOwned(Job)).toSorted((a, b) => createdMs(a) - createdMs(b));
      const completed = jobs.filter(({ status: { conditions } }) => isConditionTrue(conditions, "Complete"));
      const failed = jobs.filter(({ status: { conditions } }) => isConditionTrue(conditions, "Failed"));
      await keepLast(completed, successfulJobsHistoryLimit, (job) => context.remove(Job, job));
      await keepLast(failed, failedJobsHistoryLimit, (job) => context.remove(Job, job));
      let active = jobs.filter((job) => !completed.includes(job) && !failed.includes(job));
      let { lastScheduleTime } = status;
      const startMs = createdMs(cron);
      const nowMs = context.client.clock.now();
      const times = suspend === true ? undefined : cronTimes(schedule, { timeZone, startMs });
      const earliestMs = nowMs - Number(startingDeadlineSeconds) * 1000;
      const dueMs = times?.last(Math.max(timeToMs(lastScheduleTime ?? "") ?? startMs, earliestMs), nowMs);
      if (dueMs !== undefined && !(concurrencyPolicy === "Forbid" && active.length > 0)) {
        if (concurrencyPolicy === "Replace") for (const job of active.splice(0)) await context.remove(Job, job);
        const made = await context.create(Job, jobOf(cron, dueMs, domain.rename));
        active = [...active.filter((job) => job.metadata.uid !== made.metadata.uid), made];
        lastScheduleTime = timestampOf(dueMs);
        context.event("Normal", "SuccessfulCreate", `Created job ${made.metadata.name}`);
      }
      const successes = completed.map((job) => job.status.completionTime ?? "");
      await context.replaceStatus({
        active: active.length === 0 ? undefined : active.map(referenceTo),
        lastScheduleTime,
        lastSuccessfulTime: [...successes, status.lastSuccessfulTime ?? ""].toSorted().at(-1) || undefined,
      });
      const nextMs = times?.next(nowMs);
      return nextMs === undefined ? undefined : after(nextMs - nowMs);
    },
  });

const createdMs = ({ metadata }: Job | CronJob): number => Date.parse(metadata.creationTimestamp);

/** Returns the Job of a time. Its name says the time, so that there is only one. */
function jobOf({ metadata: { name }, spec }: CronJob, dueMs: number, rename: (name: string) => string) {
  const { metadata, spec: job } = spec.jobTemplate;
  const scheduled = rename("batch.kubernetes.io/cronjob-scheduled-timestamp");
  const annotations = { ...metadata.annotations, [scheduled]: timestampOf(dueMs) };
  return {
    metadata: { name: `${name}-${Math.floor(dueMs / 60_000)}`, labels: metadata.labels, annotations },
    spec: job,
  };
}
