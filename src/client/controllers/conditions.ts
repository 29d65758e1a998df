/** Conditions as a program states them, and as they are stored. Source: `metav1.Condition`. */
import { timestampOf } from "#meta/time.ts";

/** A condition as it is stated. */
interface StatedCondition {
  readonly status: boolean | "Unknown";
  /** One word for programs: `Launched`. */
  readonly reason: string;
  /** A sentence for people. */
  readonly message?: string;
}

/** Conditions by type; the first letter of a type may be small. `undefined` removes a condition. */
export type Conditions = Readonly<Record<string, StatedCondition | undefined>>;

/** A condition as it is stored. */
export interface StoredCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration?: unknown;
}

/** A condition of any kind. */
interface AnyCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: string | null;
}

/** Whether there is a condition of this type with the status `True`. */
export const isConditionTrue = (conditions: readonly AnyCondition[] | undefined, type: string): boolean =>
  conditions?.some((one) => one.type === type && one.status === "True") === true;

/** Returns the conditions with one that is stated. The time of its transition changes only with its status. */
export function setCondition<C extends AnyCondition>(
  conditions: readonly C[] | undefined,
  stated: Omit<C, "lastTransitionTime">,
  nowMs: number,
): readonly C[] {
  const before = conditions?.find(({ type }) => type === stated.type);
  const lastTransitionTime = before?.status === stated.status ? before.lastTransitionTime : timestampOf(nowMs);
  const next = { ...stated, lastTransitionTime } as unknown as C; // it has all fields of a condition now
  if (before === undefined) return [...(conditions ?? []), next];
  return conditions!.map((condition) => (condition === before ? next : condition));
}

interface Moment {
  /** The generation of the object that was seen. */
  readonly generation: unknown;
  /** The time as it is stored. */
  readonly time: string;
}

/**
 * Returns the own conditions with what is stated now. `present` are those of the object, whoever wrote them: a condition
 * that has the same status there keeps its time.
 */
export function stateConditions(
  own: readonly StoredCondition[],
  present: readonly StoredCondition[],
  stated: Conditions,
  moment: Moment,
): StoredCondition[] {
  const conditions = new Map(own.map((condition) => [condition.type, condition]));
  for (const [name, condition] of Object.entries(stated)) {
    const type = name.charAt(0).toUpperCase() + name.slice(1);
    if (condition === undefined) conditions.delete(type);
    else {
      const before = present.find((one) => one.type === type);
      conditions.set(type, storedForm(type, condition, before, moment));
    }
  }
  return [...conditions.values()];
}

function storedForm(
  type: string,
  { status, reason, message = "" }: StatedCondition,
  before: StoredCondition | undefined,
  { generation, time }: Moment,
): StoredCondition {
  const text = status === "Unknown" ? status : status ? "True" : "False";
  return {
    type,
    status: text,
    reason,
    message,
    lastTransitionTime: before?.status === text ? before.lastTransitionTime : time,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
}
