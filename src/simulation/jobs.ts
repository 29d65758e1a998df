/**
 * Runs Jobs by their pods: parallelism, completions by number or by index, retries, deadlines, suspension. Each pod is
 * counted once, by a finalizer that is removed when the status has its uid. Everything is read anew each time, since
 * counts must not be made of old objects. Source: upstream's `pkg/controller/job`; policies by exit code or by index are
 * not here.
 */
import type { JobCondition, JobStatus } from "#api/batch/v1.ts";
import {
  after,
  controller,
  type ReconcileContext,
  type Requeue,
  type RunnableController,
} from "#client/controllers.ts";
import { Job, Pod } from "#client/kinds.ts";
import { timestampOf, timeToMs } from "#meta/time.ts";
import {
  adopters,
  claim,
  createPod,
  inBatches,
  isActive,
  readOwned,
  readySince,
  remove,
  withCondition,
  writeStatus,
} from "./owned.ts";
import type { SimulationParts } from "./parts.ts";
import { jobFinalizer } from "./pods.ts";

/** The pauses before failed pods are replaced. */
const retryMinMs = 10_000;
const retryMaxMs = 600_000;

export const jobController = (parts: SimulationParts): RunnableController =>
  controller(Job, {
    name: "job",
    owns: [Pod],
    watches: [[Pod, adopters(Job)]],
    concurrency: 5,
    async reconcile({ metadata: { name, namespace } }, context) {
      const job = await context.client.kind(Job).find(name, { in: namespace });
      const isOurs = (job?.spec.managedBy ?? "kubernetes.io/job-controller") === "kubernetes.io/job-controller";
      if (job === undefined || !isOurs || job.metadata.deletionTimestamp !== undefined) return undefined;
      await claim(context, [Job, job], Pod);
      const pods = await readOwned(context, job, Pod);
      return new JobRun(context, job, pods, parts).step();
    },
  });

/** The reason why a Job is over. */
interface Verdict {
  readonly isComplete: boolean;
  readonly reason: string;
  readonly message: string;
}

const isTrue = ({ conditions = [] }: JobStatus, type: string): boolean =>
  conditions.some((one) => one.type === type && one.status === "True");

/** The pods of a Job by their ends. */
interface Counted {
  readonly status: JobStatus;
  readonly succeeded: number;
  readonly failed: number;
  /** The indexes that are done; `undefined` for Jobs without indexes. */
  readonly indexes: ReadonlySet<number> | undefined;
  /** The uids of pods that the status has, so that they can be released. */
  readonly noted: ReadonlySet<string>;
}

/** One step of a Job. */
class JobRun {
  readonly #context: ReconcileContext<Job>;
  readonly #job: Job;
  readonly #pods: readonly Pod[];
  readonly #finalizer: string;
  readonly #indexName: string;
  readonly #nowMs: number;

  constructor(context: ReconcileContext<Job>, job: Job, pods: readonly Pod[], { domain }: SimulationParts) {
    this.#context = context;
    this.#job = job;
    this.#pods = pods;
    this.#finalizer = domain.rename(jobFinalizer);
    this.#indexName = domain.rename("batch.kubernetes.io/job-completion-index");
    this.#nowMs = context.client.clock.now();
  }

