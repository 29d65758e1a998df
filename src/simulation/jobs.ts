/**
 * Runs Jobs by their pods: parallelism, completions by number or by index, retries, deadlines, suspension. A pod that has
 * ended is counted once: its uid stays in the status until it has gone. Upstream holds pods by finalizers for this.
 * Source: upstream's `pkg/controller/job`; policies by exit code or by index are not here.
 */
import { after, controller, inBatches, isConditionTrue, setCondition } from "#client/controllers.ts";
import { Job, type JobCondition, type JobStatus, Pod } from "#client/kinds.ts";
import { timestampOf, timeToMs } from "#meta/time.ts";
import type { SimulationParts } from "./parts.ts";
import { hasEnded, isActive, isReady, podOf } from "./pods.ts";

const ourManager = "kubernetes.io/job-controller";

/** The pods that one call makes at most. */
const burstMax = 500;

export const jobController = ({ domain }: SimulationParts) =>
  controller(Job, {
    owns: [Pod],
    selector: ({ spec }) => spec.selector,
    concurrency: 5,
    async reconcile(job, { claim, readOwned, replaceStatus, create, remove, event, client }) {
      const { spec, status } = job;
      const isOver = isConditionTrue(status.conditions, "Complete") || isConditionTrue(status.conditions, "Failed");
      if (isOver || (spec.managedBy ?? ourManager) !== ourManager) return;
      const nowMs = client.clock.now();
      const indexLabel = domain.rename("batch.kubernetes.io/job-completion-index");
      await claim(Pod);
      const pods = await readOwned(Pod);
      const active = pods.filter(isActive);
      const counted = started(counts(job, pods, indexLabel), spec.suspend === true, nowMs);
      const verdict = verdictOn(job, counted, active, nowMs);
      await replaceStatus(verdict === undefined ? counted : concluded(counted, verdict, nowMs));
      const { parallelism = 1, completions, suspend } = spec;
      const { succeeded = 0, failed = 0 } = counted;
      const left = completions === undefined ? (succeeded > 0 ? active.length : parallelism) : completions - succeeded;
      const wanted = verdict !== undefined || suspend === true ? 0 : Math.max(0, Math.min(parallelism, left));
      await inBatches(active.slice(wanted), (pod) => remove(Pod, pod));
      if (verdict !== undefined)
        return event(verdict.isComplete ? "Normal" : "Warning", verdict.reason, verdict.message);
      const waitMs = failed === 0 ? 0 : lastFailureMs(pods) + pauseMs(failed) - nowMs;
      const nextMs = Math.min(
        deadlineOf(job, counted) - nowMs,
        wanted > active.length && waitMs > 0 ? waitMs : Infinity,
      );
      if (waitMs <= 0) {
        const indexes = freeIndexes(job, counted, active, indexLabel).slice(0, Math.max(0, wanted - active.length));
        await inBatches(indexes.slice(0, burstMax), (index) => create(Pod, draftOf(job, index, indexLabel)));
      }
      return nextMs === Infinity ? undefined : after(Math.max(1, nextMs));
    },
  });

