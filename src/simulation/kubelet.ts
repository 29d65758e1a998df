/**
 * Plays the kubelet: lets pods of the simulated node run, become Ready and end, and ends at once those that are being
 * deleted. All containers of a pod do the same at the same time. Source: the status that upstream's `pkg/kubelet` writes.
 */
import { after, controller, isConditionTrue, setCondition } from "#client/controllers.ts";
import { type ContainerState, Pod, type PodCondition, type PodSpec, type PodStatus } from "#client/kinds.ts";
import { timestampOf, timeToMs } from "#meta/time.ts";
import { parseGoDuration } from "#std/go-duration.ts";
import { Addresses } from "./addresses.ts";
import { nodeAddress } from "./node.ts";
import { nodeName, simulationDomain, type SimulationParts } from "./parts.ts";
import { hasEnded } from "./pods.ts";

export function kubeletController({ readyAfterMs }: SimulationParts) {
  // RFC 2544 reserves 198.18.0.0/15 for benchmarks, and no network routes it.
  const addressAt = (index: number): string => `198.${18 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`;
  const addresses = new Addresses(2 ** 17 - 2, (index) => addressAt(index + 1));
  return controller(Pod, {
    name: "kubelet",
    concurrency: 16,
    includesDeleted: true,
    async reconcile(pod, { client, lister, replaceStatus }) {
      const { spec, metadata } = pod;
      const { name, namespace, uid, deletionTimestamp } = metadata;
      const isOurs = spec.nodeName === nodeName || (spec.nodeName === undefined && deletionTimestamp !== undefined);
      if (!isOurs) return;
      if (deletionTimestamp !== undefined) {
        await client.kind(Pod).delete(name, { in: namespace, gracePeriodSeconds: 0, preconditions: { uid } });
        return;
      }
      if (hasEnded(pod)) return;
      const { podIP = spec.hostNetwork === true ? nodeAddress : undefined } = pod.status;
      const address = podIP ?? addresses.give(pod, lister.list(Pod), ({ status }) => status.podIP);
      const { state, waitMs } = stateOf(pod, planOf(pod, readyAfterMs), client.clock.now());
      if (state !== undefined) await replaceStatus(statusOf(pod, state, address, client.clock.now()));
      return waitMs === Infinity ? undefined : after(waitMs);
    },
  });
}

/** The times from the start of containers, and their end, as annotations say. */
interface Plan {
  readonly readyMs: number;
  /** `Infinity` for containers that run on. */
  readonly exitMs: number;
  /** The message of containers that fail; `undefined` for others. */
  readonly failure: string | undefined;
}

function planOf({ metadata: { annotations }, spec }: Pod, readyAfterMs: number): Plan {
  const annotation = (name: string): string => annotations?.[`${simulationDomain}/${name}`] ?? "";
  const time = (name: string): number | undefined => parseGoDuration(annotation(name).replace(/^-.*/, ""));
  const fail = annotation("fail");
  const isFailing = fail !== "false" && fail !== "";
  const readyMs = time("ready-after") ?? readyAfterMs;
  const ends = isFailing || (spec.restartPolicy ?? "Always") !== "Always";
  return {
    readyMs: isFailing ? Infinity : readyMs,
    exitMs: time("exit-after") ?? (ends ? readyMs : Infinity),
    failure: isFailing
      ? fail === "true"
        ? "the simulation lets this container fail"
        : fail.slice(0, 4096)
      : undefined,
  };
}

/** A state that all containers of a pod have. */
interface State {
  readonly phase: "Running" | "Succeeded" | "Failed";
  readonly isReady: boolean;
  readonly container: ContainerState;
  readonly last: ContainerState;
  readonly restartCount: number;
}

/** The pauses of the kubelet before restarts: 10 s, doubled, up to 5 minutes. */
const pauseMs = (restarts: number): number => Math.min(10_000 * 2 ** Math.min(restarts, 5), 300_000);

