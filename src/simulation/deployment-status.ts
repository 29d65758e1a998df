/** The status of a Deployment, and the limits of its rollout. Source: upstream's `deployment/progress.go` and `util`. */
import { after, type Requeue } from "#client/controllers.ts";
import type { Deployment, ReplicaSet } from "#client/kinds.ts";
import { timestampOf, timeToMs } from "#meta/time.ts";
import { partOf, withCondition } from "./owned.ts";

export const wantedOf = ({ spec }: ReplicaSet): number => spec.replicas ?? 1;
export const availableOf = ({ status }: ReplicaSet): number => status.availableReplicas ?? 0;
export const sum = <T>(items: readonly T[], count: (item: T) => number): number =>
  items.reduce((total, item) => total + count(item), 0);

/** Returns the numbers of pods beyond and below the wanted number that a rollout may have. */
export function limitsOf({ spec: { replicas = 1, strategy } }: Deployment) {
  if (strategy.type === "Recreate") return { maxSurge: 0, maxUnavailable: replicas };
  const { maxSurge: surge = "25%", maxUnavailable: unavailable = "25%" } = strategy.rollingUpdate ?? {};
  const maxSurge = partOf(surge, replicas, Math.ceil);
  const maxUnavailable = Math.min(partOf(unavailable, replicas, Math.floor), replicas);
  // Something has to change, so one pod may be missing where both numbers are rounded to 0.
  return { maxSurge, maxUnavailable: maxSurge === 0 && maxUnavailable === 0 ? 1 : maxUnavailable };
}

type Condition = NonNullable<Deployment["status"]["conditions"]>[number];
type Status = { -readonly [Field in keyof Deployment["status"]]: Deployment["status"][Field] | undefined };

/** The numbers of pods of all ReplicaSets; `updated` are those of the present template. */
interface Counts {
  readonly replicas: number;
  readonly updated: number;
  readonly ready: number;
  readonly available: number;
}

const countsOf = (status: Status): Counts => ({
  replicas: status.replicas ?? 0,
  updated: status.updatedReplicas ?? 0,
  ready: status.readyReplicas ?? 0,
  available: status.availableReplicas ?? 0,
});

/** Returns the status of a Deployment with its ReplicaSets, of which `current` has the present template. */
export function deploymentStatus(
  deployment: Deployment,
  sets: readonly ReplicaSet[],
  current: ReplicaSet | undefined,
  nowMs: number,
): Status {
  const { metadata, spec, status } = deployment;
  const { replicas: wanted = 1 } = spec;
  const counts: Counts = {
    replicas: sum(sets, (set) => set.status.replicas),
    updated: current?.status.replicas ?? 0,
    ready: sum(sets, (set) => set.status.readyReplicas ?? 0),
    available: sum(sets, availableOf),
  };
  const { replicas, available } = counts;
  const failure = sets.flatMap((set) => set.status.conditions ?? []).find(({ type }) => type === "ReplicaFailure");
  const stated = [
    available >= wanted - limitsOf(deployment).maxUnavailable
      ? state("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
      : state("Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."),
    ...progressOf(deployment, counts, current?.metadata.name, nowMs),
    ...(failure === undefined ? [] : [state("ReplicaFailure", failure.status, failure.reason, failure.message)]),
  ];
  const hasDeadline = deadlineOf(deployment) !== undefined;
  const kept = status.conditions?.filter(
    ({ type }) => (type !== "ReplicaFailure" || failure !== undefined) && (type !== "Progressing" || hasDeadline),
  );
  return {
    observedGeneration: metadata.generation,
    replicas: replicas || undefined,
    updatedReplicas: counts.updated || undefined,
    readyReplicas: counts.ready || undefined,
    availableReplicas: available || undefined,
    unavailableReplicas: Math.max(0, wanted - available, replicas - available) || undefined,
    collisionCount: status.collisionCount,
    conditions: stated.reduce<readonly Condition[] | undefined>((all, one) => withState(all, one, nowMs), kept),
  };
}

/** A condition as it is stated. `isMoving` says that its time has to change although the words are the same. */
type State = Omit<Condition, "lastUpdateTime" | "lastTransitionTime"> & { readonly isMoving?: boolean };

const state = (type: string, status: string, reason = "", message = ""): State => ({ type, status, reason, message });

function withState(
  conditions: readonly Condition[] | undefined,
  { isMoving = false, ...stated }: State,
  nowMs: number,
): readonly Condition[] {
  const before = conditions?.find(({ type }) => type === stated.type);
  const isSame =
    before?.status === stated.status && before.reason === stated.reason && before.message === stated.message;
  if (isSame && !isMoving) return conditions!;
  return withCondition<Condition>(conditions, { ...stated, lastUpdateTime: timestampOf(nowMs) }, nowMs);
}

/** Returns the deadline in milliseconds; `undefined` when there is none, which is also written as the largest number. */
const deadlineOf = ({ spec: { progressDeadlineSeconds: seconds } }: Deployment): number | undefined =>
  seconds === undefined || seconds === 2 ** 31 - 1 ? undefined : seconds * 1000;

/** Returns the condition that says whether the rollout goes on, if it has to be stated. */
function progressOf(
  deployment: Deployment,
  counts: Counts,
  setName: string | undefined,
  nowMs: number,
): readonly State[] {
  const { metadata, spec, status } = deployment;
  const { replicas: wanted = 1, paused = false } = spec;
  const deadlineMs = deadlineOf(deployment);
  if (deadlineMs === undefined) return [];
  const type = "Progressing";
  const before = status.conditions?.find((one) => one.type === type);
  if (paused) return [state(type, "Unknown", "DeploymentPaused", "Deployment is paused")];
  if (before?.reason === "DeploymentPaused")
    return [state(type, "Unknown", "DeploymentResumed", "Deployment is resumed")];
  const name = setName === undefined ? `Deployment "${metadata.name}"` : `ReplicaSet "${setName}"`;
  const isRolledOut = counts.updated === wanted && counts.replicas === wanted;
  if (isRolledOut && counts.available === wanted)
    return [state(type, "True", "NewReplicaSetAvailable", `${name} has successfully progressed.`)];
  const wasAvailable = before?.reason === "NewReplicaSetAvailable";
  // A pod that is lost after the end of the rollout does not begin another one.
  if (wasAvailable && isRolledOut && status.observedGeneration === metadata.generation) return [];
  const was = countsOf(status);
  const hasMoved =
    counts.updated > was.updated ||
    counts.replicas - counts.updated < was.replicas - was.updated ||
    counts.ready > was.ready ||
    counts.available > was.available ||
    before === undefined ||
    before.reason === "DeploymentResumed" ||
    wasAvailable;
  if (hasMoved) return [{ ...state(type, "True", "ReplicaSetUpdated", `${name} is progressing.`), isMoving: true }];
  const sinceMs = timeToMs(before.lastUpdateTime) ?? nowMs;
  if (sinceMs + deadlineMs > nowMs) return [];
  return [state(type, "False", "ProgressDeadlineExceeded", `${name} has timed out progressing.`)];
}

/** Returns when a Deployment that does not progress has to be looked at, since its deadline is over. */
export function progressWait(deployment: Deployment, { conditions }: Status, nowMs: number): Requeue | undefined {
  const deadlineMs = deadlineOf(deployment);
  const progressing = conditions?.find(({ type }) => type === "Progressing");
  if (deadlineMs === undefined || progressing?.reason !== "ReplicaSetUpdated") return undefined;
  const sinceMs = timeToMs(progressing.lastUpdateTime) ?? nowMs;
  return after(Math.max(0, sinceMs + deadlineMs - nowMs) + 1);
}
