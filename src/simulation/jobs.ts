/**
 * Runs Jobs by their pods: parallelism, completions by number or by index, retries, deadlines, suspension. A pod that has
 * ended is counted once: its uid is in the status until the pod has an annotation that says so, or has gone. Upstream does
 * this by a finalizer, which holds pods as well.
 * Source: upstream's `pkg/controller/job`; policies by exit code or by index are not here.
 */
import { after, controller, inBatches, isConditionTrue, setCondition } from "#client/controllers.ts";
import { Job, type JobCondition, type JobStatus, Pod } from "#client/kinds.ts";
import { absentIndexes, addIndexes, countIndexes } from "#meta/index-list.ts";
import { timestampOf, timeToMs } from "#meta/time.ts";
import { simulationDomain, type SimulationParts } from "./parts.ts";
import { burstMax, hasEnded, isActive, isReady, podOf } from "./pods.ts";

/** The annotation of a pod that has been counted. Its value is the uid of the pod, which no template can have. */
const countedName = `${simulationDomain}/counted`;

const isCounted = ({ metadata: { uid, annotations } }: Pod): boolean => annotations?.[countedName] === uid;

const ourManager = "kubernetes.io/job-controller";

export const jobController = ({ domain }: SimulationParts) =>
  controller(Job, {
    owns: [Pod],
    selector: ({ spec }) => spec.selector,
    async reconcile(job, { claim, readOwned, replaceStatus, create, remove, event, client, lister }) {
      const { spec, status } = job;
      const { namespace } = job.metadata;
      const isOver = isConditionTrue(status.conditions, "Complete") || isConditionTrue(status.conditions, "Failed");
      if (isOver || (spec.managedBy ?? ourManager) !== ourManager) return;
      const nowMs = client.clock.now();
      const indexLabel = domain.rename("batch.kubernetes.io/job-completion-index");
      await claim(Pod);
      const pods = await readOwned(Pod);
      const active = pods.filter(isActive);
      const isBehind = pods.filter((pod) => hasEnded(pod) && !isCounted(pod)).length > burstMax;
      // Memory has pods that were released, and the server those that memory lacks.
      const present = new Map([...lister.list(Pod, namespace), ...pods].map((pod) => [pod.metadata.uid, pod]));
      const counted = started(counts(job, pods, present, indexLabel), spec.suspend === true, nowMs);
      const end = verdictOn(job, counted, active, nowMs);
      await replaceStatus(end === undefined || isBehind ? counted : concluded(counted, end, nowMs));
      const { uncountedTerminatedPods: { succeeded: done = [], failed: lost = [] } = {} } = counted;
      await inBatches([...done, ...lost], (uid) => {
        const merge = { metadata: { uid, annotations: { [countedName]: uid } } };
        return client.kind(Pod).patch(present.get(uid)!.metadata.name, { merge }, { in: namespace });
      });
      if (isBehind) return;
      const { parallelism = 1, completions, suspend } = spec;
      const { succeeded = 0, failed = 0 } = counted;
      const left = completions === undefined ? (succeeded > 0 ? active.length : parallelism) : completions - succeeded;
      const wanted = end !== undefined || suspend === true ? 0 : Math.max(0, Math.min(parallelism, left));
      await inBatches(active.slice(wanted), (pod) => remove(Pod, pod));
      if (end !== undefined) return event(end.isComplete ? "Normal" : "Warning", end.reason, end.message);
      const missing = wanted - active.length;
      const retryMs = failed === 0 ? 0 : lastFailureMs(pods) + pauseMs(failed) - nowMs;
      if (missing > 0 && retryMs <= 0) {
        const count = Math.min(missing, burstMax);
        const taken = addIndexes(counted.completedIndexes ?? "", indexesOf(active, indexLabel), completions ?? 0);
        const indexes = absentIndexes(taken, completions ?? parallelism, count);
        await inBatches(indexes, (index) => create(Pod, draftOf(job, index, indexLabel)));
      }
      const waitMs = Math.min(deadlineOf(job, counted) - nowMs, missing > 0 && retryMs > 0 ? retryMs : Infinity);
      return waitMs === Infinity ? undefined : after(Math.max(1, waitMs));
    },
  });

const indexesOf = (pods: readonly Pod[], label: string): number[] =>
  pods.map(({ metadata }) => Number(metadata.labels?.[label] ?? -1));

const orNone = <T>(all: readonly T[]) => (all.length === 0 ? undefined : all);

/** Returns the status with the numbers of pods. Fields that are undefined are left out when it is written. */
function counts({ spec, status }: Job, pods: readonly Pod[], present: ReadonlyMap<string, Pod>, indexLabel: string) {
  const { succeeded: doneBefore = [], failed: failedBefore = [] } = status.uncountedTerminatedPods ?? {};
  const before = new Set([...doneBefore, ...failedBefore]);
  const isNew = (pod: Pod): boolean => hasEnded(pod) && !isCounted(pod) && !before.has(pod.metadata.uid);
  const added = pods.filter(isNew).slice(0, burstMax);
  const isDone = ({ status: { phase } }: Pod): boolean => phase === "Succeeded";
  const addedDone = added.filter(isDone);
  const addedFailed = added.filter((pod) => !isDone(pod));
  const isPending = (uid: string): boolean => present.has(uid) && !isCounted(present.get(uid)!);
  const uids = (old: readonly string[], more: readonly Pod[]) =>
    orNone([...old.filter(isPending), ...more.map(({ metadata }) => metadata.uid)]);
  const done = pods.filter(isDone);
  const { completions = 0, completionMode } = spec;
  const all = addIndexes(status.completedIndexes ?? "", indexesOf(done, indexLabel), completions);
  const indexes = completionMode === "Indexed" ? all : undefined;
  const succeeded =
    indexes === undefined ? (status.succeeded ?? 0) + addedDone.length : countIndexes(indexes, completions);
  return {
    ...status,
    active: pods.filter(isActive).length || undefined,
    ready: pods.filter((pod) => isActive(pod) && isReady(pod)).length,
    terminating: pods.filter((pod) => !isActive(pod) && !hasEnded(pod)).length,
    succeeded: succeeded || undefined,
    failed: (status.failed ?? 0) + addedFailed.length || undefined,
    completedIndexes: indexes || undefined,
    uncountedTerminatedPods: { succeeded: uids(doneBefore, addedDone), failed: uids(failedBefore, addedFailed) },
  } as JobStatus;
}