/** Returns the state of a pod now, unless it stays as it is, and the time until the next one. */
function stateOf(
  { status, spec }: Pod,
  plan: Plan,
  nowMs: number,
): { readonly state?: State; readonly waitMs: number } {
  const {
    state: { running, waiting } = {},
    lastState: last = {},
    restartCount = 0,
  } = status.containerStatuses?.[0] ?? {};
  const endMs = timeToMs(last.terminated?.finishedAt ?? "") ?? 0;
  const pauseLeftMs = endMs + pauseMs(restartCount) - nowMs;
  if (waiting !== undefined && pauseLeftMs > 0) return { waitMs: pauseLeftMs };
  const startMs = timeToMs(running?.startedAt ?? "") ?? nowMs;
  const ageMs = nowMs - startMs;
  const startedAt = timestampOf(startMs);
  if (running === undefined || ageMs < plan.exitMs) {
    const isReady = ageMs >= plan.readyMs;
    const restarts = restartCount + (waiting === undefined ? 0 : 1);
    const container = { running: { startedAt } };
    const waitMs = Math.min(isReady ? Infinity : plan.readyMs, plan.exitMs) - ageMs;
    return { state: { phase: "Running", isReady, container, last, restartCount: restarts }, waitMs };
  }
  const { failure: message } = plan;
  const result =
    message === undefined ? { exitCode: 0, reason: "Completed" } : { exitCode: 1, reason: "Error", message };
  const end = { terminated: { ...result, startedAt, finishedAt: timestampOf(nowMs) } };
  const { restartPolicy = "Always" } = spec;
  if (restartPolicy === "Never" || (restartPolicy === "OnFailure" && message === undefined)) {
    const phase = message === undefined ? "Succeeded" : "Failed";
    return { state: { phase, isReady: false, container: end, last, restartCount }, waitMs: Infinity };
  }
  const text = `back-off ${pauseMs(restartCount) / 1000}s restarting failed container`;
  const container = { waiting: { reason: "CrashLoopBackOff", message: text } };
  const state = { phase: "Running", isReady: false, container, last: end, restartCount } as const;
  return { state, waitMs: pauseMs(restartCount) };
}

/** Returns the status of a pod in a state. */
function statusOf({ metadata, spec, status }: Pod, state: State, podIP: string | undefined, nowMs: number): PodStatus {
  const { phase, isReady, container, last: lastState, restartCount } = state;
  const { startTime = timestampOf(nowMs) } = status;
  const completed = { exitCode: 0, reason: "Completed", startedAt: startTime, finishedAt: startTime };
  const shown = { state: container, lastState, restartCount, ready: isReady, started: container.running !== undefined };
  const initialized = { state: { terminated: completed }, lastState: {}, restartCount: 0, ready: true, started: false };
  const statusesOf = (containers: PodSpec["containers"] | undefined, isInit: boolean) =>
    containers?.map(({ name, image = "", restartPolicy }) => ({
      ...(isInit && restartPolicy !== "Always" ? initialized : shown),
      name,
      image,
      imageID: `simulated://${image}`,
      containerID: `simulated://${metadata.uid}/${name}`,
    }));
  const next = {
    ...status,
    phase,
    startTime,
    hostIP: nodeAddress,
    hostIPs: [{ ip: nodeAddress }],
    ...(podIP === undefined ? {} : { podIP, podIPs: [{ ip: podIP }] }),
    containerStatuses: statusesOf(spec.containers, false),
    initContainerStatuses: statusesOf(spec.initContainers, true),
  };
  return { ...next, conditions: conditionsOf({ spec, status }, state, nowMs) } as PodStatus; // absent fields are left out
}

function conditionsOf({ spec, status }: Pick<Pod, "spec" | "status">, { phase, isReady }: State, nowMs: number) {
  const gates = (spec.readinessGates ?? []).map(({ conditionType }) => conditionType);
  const isOpen = gates.every((type) => isConditionTrue(status.conditions, type));
  const names = (spec.containers ?? []).map(({ name }) => name).join(" ");
  const ended = { Running: undefined, Succeeded: { reason: "PodCompleted" }, Failed: { reason: "PodFailed" } }[phase];
  const unready = { reason: "ContainersNotReady", message: `containers with unready status: [${names}]` };
  const closed = { reason: "ReadinessGatesNotReady", message: "a readiness gate is not True" };
  const stated: readonly (readonly [type: string, is: boolean, why?: object])[] = [
    ["PodReadyToStartContainers", phase === "Running"],
    ["Initialized", true],
    ["Ready", isReady && isOpen, isReady ? closed : (ended ?? unready)],
    ["ContainersReady", isReady, ended ?? unready],
    ["PodScheduled", true],
  ];
  return stated.reduce<readonly PodCondition[] | undefined>((conditions, [type, is, why = {}]) => {
    const condition = { type, status: is ? "True" : "False", lastProbeTime: null, ...(is ? {} : why) };
    return setCondition(conditions, condition, nowMs);
  }, status.conditions);
}
