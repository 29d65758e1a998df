/**
 * Plays the kubelet: lets pods of the simulated node run, become Ready and end, and ends at once those that are being
 * deleted. All containers of a pod do the same at the same time. Source: the status that upstream's `pkg/kubelet` writes.
 */
import { after, controller, isConditionTrue, setCondition } from "#client/controllers.ts";
import { type ContainerState, Pod, type PodCondition, type PodSpec, type PodStatus } from "#client/kinds.ts";
import { KeyedAddresses } from "#meta/keyed-addresses.ts";
import { timestampOf, timeToMs } from "#meta/time.ts";
import { parseGoDuration } from "#std/go-duration.ts";
import { followAddresses } from "./addresses.ts";
import { nodeAddress } from "./node.ts";
import { nodeName, simulationDomain, type SimulationParts } from "./parts.ts";
import { hasEnded } from "./pods.ts";

export function kubeletController({ readyAfterMs }: SimulationParts) {
  // RFC 2544 reserves this range for benchmarks, and no network routes it.
  const addresses = new KeyedAddresses("198.18.0.0/15");
  return controller(Pod, {
    name: "kubelet",
    concurrency: 16,
    includesDeleted: true,
    predicates: [followAddresses(addresses, ({ status }) => status.podIP)],
    async reconcile(pod, { client, replaceStatus }) {
      const { spec, metadata } = pod;
      const { name, namespace, uid, deletionTimestamp } = metadata;
      const isOurs = spec.nodeName === nodeName || (spec.nodeName === undefined && deletionTimestamp !== undefined);
      if (!isOurs) return;
      const deletion = { in: namespace, gracePeriodSeconds: 0, preconditions: { uid } };
      if (deletionTimestamp !== undefined) return void (await client.kind(Pod).delete(name, deletion));
      if (hasEnded(pod)) return;
      const { podIP = spec.hostNetwork === true ? nodeAddress : undefined } = pod.status;
      const address = podIP ?? addresses.give(uid);
      const nowMs = client.clock.now();
      const state = stateOf(pod, planOf(pod, readyAfterMs), nowMs);
      await replaceStatus(statusOf(pod, state, address, nowMs));
      return state.waitMs === Infinity ? undefined : after(state.waitMs);
    },
  });
}

type Plan = ReturnType<typeof planOf>;

/** Returns the times from the start of containers, as annotations say; the message of a failure is that of their end. */
function planOf({ metadata: { annotations }, spec }: Pod, readyAfterMs: number) {
  const annotation = (name: string): string => annotations?.[`${simulationDomain}/${name}`] ?? "";
  const time = (name: string): number | undefined => parseGoDuration(annotation(name).replace(/^-.*/, ""));
  const said = annotation("fail");
  const fail = said === "false" ? "" : said.replace(/^true$/, "the simulation lets this container fail");
  const readyMs = time("ready-after") ?? readyAfterMs;
  const ends = fail !== "" || (spec.restartPolicy ?? "Always") !== "Always";
  return {
    readyMs: fail === "" ? readyMs : Infinity,
    exitMs: time("exit-after") ?? (ends ? readyMs : Infinity),
    failure: fail === "" ? undefined : fail.slice(0, 4096),
  };
}

/** A state that all containers of a pod have, and the time until the next one. */
interface State {
  readonly phase: "Running" | "Succeeded" | "Failed";
  readonly isReady: boolean;
  readonly container: ContainerState;
  readonly last: ContainerState;
  readonly restartCount: number;
  readonly waitMs: number;
}

/** The pauses of the kubelet before restarts: 10 s, doubled, up to 5 minutes. */
const pauseMs = (restarts: number): number => Math.min(10_000 * 2 ** Math.min(restarts, 5), 300_000);

/** Returns the state of a pod now: pausing before a restart, running, ended, or beginning to pause. */
function stateOf({ status, spec }: Pod, { readyMs, exitMs, failure }: Plan, nowMs: number): State {
  const { state: present = {}, lastState: last = {}, restartCount = 0 } = status.containerStatuses?.[0] ?? {};
  const { running, waiting } = present;
  const state = { phase: "Running", isReady: false, container: present, last, restartCount, waitMs: Infinity } as const;
  const endMs = timeToMs(last.terminated?.finishedAt ?? "") ?? 0;
  const pauseLeftMs = endMs + pauseMs(restartCount) - nowMs;
  if (waiting !== undefined && pauseLeftMs > 0) return { ...state, waitMs: pauseLeftMs };
  const startMs = timeToMs(running?.startedAt ?? "") ?? nowMs;
  const ageMs = nowMs - startMs;
  const startedAt = timestampOf(startMs);
  if (running === undefined || ageMs < exitMs) {
    const isReady = ageMs >= readyMs;
    const waitMs = Math.min(isReady ? Infinity : readyMs, exitMs) - ageMs;
    const restarts = restartCount + (waiting === undefined ? 0 : 1);
    return { ...state, isReady, container: { running: { startedAt } }, restartCount: restarts, waitMs };
  }
  const isGood = failure === undefined;
  const result = isGood ? { exitCode: 0, reason: "Completed" } : { exitCode: 1, reason: "Error", message: failure };
  const end = { terminated: { ...result, startedAt, finishedAt: timestampOf(nowMs) } };
  if (spec.restartPolicy === "Never" || (spec.restartPolicy === "OnFailure" && isGood))
    return { ...state, phase: isGood ? "Succeeded" : "Failed", container: end };
  const message = `back-off ${pauseMs(restartCount) / 1000}s restarting failed container`;
  const container = { waiting: { reason: "CrashLoopBackOff", message } };
  return { ...state, container, last: end, waitMs: pauseMs(restartCount) };
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