/** Returns the status with the time of the start, which a suspended Job loses until it is resumed. */
function started({ startTime, ...status }: JobStatus, isSuspended: boolean, nowMs: number): JobStatus {
  const next = isSuspended ? status : { ...status, startTime: startTime ?? timestampOf(nowMs) };
  if (isSuspended === isConditionTrue(status.conditions, "Suspended")) return next;
  const stated = isSuspended
    ? { status: "True", reason: "JobSuspended", message: "Job suspended" }
    : { status: "False", reason: "JobResumed", message: "Job resumed" };
  return { ...next, conditions: withCondition(status, { type: "Suspended", ...stated }, nowMs) };
}

const withCondition = (
  { conditions }: JobStatus,
  stated: Pick<JobCondition, "type" | "status" | "reason" | "message">,
  nowMs: number,
) => setCondition<JobCondition>(conditions, { ...stated, lastProbeTime: null }, nowMs);

/** Returns the time at which a Job has to end; `Infinity` when there is none. */
function deadlineOf({ spec: { activeDeadlineSeconds, suspend } }: Job, { startTime = "" }: JobStatus): number {
  const startMs = timeToMs(startTime);
  if (activeDeadlineSeconds === undefined || suspend === true || startMs === undefined) return Infinity;
  return startMs + Number(activeDeadlineSeconds) * 1000;
}

type Verdict = ReturnType<typeof verdict>;

const verdict = (isComplete: boolean, reason = "", message = "") => ({ isComplete, reason, message });

/** Returns why a Job is over; `undefined` when it is not. */
function verdictOn(job: Job, status: JobStatus, active: readonly Pod[], nowMs: number): Verdict | undefined {
  const { backoffLimit = 6, completions, template } = job.spec;
  const { succeeded = 0, failed = 0, conditions = [] } = status;
  const targets = ["FailureTarget", "SuccessCriteriaMet"];
  const target = conditions.find((one) => targets.includes(one.type) && one.status === "True");
  if (target !== undefined) return verdict(target.type === "SuccessCriteriaMet", target.reason, target.message);
  const restarts = active.reduce((sum, pod) => sum + (pod.status.containerStatuses?.[0]?.restartCount ?? 0), 0);
  const isRestarted = template.spec.restartPolicy === "OnFailure" && restarts > 0 && restarts >= backoffLimit;
  if (failed > backoffLimit || isRestarted)
    return verdict(false, "BackoffLimitExceeded", "Job has reached the specified backoff limit");
  if (deadlineOf(job, status) <= nowMs)
    return verdict(false, "DeadlineExceeded", "Job was active longer than specified deadline");
  const isDone = completions === undefined ? succeeded > 0 && active.length === 0 : succeeded >= completions;
  return isDone ? verdict(true, "CompletionsReached", "Reached expected number of succeeded pods") : undefined;
}

/** Returns the status of a Job that is over: first that it will end, and when all pods have ended how it did. */
function concluded(status: JobStatus, { isComplete, reason, message }: Verdict, nowMs: number): JobStatus {
  const stated = { status: "True", reason, message } as const;
  const target = { ...stated, type: isComplete ? "SuccessCriteriaMet" : "FailureTarget" };
  const conditions = withCondition(status, target, nowMs);
  const { active = 0, terminating = 0 } = status;
  if (active + terminating > 0) return { ...status, conditions };
  const end = { ...stated, type: isComplete ? "Complete" : "Failed" };
  return {
    ...status,
    uncountedTerminatedPods: {},
    ...(isComplete ? { completionTime: timestampOf(nowMs) } : {}),
    conditions: withCondition({ ...status, conditions }, end, nowMs),
  };
}

/** The pauses before failed pods are replaced: 10 s, doubled, up to 10 minutes. */
const pauseMs = (failed: number): number => Math.min(10_000 * 2 ** Math.min(failed - 1, 10), 600_000);

const lastFailureMs = (pods: readonly Pod[]): number =>
  pods.filter(({ status }) => status.phase === "Failed").reduce((last, pod) => Math.max(last, endMs(pod)), 0);

const endMs = ({ status }: Pod): number =>
  timeToMs(status.containerStatuses?.[0]?.state.terminated?.finishedAt ?? "") ?? 0;

/** Returns a pod of a Job, which has the index if it is a Job with indexes. */
function draftOf({ metadata: { name }, spec: { completionMode, template } }: Job, index: number, indexLabel: string) {
  if (completionMode !== "Indexed") return podOf(template, { generateName: `${name}-` }, {});
  const labels = { [indexLabel]: String(index) };
  const fieldRef = { fieldPath: `metadata.labels['${indexLabel}']` };
  const variable = { name: "JOB_COMPLETION_INDEX", valueFrom: { fieldRef } };
  const containers = (template.spec.containers ?? []).map((one) => ({ ...one, env: [...(one.env ?? []), variable] }));
  const hostname = `${name}-${index}`;
  const metadata = { generateName: `${hostname}-`, labels, annotations: labels };
  return podOf(template, metadata, { containers, hostname });
}
