/** The limits of the rollout of a Deployment, and its status. Source: upstream's `deployment/progress.go` and `util`. */
import { after, type Requeue, setCondition } from "#client/controllers.ts";
import type { Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet } from "#client/kinds.ts";
import { timestampOf, timeToMs } from "#meta/time.ts";

/** The ReplicaSet of the present template, and the others, oldest first. */
export interface Sets {
  readonly current: ReplicaSet | undefined;
  readonly old: readonly ReplicaSet[];
}

export const allOf = ({ current, old }: Sets) => (current === undefined ? old : [...old, current]);
export const wantedOf = ({ spec }: ReplicaSet): number => spec.replicas ?? 1;
export const availableOf = ({ status }: ReplicaSet): number => status.availableReplicas ?? 0;
export const sum = <T>(items: readonly T[], count: (item: T) => number): number =>
  items.reduce((total, item) => total + count(item), 0);

/** Returns a number, or a part of `total` that is given in percent. */
const partOf = (value: number | string, total: number, round: (exact: number) => number): number =>
  typeof value === "string" ? round((parseInt(value, 10) * total) / 100) : value;

/** Returns the numbers of pods beyond and below the wanted number that a rollout may have. */
export function limitsOf({ spec: { replicas = 1, strategy } }: Deployment) {
  if (strategy.type === "Recreate") return { maxSurge: 0, maxUnavailable: replicas };
  const { maxSurge: surge = "25%", maxUnavailable: unavailable = "25%" } = strategy.rollingUpdate ?? {};
  const maxSurge = partOf(surge, replicas, Math.ceil);
  const maxUnavailable = Math.min(partOf(unavailable, replicas, Math.floor), replicas);
  // Something has to change, so one pod may be missing where both numbers are rounded to 0.
  return { maxSurge, maxUnavailable: maxSurge === 0 && maxUnavailable === 0 ? 1 : maxUnavailable };
}

/** Returns the status of a Deployment. */
export function deploymentStatus(deployment: Deployment, { current, old }: Sets, nowMs: number) {
  const sets = allOf({ current, old });
  const { metadata, spec, status: before } = deployment;
  const { replicas: wanted = 1 } = spec;
  const replicas = sum(sets, ({ status }) => status.replicas);
  const available = sum(sets, availableOf);
  const status: DeploymentStatus = {
    ...before,
    replicas,
    updatedReplicas: current?.status.replicas ?? 0,
    readyReplicas: sum(sets, ({ status: { readyReplicas = 0 } }) => readyReplicas),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, wanted - available, replicas - available),
  };
  const failures = sets.flatMap((set) => set.status.conditions ?? []).filter(({ type }) => type === "ReplicaFailure");
  const name = current === undefined ? `Deployment "${metadata.name}"` : `ReplicaSet "${current.metadata.name}"`;
  const isUp = available >= wanted - limitsOf(deployment).maxUnavailable;
  const stated = [
    isUp
      ? state("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
      : state("Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."),
    ...progressOf(deployment, status, name, nowMs),
    ...failures.slice(0, 1).map((one) => state(one.type, one.status, one.reason, one.message)),
  ];
  const types = deadlineOf(deployment) === undefined ? ["Available"] : ["Available", "Progressing"];
  const kept = before.conditions?.filter(({ type }) => types.includes(type));
  const counts = Object.entries(status).map(([name, value]) => [name, value === 0 ? undefined : value]);
  return {
    ...(Object.fromEntries(counts) as DeploymentStatus), // fields with the number 0 are left out, as upstream
    observedGeneration: metadata.generation,
    conditions: stated.reduce<Conditions>((all, one) => withState(all, one, nowMs), kept),
  };
}

type Conditions = readonly DeploymentCondition[] | undefined;

/** A condition as it is stated. `isMoving` says that its time has to change although the words are the same. */
type State = Omit<DeploymentCondition, "lastUpdateTime" | "lastTransitionTime"> & { readonly isMoving?: boolean };

const state = (type: string, status: string, reason = "", message = ""): State => ({ type, status, reason, message });

function withState(conditions: Conditions, { isMoving = false, ...stated }: State, nowMs: number): Conditions {
  const isSame = (one: DeploymentCondition): boolean =>
    (["type", "status", "reason", "message"] as const).every((field) => one[field] === stated[field]);
  if (!isMoving && conditions?.some(isSame)) return conditions;
  return setCondition<DeploymentCondition>(conditions, { ...stated, lastUpdateTime: timestampOf(nowMs) }, nowMs);
}

/** Returns the deadline in milliseconds; `undefined` when there is none, which is also written as the largest number. */
const deadlineOf = ({ spec: { progressDeadlineSeconds: seconds } }: Deployment): number | undefined =>
  seconds === undefined || seconds === 2 ** 31 - 1 ? undefined : seconds * 1000;

/** Returns the condition that says whether the rollout goes on, if it has to be stated. */
function progressOf(deployment: Deployment, now: DeploymentStatus, name: string, nowMs: number): State[] {
  const { metadata, spec, status: was } = deployment;
  const { replicas: wanted = 1, paused = false } = spec;
  const deadlineMs = deadlineOf(deployment);
  if (deadlineMs === undefined) return [];
  const type = "Progressing";
  const before = was.conditions?.find((one) => one.type === type);
  if (paused) return [state(type, "Unknown", "DeploymentPaused", "Deployment is paused")];
  if (before?.reason === "DeploymentPaused")
    return [state(type, "Unknown", "DeploymentResumed", "Deployment is resumed")];
  const isRolledOut = now.updatedReplicas === wanted && now.replicas === wanted;
  if (isRolledOut && now.availableReplicas === wanted)
    return [state(type, "True", "NewReplicaSetAvailable", `${name} has successfully progressed.`)];
  const wasAvailable = before?.reason === "NewReplicaSetAvailable";
  // A pod that is lost after the end of the rollout does not begin another one.
  if (wasAvailable && isRolledOut && was.observedGeneration === metadata.generation) return [];
  const fields = ["updatedReplicas", "readyReplicas", "availableReplicas"] as const;
  const hasGrown = fields.some((field) => (now[field] ?? 0) > (was[field] ?? 0));
  const oldOf = ({ replicas = 0, updatedReplicas = 0 }: DeploymentStatus): number => replicas - updatedReplicas;
  const isFirst = before === undefined || before.reason === "DeploymentResumed" || wasAvailable;
  if (isFirst || hasGrown || oldOf(now) < oldOf(was))
    return [{ ...state(type, "True", "ReplicaSetUpdated", `${name} is progressing.`), isMoving: true }];
  if ((timeToMs(before.lastUpdateTime) ?? nowMs) + deadlineMs > nowMs) return [];
  return [state(type, "False", "ProgressDeadlineExceeded", `${name} has timed out progressing.`)];
}

/** Returns when the deadline of a Deployment that does not progress is over. */
export function untilDeadline(deployment: Deployment, conditions: Conditions, nowMs: number): Requeue | undefined {
  const progressing = conditions?.find(({ type }) => type === "Progressing");
  if (progressing?.reason !== "ReplicaSetUpdated") return undefined;
  const endMs = (timeToMs(progressing.lastUpdateTime) ?? nowMs) + (deadlineOf(deployment) ?? 0);
  return after(Math.max(0, endMs - nowMs) + 1);
}
