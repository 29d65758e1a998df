/** Tolerations of pods: whether one allows all that another one allows, and two lists joined into one. */
import type { Toleration } from "#api/core/v1.ts";
import { nearestNumber } from "#std/int64.ts";

/** Joins both lists, and leaves out tolerations that others make unnecessary; of equal ones the first stays. */
export function mergeTolerations(first: readonly Toleration[], second: readonly Toleration[]): readonly Toleration[] {
  const all = [...first, ...second];
  const isNeeded = (one: Toleration, at: number): boolean =>
    !all.some((other, otherAt) => otherAt !== at && covers(other, one) && (otherAt < at || !covers(one, other)));
  return all.filter(isNeeded);
}

/** Whether `wide` allows all that `one` allows, for as long. */
function covers(wide: Toleration, one: Toleration): boolean {
  const { key = "", operator = "", value = "", effect = "" } = wide;
  if (key !== (one.key ?? "") && (key !== "" || operator !== "Exists")) return false;
  if (effect !== "" && effect !== (one.effect ?? "")) return false;
  if (effect === "NoExecute" && wide.tolerationSeconds !== undefined) {
    if (one.tolerationSeconds === undefined) return false;
    if (nearestNumber(one.tolerationSeconds) > nearestNumber(wide.tolerationSeconds)) return false;
  }
  return operator === "Exists" || ((one.operator ?? "Equal") !== "Exists" && value === (one.value ?? ""));
}
