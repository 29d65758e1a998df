/**
 * The states of a simulated pod as a pure function of the pod and the time: Pending, running, Ready, ended, waiting to be
 * restarted. All containers of a pod do the same at the same time. Source: the status that upstream's kubelet writes.
 */
import type { ContainerState, ContainerStatus, PodCondition, PodStatus } from "#api/core/v1.ts";
import type { Pod } from "#client/kinds.ts";
import { parseGoDuration } from "#std/go-duration.ts";
import { timestampOf, timeToMs } from "#meta/time.ts";
import { withCondition } from "./owned.ts";
import { nodeAddress } from "./node.ts";
import { simulationDomain } from "./parts.ts";

/** The present run of a pod. */
export interface PodRun {
  /** The address; `undefined` when there is none left. */
  readonly address: string | undefined;
  /** The time at which its containers were started the last time. */
  startMs: number;
}

interface NextState {
  readonly status: PodStatus;
  /** The time until the next change; `undefined` when nothing changes by itself. */
  readonly waitMs: number | undefined;
}

/** The plan that annotations of a pod make. */
interface Plan {
  readonly readyMs: number;
  /** The time from the start to the end; `undefined` for a pod that runs on. */
  readonly exitMs: number | undefined;
  readonly exitCode: number;
  readonly message: string;
}

/** The pauses before restarts: those of the kubelet. */
const restartMinMs = 10_000;
const restartMaxMs = 300_000;

function planOf({ metadata, spec }: Pod, readyAfterMs: number): Plan {
  const annotation = (name: string): string | undefined => metadata.annotations?.[`${simulationDomain}/${name}`];
  const time = (name: string): number | undefined => {
    const ms = parseGoDuration(annotation(name) ?? "");
    return ms !== undefined && ms >= 0 ? ms : undefined;
  };
  const readyMs = time("ready-after") ?? readyAfterMs;
  const fail = annotation("fail") ?? "false";
  const isFailing = fail !== "false" && fail !== "";
  const ends = isFailing || (spec.restartPolicy ?? "Always") !== "Always";
  return {
    readyMs: isFailing ? Infinity : readyMs,
    exitMs: time("exit-after") ?? (ends ? readyMs : undefined),
    exitCode: isFailing ? 1 : 0,
    message: isFailing ? (fail === "true" ? "the simulation lets this container fail" : fail) : "",
  };
}

/** Returns the state of a pod of the node as it should be now. */
export function nextState(pod: Pod, run: PodRun, nowMs: number, readyAfterMs: number): NextState {
  const plan = planOf(pod, readyAfterMs);
  const deadlineMs = deadlineOf(pod);
  if (deadlineMs !== undefined && deadlineMs <= nowMs) {
    const status = ended(pod, 143, "", nowMs);
    const message = "Pod was active on the node longer than the specified deadline";
    return { status: { ...status, phase: "Failed", reason: "DeadlineExceeded", message }, waitMs: undefined };
  }
  const next = stateWithin(pod, run, nowMs, plan);
  if (deadlineMs === undefined || ["Succeeded", "Failed"].includes(next.status.phase ?? "")) return next;
  return { ...next, waitMs: Math.min(next.waitMs ?? Infinity, deadlineMs - nowMs) };
}

function deadlineOf({ spec, status }: Pod): number | undefined {
  const startMs = timeToMs(status.startTime ?? "");
  return spec.activeDeadlineSeconds === undefined || startMs === undefined
    ? undefined
    : startMs + Number(spec.activeDeadlineSeconds) * 1000;
}

function stateWithin(pod: Pod, run: PodRun, nowMs: number, plan: Plan): NextState {
  const { restartPolicy = "Always" } = pod.spec;
  const first = pod.status.containerStatuses?.[0];
  const finishedMs = timeToMs(first?.lastState.terminated?.finishedAt ?? "");
  if (first?.state.waiting !== undefined && finishedMs !== undefined) {
    const restartMs = finishedMs + backoffMs(first.restartCount);
    if (nowMs < restartMs) return { status: pod.status, waitMs: restartMs - nowMs };
  }
  if (first?.state.running === undefined) run.startMs = nowMs;
  const ageMs = nowMs - run.startMs;
  if (plan.exitMs !== undefined && ageMs >= plan.exitMs && first?.state.running !== undefined) {
    const restarts = restartPolicy === "Always" || (restartPolicy === "OnFailure" && plan.exitCode !== 0);
    if (!restarts) return { status: ended(pod, plan.exitCode, plan.message, nowMs), waitMs: undefined };
    return { status: backingOff(pod, plan, nowMs), waitMs: backoffMs(first.restartCount) };
  }
  const changes = [plan.readyMs, plan.exitMs ?? Infinity].filter((ms) => ms > ageMs && ms !== Infinity);
  return {
    status: running(pod, run, ageMs >= plan.readyMs, nowMs),
    waitMs: changes.length === 0 ? undefined : Math.min(...changes) - ageMs,
  };
}

const backoffMs = (restarts: number): number => Math.min(restartMinMs * 2 ** Math.min(restarts, 10), restartMaxMs);

