/** Makes the Jobs of CronJobs when they are due. Source: upstream's `pkg/controller/cronjob`. */
import { ApiError } from "#client/api-error.ts";
import {
  after,
  controller,
  type ReconcileContext,
  type Requeue,
  type RunnableController,
} from "#client/controllers.ts";
import { CronJob, Job } from "#client/kinds.ts";
import { controllerOf, referenceToOwner } from "#client/owner.ts";
import { parseGoDuration } from "#std/go-duration.ts";
import { timestampOf, timeToMs } from "#meta/time.ts";
import { remove, writeStatus } from "./owned.ts";
import type { SimulationParts } from "./parts.ts";
import { parseSchedule } from "./schedule.ts";

export const cronJobController = ({ domain }: SimulationParts): RunnableController =>
  controller(CronJob, {
    name: "cronjob",
    owns: [Job],
    concurrency: 5,
    async reconcile({ metadata: { name, namespace } }, context) {
      // Both are read anew, so that a time is not used twice.
      const cron = await context.client.kind(CronJob).find(name, { in: namespace });
      if (cron === undefined || cron.metadata.deletionTimestamp !== undefined) return undefined;
      const all = await Array.fromAsync(context.client.kind(Job).list({ in: namespace }));
      const jobs = all.filter((job) => controllerOf(job)?.uid === cron.metadata.uid);
      const scheduled = domain.rename("batch.kubernetes.io/cronjob-scheduled-timestamp");
      return step(context, cron, jobs, scheduled);
    },
  });

const endOf = ({ status }: Job): "Complete" | "Failed" | undefined =>
  (["Complete", "Failed"] as const).find((type) =>
    status.conditions?.some((one) => one.type === type && one.status === "True"),
  );

async function step(
  context: ReconcileContext<CronJob>,
  cron: CronJob,
  jobs: readonly Job[],
  annotation: string,
): Promise<Requeue | undefined> {
  const { spec, status, metadata } = cron;
  const nowMs = context.client.clock.now();
  await forget(context, jobs, "Complete", spec.successfulJobsHistoryLimit ?? 3);
  await forget(context, jobs, "Failed", spec.failedJobsHistoryLimit ?? 1);
  const running = jobs.filter((job) => endOf(job) === undefined);
  const successes = jobs
    .filter((job) => endOf(job) === "Complete")
    .flatMap(({ status: { completionTime } }) => completionTime ?? []);
  const lastSuccessfulTime = [...successes, status.lastSuccessfulTime ?? ""].toSorted().at(-1) || undefined;
  const write = (active: readonly Job[], lastScheduleTime: string | undefined): Promise<void> =>
    writeStatus(context, CronJob, cron, {
      active: active.length === 0 ? undefined : active.map(referenceTo),
      lastScheduleTime,
      lastSuccessfulTime,
    });
  const next = nextOf(cron);
  if (spec.suspend === true || next === undefined) {
    await write(running, status.lastScheduleTime);
    return undefined;
  }
  const lastMs = timeToMs(status.lastScheduleTime ?? "") ?? timeToMs(metadata.creationTimestamp) ?? nowMs;
  const { startingDeadlineSeconds } = spec;
  const earliestMs = startingDeadlineSeconds === undefined ? 0 : nowMs - Number(startingDeadlineSeconds) * 1000;
  const due = lastDue(next, Math.max(lastMs, earliestMs), nowMs);
  const following = next(nowMs);
  const again = following === undefined ? undefined : after(following - nowMs);
  const isForbidden = spec.concurrencyPolicy === "Forbid" && running.length > 0;
  if (due === undefined || isForbidden) {
    await write(running, status.lastScheduleTime);
    return again;
  }
  const replaced = spec.concurrencyPolicy === "Replace" ? running : [];
  for (const job of replaced) await remove(context, Job, job);
  const made = await make(context, cron, due, annotation);
  await write(
    [...running.filter((job) => !replaced.includes(job) && job.metadata.uid !== made.metadata.uid), made],
    timestampOf(due),
  );
  return again;
}

/** Returns the function that finds the next time; `undefined` for a schedule that has none. */
function nextOf({
  spec: { schedule, timeZone },
  metadata,
}: CronJob): ((afterMs: number) => number | undefined) | undefined {
  const everyMs = schedule.startsWith("@every ") ? parseGoDuration(schedule.slice("@every ".length)) : undefined;
  if (everyMs === undefined) return parseSchedule(schedule, timeZone);
  const startMs = timeToMs(metadata.creationTimestamp) ?? 0;
  const stepMs = Math.max(1000, Math.floor(everyMs / 1000) * 1000);
  return (afterMs) => startMs + (Math.floor((afterMs - startMs) / stepMs) + 1) * stepMs;
}

/** Returns the last time that is due. It looks back by times that grow, so that a long pause costs few steps. */
function lastDue(next: (afterMs: number) => number | undefined, sinceMs: number, nowMs: number): number | undefined {
  const first = next(sinceMs);
  if (first === undefined || first > nowMs) return undefined;
  for (let backMs = 60_000; ; backMs *= 2) {
    let due: number | undefined;
    for (let at = next(Math.max(sinceMs, nowMs - backMs)); at !== undefined && at <= nowMs; at = next(at)) due = at;
    if (due !== undefined) return due;
  }
}

/** Makes the Job of a time, whose name says the time, so that there is only one. */
async function make(
  context: ReconcileContext<CronJob>,
  cron: CronJob,
  dueMs: number,
  annotation: string,
): Promise<Job> {
  const { name, namespace } = cron.metadata;
  const { metadata, spec } = cron.spec.jobTemplate;
  const jobs = context.client.kind(Job).in(namespace ?? "");
  const jobName = `${name}-${Math.floor(dueMs / 60_000)}`;
  try {
    const made = await jobs.create({
      metadata: {
        name: jobName,
        labels: metadata.labels,
        annotations: { ...metadata.annotations, [annotation]: timestampOf(dueMs) },
        ownerReferences: [referenceToOwner(cron)],
      },
      spec,
    });
    context.event("Normal", "SuccessfulCreate", `Created job ${jobName}`);
    return made;
  } catch (error) {
    if (!(error instanceof ApiError && error.reason === "AlreadyExists")) throw error;
    return jobs.get(jobName);
  }
}

const referenceTo = ({ metadata: { name, namespace, uid, resourceVersion } }: Job) => ({
  apiVersion: "batch/v1",
  kind: "Job",
  name,
  namespace: namespace ?? "",
  uid,
  resourceVersion,
});

/** Deletes the oldest Jobs that ended in one way, beyond a limit. */
async function forget(
  context: ReconcileContext<CronJob>,
  jobs: readonly Job[],
  end: string,
  limit: number,
): Promise<void> {
  const ended = jobs.filter((job) => endOf(job) === end && job.metadata.deletionTimestamp === undefined);
  const byTime = ended.toSorted(
    (a, b) => Date.parse(a.metadata.creationTimestamp) - Date.parse(b.metadata.creationTimestamp),
  );
  for (const job of byTime.slice(0, Math.max(0, ended.length - limit))) await remove(context, Job, job);
}
