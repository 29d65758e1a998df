/** Tolerations of pods: whether one allows all that another one allows, and two lists joined into one. */
import type { Toleration } from "#api/core/v1.ts";
import { nearestNumber } from "#std/int64.ts";

/** Joins both lists, and leaves out tolerations that others make unnecessary; of equal ones the first stays. */
export function mergeTolerations(first: readonly Toleration[], second: readonly Toleration[]): readonly Toleration[] {
  const all = [...first, ...second];
  const kept: Toleration[] = [];
  for (const [at, one] of all.entries()) {
    if (kept.some((earlier) => covers(earlier, one))) continue;
    if (all.slice(at + 1).some((later) => !isSame(later, one) && covers(later, one))) continue;
    kept.push(one);
  }
  return kept;
}

/** Whether `wide` allows all that `one` allows, for as long. Upstream: a missing operator is `Equal` in `wide` alone. */
export function covers(wide: Toleration, one: Toleration): boolean {
  if (isSame(wide, one)) return true;
  const { key = "", operator = "", value = "", effect = "" } = wide;
  if (key !== (one.key ?? "") && (key !== "" || operator !== "Exists")) return false;
  if (effect !== "" && effect !== (one.effect ?? "")) return false;
  if (effect === "NoExecute" && wide.tolerationSeconds !== undefined) {
    if (one.tolerationSeconds === undefined) return false;
    if (nearestNumber(one.tolerationSeconds) > nearestNumber(wide.tolerationSeconds)) return false;
  }
  if (operator === "Exists") return true;
  return (operator === "" || operator === "Equal") && one.operator === "Equal" && value === (one.value ?? "");
}

const isSame = (one: Toleration, other: Toleration): boolean =>
  (["key", "operator", "value", "effect"] as const).every((name) => (one[name] ?? "") === (other[name] ?? "")) &&
  one.tolerationSeconds === other.tolerationSeconds;