  async step(): Promise<Requeue | undefined> {
    const { spec, status: before } = this.#job;
    if (isTrue(before, "Complete") || isTrue(before, "Failed")) {
      await this.#release(this.#pods.filter((pod) => !isActive(pod)));
      return undefined;
    }
    const counted = this.#count();
    const { status } = counted;
    const isSuspended = spec.suspend === true;
    const active = this.#pods.filter(isActive);
    const verdict = this.#verdict(counted.succeeded, counted.failed);
    let next: JobStatus = { ...status, ...this.#startTime(isSuspended) };
    if (verdict !== undefined) next = this.#conclude(next, verdict, active.length);
    else if (isSuspended !== isTrue(before, "Suspended")) {
      const state = isSuspended ? "True" : "False";
      const reason = isSuspended ? "JobSuspended" : "JobResumed";
      const stated = condition("Suspended", state, reason, isSuspended ? "Job suspended" : "Job resumed");
      // A Job that was never suspended has no such condition.
      if (isSuspended || before.conditions?.some(({ type }) => type === "Suspended") === true)
        next = { ...next, conditions: withCondition<JobCondition>(next.conditions, stated, this.#nowMs) };
    }
    await writeStatus(this.#context, Job, this.#job, next);
    // Now the status has their uids, so they are not counted a second time.
    await this.#release(this.#pods.filter((pod) => counted.noted.has(pod.metadata.uid)));
    if (verdict !== undefined || isSuspended) {
      // Pods that are deleted for a suspension are no failures, so they are not counted.
      if (verdict === undefined) await this.#release(active);
      await inBatches(active, (pod) => remove(this.#context, Pod, pod));
      return undefined;
    }
    return this.#manage(active, counted);
  }

  /** Counts pods that have ended: those in the status, and those that are noted there now. */
  #count(): Counted {
    const { status, spec } = this.#job;
    const listed = status.uncountedTerminatedPods ?? {};
    const held = new Set(this.#pods.filter((pod) => this.#isHeld(pod)).map(({ metadata }) => metadata.uid));
    const ends = (phase: string): readonly string[] =>
      this.#pods.filter((pod) => pod.status.phase === phase && this.#isHeld(pod)).map(({ metadata }) => metadata.uid);
    const succeededNow = ends("Succeeded");
    const failedNow = ends("Failed");
    // Pods without the finalizer are numbers from now on.
    const gone = (uids: readonly string[] = []): number => uids.filter((uid) => !held.has(uid)).length;
    const failedBefore = (status.failed ?? 0) + gone(listed.failed);
    const isIndexed = spec.completionMode === "Indexed";
    const indexes = isIndexed ? this.#completed() : undefined;
    const succeededBefore = indexes === undefined ? (status.succeeded ?? 0) + gone(listed.succeeded) : indexes.size;
    const active = this.#pods.filter(isActive);
    const next: JobStatus = {
      ...status,
      active: active.length || undefined,
      ready: active.filter((pod) => readySince(pod) !== undefined).length,
      terminating: this.#pods.filter(
        ({ metadata, status: { phase } }) =>
          metadata.deletionTimestamp !== undefined && phase !== "Succeeded" && phase !== "Failed",
      ).length,
      succeeded: succeededBefore || undefined,
      failed: failedBefore || undefined,
      completedIndexes: indexes === undefined ? undefined : printIndexes(indexes) || undefined,
      uncountedTerminatedPods: {
        ...(succeededNow.length === 0 || isIndexed ? {} : { succeeded: succeededNow }),
        ...(failedNow.length === 0 ? {} : { failed: failedNow }),
      },
    } as JobStatus; // fields that are undefined are left out when it is written
    return {
      status: next,
      succeeded: succeededBefore + (isIndexed ? 0 : succeededNow.length),
      failed: failedBefore + failedNow.length,
      indexes,
      noted: new Set([...succeededNow, ...failedNow]),
    };
  }

  #isHeld({ metadata }: Pod): boolean {
    return metadata.finalizers?.includes(this.#finalizer) === true;
  }

  #indexOf({ metadata }: Pod): number {
    return Number(metadata.annotations?.[this.#indexName] ?? -1);
  }

  /** Returns the indexes that are done. */
  #completed(): Set<number> {
    const done = parseIndexes(this.#job.status.completedIndexes ?? "");
    const { completions = 0 } = this.#job.spec;
    for (const pod of this.#pods) {
      const index = this.#indexOf(pod);
      if (pod.status.phase === "Succeeded" && index >= 0 && index < completions) done.add(index);
    }
    return done;
  }

  #startTime(isSuspended: boolean): Pick<JobStatus, "startTime"> {
    const { startTime, ...status } = this.#job.status;
    if (isSuspended) return isTrue(status, "Suspended") || startTime === undefined ? {} : { startTime };
    const isResumed = isTrue(status, "Suspended");
    return { startTime: startTime === undefined || isResumed ? timestampOf(this.#nowMs) : startTime };
  }

  #verdict(succeeded: number, failed: number): Verdict | undefined {
    const { spec, status } = this.#job;
    const { backoffLimit = 6, completions, activeDeadlineSeconds } = spec;
    const target = status.conditions?.find(
      ({ type, status: is }) => ["FailureTarget", "SuccessCriteriaMet"].includes(type) && is === "True",
    );
    if (target !== undefined)
      return {
        isComplete: target.type === "SuccessCriteriaMet",
        reason: target.reason ?? "",
        message: target.message ?? "",
      };
    const restarts = this.#pods
      .filter((pod) => isActive(pod) && spec.template.spec.restartPolicy === "OnFailure")
      .flatMap((pod) => (pod.status.containerStatuses ?? []).map(({ restartCount }) => restartCount))
      .reduce((sum, count) => sum + count, 0);
    if (failed > backoffLimit || (restarts > 0 && restarts >= backoffLimit))
      return failure("BackoffLimitExceeded", "Job has reached the specified backoff limit");
    const startMs = timeToMs(status.startTime ?? "");
    if (
      activeDeadlineSeconds !== undefined &&
      spec.suspend !== true &&
      startMs !== undefined &&
      startMs + Number(activeDeadlineSeconds) * 1000 <= this.#nowMs
    )
      return failure("DeadlineExceeded", "Job was active longer than specified deadline");
    const isDone = completions === undefined ? succeeded > 0 && !this.#pods.some(isActive) : succeeded >= completions;
    if (!isDone) return undefined;
    return { isComplete: true, reason: "CompletionsReached", message: "Reached expected number of succeeded pods" };
  }

  /** Returns the status of a Job that is over: first that it will end, and when all pods have ended how it did. */
  #conclude(status: JobStatus, { isComplete, reason, message }: Verdict, activeCount: number): JobStatus {
    const target = condition(isComplete ? "SuccessCriteriaMet" : "FailureTarget", "True", reason, message);
    const conditions = withCondition<JobCondition>(status.conditions, target, this.#nowMs);
    const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
    const isOpen = activeCount > 0 || (status.terminating ?? 0) > 0 || succeeded.length + failed.length > 0;
    if (isOpen) return { ...status, conditions };
    const final = condition(isComplete ? "Complete" : "Failed", "True", reason, message);
    this.#context.event(
      isComplete ? "Normal" : "Warning",
      isComplete ? "Completed" : reason,
      isComplete ? "Job completed" : message,
    );
    return {
      ...status,
      ready: 0,
      ...(isComplete ? { completionTime: timestampOf(this.#nowMs) } : {}),
      conditions: withCondition<JobCondition>(conditions, final, this.#nowMs),
    };
  }

  async #release(pods: readonly Pod[]): Promise<void> {
    await inBatches(
      pods.filter((pod) => this.#isHeld(pod)),
      async ({ metadata }) => {
        const { name, namespace, uid } = metadata;
        const finalizers = (metadata.finalizers ?? []).filter((one) => one !== this.#finalizer);
        await this.#context.client
          .kind(Pod)
          .patch(name, { merge: { metadata: { uid, finalizers } } }, { in: namespace });
      },
    );
  }

  /** Makes or deletes pods. Returns when to look again. */
  async #manage(active: readonly Pod[], counted: Counted): Promise<Requeue | undefined> {
    const { parallelism = 1, completions, activeDeadlineSeconds } = this.#job.spec;
    const { succeeded, failed, indexes } = counted;
    const startMs = timeToMs(this.#job.status.startTime ?? "") ?? this.#nowMs;
    const deadlineMs =
      activeDeadlineSeconds === undefined ? Infinity : startMs + Number(activeDeadlineSeconds) * 1000 - this.#nowMs;
    const wait = (ms: number): Requeue | undefined => (ms === Infinity ? undefined : after(Math.max(ms, 1)));
    const left = completions === undefined ? (succeeded > 0 ? active.length : parallelism) : completions - succeeded;
    const missing = Math.min(parallelism, left) - active.length;
    const surplus = missing < 0 ? active.slice(missing) : [];
    await this.#release(surplus);
    await inBatches(surplus, (pod) => remove(this.#context, Pod, pod));
    if (missing <= 0) return wait(deadlineMs);
    const retryMs =
      failed === 0 ? 0 : this.#lastFailureMs() + Math.min(retryMinMs * 2 ** (failed - 1), retryMaxMs) - this.#nowMs;
    if (retryMs > 0) return wait(Math.min(retryMs, deadlineMs));
    const taken = new Set(active.map((pod) => this.#indexOf(pod)));
    const free =
      indexes === undefined
        ? undefined
        : Array.from({ length: completions ?? 0 }, (_, index) => index).filter(
            (index) => !indexes.has(index) && !taken.has(index),
          );
    const chosen = free === undefined ? Array.from({ length: missing }, () => undefined) : free.slice(0, missing);
    await inBatches(chosen.slice(0, 500), (index) => this.#create(index));
    return wait(deadlineMs);
  }

  #lastFailureMs(): number {
    const ends = this.#pods
      .filter(({ status }) => status.phase === "Failed")
      .flatMap(({ status }) => status.containerStatuses ?? [])
      .map(({ state }) => timeToMs(state.terminated?.finishedAt ?? "") ?? 0);
    return Math.max(0, ...ends);
  }

  #create(index: number | undefined): Promise<Pod> {
    const { metadata, spec } = this.#job;
    const finalizers = [this.#finalizer];
    if (index === undefined) return createPod(this.#context, this.#job, spec.template, { finalizers });
    const own = { [this.#indexName]: String(index) };
    const variable = {
      name: "JOB_COMPLETION_INDEX",
      valueFrom: { fieldRef: { fieldPath: `metadata.labels['${this.#indexName}']` } },
    };
    const containers = (spec.template.spec.containers ?? []).map((one) => ({
      ...one,
      env: [...(one.env ?? []), variable],
    }));
    const hostname = `${metadata.name}-${index}`;
    return createPod(this.#context, this.#job, spec.template, {
      labels: own,
      annotations: own,
      finalizers,
      prefix: `${hostname}-`,
      spec: { containers, hostname },
    });
  }
}

const failure = (reason: string, message: string): Verdict => ({ isComplete: false, reason, message });

const condition = (type: string, status: string, reason: string, message: string) => ({
  type,
  status,
  reason,
  message,
  lastProbeTime: null,
});

/** Reads the indexes in a status: `0-2,5`. */
function parseIndexes(text: string): Set<number> {
  const parts = text === "" ? [] : text.split(",").map((part) => part.split("-").map(Number));
  return new Set(
    parts.flatMap(([first = 0, last = first]) => Array.from({ length: last - first + 1 }, (_, at) => first + at)),
  );
}

function printIndexes(indexes: ReadonlySet<number>): string {
  const ranges: [number, number][] = [];
  for (const index of [...indexes].toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === index - 1) last[1] = index;
    else ranges.push([index, index]);
  }
  return ranges.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(",");
}
