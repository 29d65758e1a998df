/**
 * Deletes Jobs `ttlSecondsAfterFinished` after their end, with their pods. Source: upstream's TTL-after-finished
 * controller.
 */
import type { Job } from "#api/batch/v1.ts";
import { timeToMs } from "#meta/time.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import type { Controller } from "./controller.ts";
import { objectPath } from "./paths.ts";
import { reconcile } from "./reconcile.ts";

const workersMax = 5;

const jobs = "/apis/batch/v1/jobs";

export const ttlAfterFinishedController: Controller = (environment) =>
  reconcile<Job>(environment, {
    name: "ttl_jobs_to_delete",
    path: jobs,
    what: "jobs",
    logKey: "job",
    failure: "could not delete a finished job; trying again",
    workersMax,
    matters: (job) => endMs(job) !== undefined,
    async work(job, later) {
      const leftMs = endMs(job)! - environment.clock.now(); // it matters only if it ends
      if (leftMs > 0) return later(leftMs);
      const { uid, resourceVersion } = job.metadata;
      // The version is a precondition, too: the time may have been extended meanwhile.
      const options = { propagationPolicy: "Foreground", preconditions: { uid, resourceVersion } };
      await ignoreNotFound(environment.client.delete(objectPath(jobs, job.metadata), options));
    },
  });

/** Returns when a job is to be deleted, in milliseconds; `undefined` when it has no TTL or has not finished. */
function endMs({ metadata, spec, status }: Job): number | undefined {
  const { ttlSecondsAfterFinished: seconds } = spec;
  if (seconds === undefined || metadata.deletionTimestamp !== undefined) return undefined;
  const finished = status.conditions?.find(
    (condition) => ["Complete", "Failed"].includes(condition.type) && condition.status === "True",
  );
  const finishedMs = timeToMs(finished?.lastTransitionTime ?? "");
  return finishedMs === undefined ? undefined : finishedMs + seconds * 1000;
}
