/** The status of a disruption budget, from its counts. Pure functions. */
import type { Condition } from "#api/meta/v1.ts";
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from "#api/policy/v1.ts";
import { timestampOf } from "#meta/time.ts";
import { bigIntOf } from "#std/int64.ts";
import type { PodHealth } from "./health.ts";

/** The expected number of pods, and the number of healthy pods: wanted and present. */
export interface Counts {
  readonly expectedPods: number;
  readonly desiredHealthy: number;
}

/** Makes the status. `now` is in milliseconds. */
export function countedStatus(
  budget: PodDisruptionBudget,
  { expectedPods, desiredHealthy }: Counts,
  { currentHealthy, disruptedPods }: PodHealth,
  now: number,
): PodDisruptionBudgetStatus {
  // While no pods are expected, the first pods that come must not be disrupted before they are counted.
  const disruptionsAllowed = expectedPods > 0 ? Math.max(0, currentHealthy - desiredHealthy) : 0;
  const observedGeneration = budget.metadata.generation ?? 0;
  const isAllowed = disruptionsAllowed > 0;
  const condition = {
    status: isAllowed ? "True" : "False",
    observedGeneration,
    reason: isAllowed ? "SufficientPods" : "InsufficientPods",
    message: "",
  };
  return {
    observedGeneration,
    ...(Object.keys(disruptedPods).length === 0 ? {} : { disruptedPods }),
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy,
    expectedPods,
    conditions: withCondition(budget.status.conditions ?? [], condition, now),
  };
}

/**
 * Makes the status while the expected number of pods is unknown: nothing may be disrupted. `message` says why it is
 * unknown.
 */
export function unknownStatus(
  { status }: PodDisruptionBudget,
  message: string,
  now: number,
): PodDisruptionBudgetStatus {
  const { observedGeneration = 0, conditions = [] } = status;
  const condition = { status: "False", observedGeneration, reason: "SyncFailed", message };
  return { ...status, disruptionsAllowed: 0, conditions: withCondition(conditions, condition, now) };
}

const type = "DisruptionAllowed";

function withCondition(
  conditions: readonly Condition[],
  condition: Omit<Condition, "type" | "lastTransitionTime">,
  now: number,
): readonly Condition[] {
  const at = conditions.findIndex((one) => one.type === type);
  const before = conditions[at];
  const lastTransitionTime = before?.status === condition.status ? before.lastTransitionTime : timestampOf(now);
  const next = { type, ...condition, lastTransitionTime };
  return at < 0 ? [...conditions, next] : conditions.with(at, next);
}

/** Returns a text that is equal for equal statuses. */
export function statusText(status: PodDisruptionBudgetStatus): string {
  const { observedGeneration = 0, disruptedPods = {}, disruptionsAllowed, currentHealthy } = status;
  const { desiredHealthy, expectedPods, conditions = [] } = status;
  const condition = conditions.find((one) => one.type === type);
  return JSON.stringify([
    [bigIntOf(observedGeneration).toString(), disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods],
    Object.entries(disruptedPods).sort(([one], [other]) => (one < other ? -1 : 1)),
    [condition?.status, condition?.reason, condition?.message, bigIntOf(condition?.observedGeneration ?? 0).toString()],
  ]);
}
