/**
 * Deletes Jobs `ttlSecondsAfterFinished` after their end, with their pods. Source: upstream's TTL-after-finished
 * controller.
 */
import type { Job } from "#api/batch/v1.ts";
import { keyOf } from "#client/informer.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import type { WorkQueue } from "#client/work-queue.ts";
import { timeToMs } from "#meta/time.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { ignoreCodes } from "./ignore-codes.ts";
import { reconcile } from "./reconcile.ts";

const workersMax = 5;

export const ttlAfterFinishedController: Controller = (environment) =>
  reconcile<Job>(environment, {
    name: "ttl_jobs_to_delete",
    path: "/apis/batch/v1/jobs",
    what: "jobs",
    logKey: "job",
    failure: "could not delete a finished job; trying again",
    workersMax,
    keyOf: (job) => (endMs(job) === undefined ? undefined : keyOf(job)),
    work: (key, queue) => look(environment, key, queue),
  });

/** Reads a job and deletes it if its time is over; else queues it for the time when it will be. */
async function look({ client, clock }: ControllerEnvironment, key: string, queue: WorkQueue): Promise<void> {
  const [namespace = "", name = ""] = key.split("/");
  const path = `/apis/batch/v1/namespaces/${encodeURIComponent(namespace)}/jobs/${encodeURIComponent(name)}`;
  const job = await ignoreNotFound(client.get<Job>(path));
  const dueMs = job === undefined ? undefined : endMs(job);
  if (job === undefined || dueMs === undefined) return;
  const leftMs = dueMs - clock.now();
  if (leftMs > 0) return queue.addAfter(key, leftMs);
  const { uid, resourceVersion } = job.metadata;
  // The version is a precondition, too: the time may have been extended meanwhile.
  const preconditions = { uid, resourceVersion };
  await ignoreCodes([404], client.delete(path, { propagationPolicy: "Foreground", preconditions }));
}

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
