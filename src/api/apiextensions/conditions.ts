/** Conditions of custom resource definitions. Source of the rules: upstream's `apihelpers`. */
import type { CustomResourceDefinition, CustomResourceDefinitionCondition } from "./v1.ts";

export type ConditionContent = Omit<CustomResourceDefinitionCondition, "lastTransitionTime">;

/** The finalizer that keeps a definition until its objects are deleted. */
export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";

export function findCondition(
  conditions: readonly CustomResourceDefinitionCondition[] | null | undefined,
  type: string,
): CustomResourceDefinitionCondition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export const isConditionTrue = (definition: CustomResourceDefinition, type: string): boolean =>
  findCondition(definition.status?.conditions, type)?.status === "True";

/** Whether two conditions of a type say the same, whenever they began. */
export const sameContent = (one: ConditionContent, other: ConditionContent): boolean =>
  one.status === other.status && one.reason === other.reason && one.message === other.message;

/**
 * Returns the list with one condition set, whose transition time changes only with its status. Returns the same list
 * when nothing changes.
 */
export function withCondition(
  conditions: readonly CustomResourceDefinitionCondition[],
  content: ConditionContent,
  now: string,
): readonly CustomResourceDefinitionCondition[] {
  const old = findCondition(conditions, content.type);
  if (old !== undefined && sameContent(old, content) && old.lastTransitionTime) return conditions;
  const time = old?.status === content.status && old.lastTransitionTime ? old.lastTransitionTime : now;
  const { type, status, reason, message } = content;
  const next: CustomResourceDefinitionCondition = {
    type,
    status,
    lastTransitionTime: time,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  };
  return old === undefined ? [...conditions, next] : conditions.map((condition) => (condition === old ? next : condition));
}