/** Returns the status of a pod whose containers run. */
function running(pod: Pod, { address, startMs }: PodRun, isReady: boolean, nowMs: number): PodStatus {
  const { status, spec } = pod;
  const state = { running: { startedAt: timestampOf(startMs) } };
  const podIP = spec.hostNetwork === true ? nodeAddress : address;
  const completed = {
    exitCode: 0,
    reason: "Completed",
    startedAt: timestampOf(startMs),
    finishedAt: timestampOf(startMs),
  };
  const isSidecar = (name: string): boolean =>
    spec.initContainers?.some((one) => one.name === name && one.restartPolicy === "Always") === true;
  const next: PodStatus = {
    ...status,
    phase: "Running",
    startTime: status.startTime ?? timestampOf(nowMs),
    hostIP: nodeAddress,
    hostIPs: [{ ip: nodeAddress }],
    ...(podIP === undefined ? {} : { podIP, podIPs: [{ ip: podIP }] }),
    containerStatuses: containerStatuses(pod, "containers", (before) => ({
      ...before,
      state,
      ready: isReady,
      started: true,
      restartCount: (before?.restartCount ?? 0) + (before?.state.waiting === undefined ? 0 : 1),
    })),
    ...(spec.initContainers === undefined
      ? {}
      : {
          initContainerStatuses: containerStatuses(pod, "initContainers", (before, name) =>
            isSidecar(name)
              ? { ...before, state, ready: true, started: true }
              : {
                  ...before,
                  state: before?.state.terminated ? before.state : { terminated: completed },
                  ready: true,
                  started: false,
                },
          ),
        }),
  };
  return withConditions(next, pod, { ready: isReady, reason: "ContainersNotReady" }, nowMs);
}

/** Returns the status of a pod whose containers have ended and will be started again after a pause. */
function backingOff(pod: Pod, plan: Plan, nowMs: number): PodStatus {
  const { name, namespace } = pod.metadata;
  const next: PodStatus = {
    ...pod.status,
    containerStatuses: containerStatuses(pod, "containers", (before, container) => ({
      ...before,
      state: {
        waiting: {
          reason: "CrashLoopBackOff",
          message: `back-off ${backoffMs(before?.restartCount ?? 0) / 1000}s restarting failed container=${container} pod=${name}_${namespace}`,
        },
      },
      lastState: terminated(before, plan.exitCode, plan.message, nowMs),
      ready: false,
      started: false,
    })),
  };
  return withConditions(next, pod, { ready: false, reason: "ContainersNotReady" }, nowMs);
}

/** Returns the status of a pod that has ended with an exit code. */
export function ended(pod: Pod, exitCode: number, message: string, nowMs: number): PodStatus {
  const phase = exitCode === 0 ? "Succeeded" : "Failed";
  const next: PodStatus = {
    ...pod.status,
    phase,
    containerStatuses: containerStatuses(pod, "containers", (before) => ({
      ...before,
      state: before?.state.terminated === undefined ? terminated(before, exitCode, message, nowMs) : before.state,
      ready: false,
      started: false,
    })),
  };
  const reason = exitCode === 0 ? "PodCompleted" : "PodFailed";
  return withConditions(next, pod, { ready: false, reason }, nowMs);
}

const terminated = (
  before: Partial<ContainerStatus> | undefined,
  exitCode: number,
  message: string,
  nowMs: number,
): ContainerState => ({
  terminated: {
    exitCode,
    reason: exitCode === 0 ? "Completed" : "Error",
    ...(message === "" ? {} : { message: message.slice(0, 4096) }),
    startedAt: before?.state?.running?.startedAt ?? timestampOf(nowMs),
    finishedAt: timestampOf(nowMs),
  },
});

/** Returns the statuses of containers, each made of the one before. */
function containerStatuses(
  { spec, status, metadata }: Pod,
  field: "containers" | "initContainers",
  change: (before: ContainerStatus | undefined, name: string) => Partial<ContainerStatus> | undefined,
): readonly ContainerStatus[] {
  const present = field === "containers" ? status.containerStatuses : status.initContainerStatuses;
  return (spec[field] ?? []).map(({ name, image = "" }) => ({
    name,
    image,
    imageID: `simulated://${image}`,
    containerID: `simulated://${metadata.uid}/${name}`,
    lastState: {},
    restartCount: 0,
    ready: false,
    state: {},
    ...change(
      present?.find((one) => one.name === name),
      name,
    ),
  }));
}

interface Readiness {
  readonly ready: boolean;
  /** The reason for not being ready. */
  readonly reason: string;
}

function withConditions(status: PodStatus, { spec }: Pod, { ready, reason }: Readiness, nowMs: number): PodStatus {
  const names = (spec.containers ?? []).map(({ name }) => name).join(" ");
  const gates = (spec.readinessGates ?? []).every(({ conditionType }) =>
    status.conditions?.some((one) => one.type === conditionType && one.status === "True"),
  );
  const why =
    reason === "ContainersNotReady" ? { reason, message: `containers with unready status: [${names}]` } : { reason };
  const gated = {
    reason: "ReadinessGatesNotReady",
    message: "corresponding condition of a readiness gate is not True",
  };
  const isTrue = (type: string, is: boolean, otherwise: object) => ({
    type,
    status: is ? "True" : "False",
    lastProbeTime: null,
    ...(is ? {} : otherwise),
  });
  const stated = [
    isTrue("PodReadyToStartContainers", reason === "ContainersNotReady", {}),
    isTrue("Initialized", true, {}),
    isTrue("Ready", ready && gates, ready ? gated : why),
    isTrue("ContainersReady", ready, why),
  ];
  const conditions = stated.reduce<readonly PodCondition[] | undefined>(
    (all, condition) => withCondition(all, condition, nowMs),
    status.conditions,
  );
  return { ...status, conditions: conditions! };
}
