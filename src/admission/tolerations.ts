/** Lists of tolerations: of pods, namespaces and runtime classes. Source of rules: the answers of kube-apiserver. */
import type { Toleration } from "#api/core/v1.ts";
import { nearestNumber } from "#std/int64.ts";

/** Joins both lists, and leaves out tolerations that others make unnecessary; of equal ones the first stays. */
export function mergeTolerations(first: readonly Toleration[], second: readonly Toleration[]): readonly Toleration[] {
  const distinct = new Map<string, Toleration>();
  for (const one of [...first, ...second]) {
    const id = idOf(one);
    if (!distinct.has(id)) distinct.set(id, one);
  }
  const later = new TolerationSet();
  const needed: Toleration[] = [];
  for (const one of [...distinct.values()].toReversed()) {
    if (!later.covers(one)) needed.push(one);
    later.add(one);
  }
  const kept = new TolerationSet();
  return needed.toReversed().filter((one) => {
    if (kept.covers(one)) return false;
    kept.add(one);
    return true;
  });
}

/** Tolerations by what they tolerate. A question takes the same time for any number of them. */
export class TolerationSet {
  readonly #ids = new Set<string>();
  /** The longest time in seconds for each key, effect and value; the value is absent where every value is tolerated. */
  readonly #seconds = new Map<string, number>();

  add(one: Toleration): void {
    const { key = "", operator = "", value = "", effect = "" } = one;
    this.#ids.add(idOf(one));
    if (operator !== "" && operator !== "Equal" && operator !== "Exists") return;
    const id = JSON.stringify(operator === "Exists" ? [key, effect] : [key, effect, value]);
    this.#seconds.set(id, Math.max(this.#seconds.get(id) ?? Number.NEGATIVE_INFINITY, secondsOf(one)));
  }

  /**
   * Whether one of them equals this toleration, or allows all that it allows, for as long. Upstream: a missing operator is
   * `Equal` in the wider one alone.
   */
  covers(one: Toleration): boolean {
    if (this.#ids.has(idOf(one))) return true;
    const { key = "", operator = "", value = "", effect = "" } = one;
    const seconds = secondsOf(one);
    const holds = (...id: readonly string[]): boolean =>
      (this.#seconds.get(JSON.stringify(id)) ?? Number.NaN) >= seconds;
    return [effect, ""].some(
      (wide) => holds(key, wide) || holds("", wide) || (operator === "Equal" && holds(key, wide, value)),
    );
  }
}

const idOf = ({ key = "", operator = "", value = "", effect = "", tolerationSeconds }: Toleration): string =>
  JSON.stringify([key, operator, value, effect, tolerationSeconds]);

/** A toleration without a time has no end. */
const secondsOf = ({ tolerationSeconds: seconds }: Toleration): number =>
  seconds === undefined ? Number.POSITIVE_INFINITY : nearestNumber(seconds);