/** Returns the status with the numbers of pods. Fields that are undefined are left out when it is written. */
function counts({ spec, status }: Job, pods: readonly Pod[], indexLabel: string) {
  const { succeeded: doneBefore = [], failed: failedBefore = [] } = status.uncountedTerminatedPods ?? {};
  const before = new Set([...doneBefore, ...failedBefore]);
  const ended = (phase: string): readonly string[] =>
    pods.filter((pod) => pod.status.phase === phase).map(({ metadata }) => metadata.uid);
  const [done, failed] = [ended("Succeeded"), ended("Failed")];
  const added = (uids: readonly string[]): number => uids.filter((uid) => !before.has(uid)).length;
  const indexes =
    spec.completionMode === "Indexed"
      ? new Set([
          ...parseIndexes(status.completedIndexes ?? ""),
          ...pods.filter((pod) => pod.status.phase === "Succeeded").map((pod) => indexOf(pod, indexLabel)),
        ])
      : undefined;
  const isTerminating = (pod: Pod): boolean => pod.metadata.deletionTimestamp !== undefined && !hasEnded(pod);
  return {
    ...status,
    active: pods.filter(isActive).length || undefined,
    ready: pods.filter((pod) => isActive(pod) && isReady(pod)).length,
    terminating: pods.filter(isTerminating).length,
    succeeded: (indexes?.size ?? (status.succeeded ?? 0) + added(done)) || undefined,
    failed: (status.failed ?? 0) + added(failed) || undefined,
    completedIndexes: indexes === undefined ? undefined : printIndexes(indexes) || undefined,
    uncountedTerminatedPods: { ...(done.length > 0 && { succeeded: done }), ...(failed.length > 0 && { failed }) },
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

/** The reason why a Job is over. */
interface Verdict {
  readonly isComplete: boolean;
  readonly reason: string;
  readonly message: string;
}

const failure = (reason: string, message: string): Verdict => ({ isComplete: false, reason, message });

function verdictOn(job: Job, status: JobStatus, active: readonly Pod[], nowMs: number): Verdict | undefined {
  const { backoffLimit = 6, completions, template } = job.spec;
  const { succeeded = 0, failed = 0, conditions = [] } = status;
  const targets = ["FailureTarget", "SuccessCriteriaMet"];
  const target = conditions.find((one) => targets.includes(one.type) && one.status === "True");
  if (target !== undefined) {
    const { type, reason = "", message = "" } = target;
    return { isComplete: type === "SuccessCriteriaMet", reason, message };
  }
  const restarts =
    template.spec.restartPolicy === "OnFailure"
      ? active.reduce((sum, pod) => sum + (pod.status.containerStatuses?.[0]?.restartCount ?? 0), 0)
      : 0;
  if (failed > backoffLimit || (restarts > 0 && restarts >= backoffLimit))
    return failure("BackoffLimitExceeded", "Job has reached the specified backoff limit");
  if (deadlineOf(job, status) <= nowMs)
    return failure("DeadlineExceeded", "Job was active longer than specified deadline");
  const isDone = completions === undefined ? succeeded > 0 && active.length === 0 : succeeded >= completions;
  if (!isDone) return undefined;
  return { isComplete: true, reason: "CompletionsReached", message: "Reached expected number of succeeded pods" };
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

function lastFailureMs(pods: readonly Pod[]): number {
  const failed = pods.filter(({ status }) => status.phase === "Failed");
  const ends = failed.map(({ status }) => status.containerStatuses?.[0]?.state.terminated?.finishedAt ?? "");
  return Math.max(0, ...ends.map((time) => timeToMs(time) ?? 0));
}

const indexOf = ({ metadata }: Pod, indexLabel: string): number => Number(metadata.labels?.[indexLabel] ?? -1);

/** Returns the indexes that new pods can have; for Jobs without indexes, as many times `undefined` as there can be pods. */
function freeIndexes({ spec }: Job, status: JobStatus, active: readonly Pod[], indexLabel: string) {
  const { completions, parallelism = 1, completionMode } = spec;
  if (completionMode !== "Indexed") return Array.from({ length: parallelism }, () => undefined);
  const taken = parseIndexes(status.completedIndexes ?? "");
  for (const pod of active) taken.add(indexOf(pod, indexLabel));
  return Array.from({ length: completions ?? 0 }, (_, index) => index).filter((index) => !taken.has(index));
}

/** Returns a pod of a Job, with an index if it has indexes. */
function draftOf({ metadata: { name }, spec: { template } }: Job, index: number | undefined, indexLabel: string) {
  if (index === undefined) return podOf(template, { metadata: { generateName: `${name}-` } });
  const own = { [indexLabel]: String(index) };
  const fieldRef = { fieldPath: `metadata.labels['${indexLabel}']` };
  const variable = { name: "JOB_COMPLETION_INDEX", valueFrom: { fieldRef } };
  const containers = template.spec.containers?.map((one) => ({ ...one, env: [...(one.env ?? []), variable] }));
  const hostname = `${name}-${index}`;
  const spec = { ...(containers === undefined ? {} : { containers }), hostname };
  return podOf(template, { metadata: { generateName: `${hostname}-` }, labels: own, annotations: own, spec });
}

/** Reads the indexes in a status: `0-2,5`. */
const parseIndexes = (text: string): Set<number> =>
  new Set(
    text.split(",").flatMap((part) => {
      const [first = "", last = first] = part.split("-");
      return part === "" ? [] : Array.from({ length: Number(last) - Number(first) + 1 }, (_, at) => Number(first) + at);
    }),
  );

function printIndexes(indexes: ReadonlySet<number>): string {
  const ranges: [number, number][] = [];
  for (const index of [...indexes].toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === index - 1) last[1] = index;
    else ranges.push([index, index]);
  }
  return ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(",");
}
