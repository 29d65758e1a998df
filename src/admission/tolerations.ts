/** Lists of tolerations: of pods, namespaces and runtime classes. Source of rules: the answers of kube-apiserver. */
import type { Toleration } from "#api/core/v1.ts";
import { nearestNumber } from "#std/int64.ts";

/** Joins both lists, and leaves out tolerations that others make unnecessary; of equal ones the first stays. */
export function mergeTolerations(first: readonly Toleration[], second: readonly Toleration[]): readonly Toleration[] {
  if (areUnrelated(first, second)) return [...first, ...second];
  const distinct = new Map<string, Compared>();
  for (const list of [first, second]) {
    for (const toleration of list) {
      const one = new Compared(toleration);
      if (!distinct.has(one.id)) distinct.set(one.id, one);
    }
  }
  const all = [...distinct.values()];
  const later = new TolerationSet();
  const needed: Compared[] = [];
  for (let at = all.length - 1; at >= 0; at--) {
    const one = all[at]!;
    if (!later.widens(one)) needed.push(one);
    later.addCompared(one);
  }
  const earlier = new TolerationSet();
  const kept: Toleration[] = [];
  for (let at = needed.length - 1; at >= 0; at--) {
    const one = needed[at]!;
    if (earlier.widens(one)) continue;
    earlier.addCompared(one);
    kept.push(one.toleration);
  }
  return kept;
}

/** The number of tolerations up to which comparing each with each costs less than a set. */
const fewMax = 12;

/**
 * Whether each of a few tolerations, as nearly every pod has them, is about other taints than the others: none makes
 * another one unnecessary.
 */
function areUnrelated(first: readonly Toleration[], second: readonly Toleration[]): boolean {
  const all = [...first, ...second];
  if (all.length > fewMax) return false;
  return all.every(({ key, effect }, at) => {
    if (!key || !effect) return false; // it is about many taints
    return all.findIndex((other) => other.key === key && other.effect === effect) === at;
  });
}

/** A toleration with the texts by which it is compared with others. */
class Compared {
  readonly toleration: Toleration;
  readonly key: string;
  readonly operator: string;
  readonly value: string;
  readonly effect: string;
  /** The time in seconds; without one a toleration has no end. */
  readonly seconds: number;
  /** A text that only equal tolerations share. */
  readonly id: string;

  constructor(toleration: Toleration) {
    const { key = "", operator = "", value = "", effect = "", tolerationSeconds } = toleration;
    this.toleration = toleration;
    this.key = key;
    this.operator = operator;
    this.value = value;
    this.effect = effect;
    this.seconds = tolerationSeconds === undefined ? Number.POSITIVE_INFINITY : nearestNumber(tolerationSeconds);
    this.id = `${idOf(key, effect)}${operator.length}:${operator}${value.length}:${value}${JSON.stringify(tolerationSeconds)}`;
  }
}

/** Tolerations by what they tolerate. A question takes the same time for any number of them. */
export class TolerationSet {
  readonly #ids = new Set<string>();
  /** The longest time in seconds for each key and effect of which every value is tolerated. */
  readonly #ofAllValues = new Map<string, number>();
  /** The longest time in seconds for each key and effect, by value. */
  readonly #ofOneValue = new Map<string, Map<string, number>>();

  add(one: Toleration): void {
    this.addCompared(new Compared(one));
  }

  /**
   * Whether one of them equals this toleration, or allows all that it allows, for as long. Upstream: a missing operator is
   * `Equal` in the wider one alone.
   */
  covers(one: Toleration): boolean {
    return this.widens(new Compared(one));
  }

  addCompared({ id, key, operator, value, effect, seconds }: Compared): void {
    this.#ids.add(id);
    const target = idOf(key, effect);
    if (operator === "Exists") raise(this.#ofAllValues, target, seconds);
    else if (operator === "" || operator === "Equal") {
      let byValue = this.#ofOneValue.get(target);
      if (byValue === undefined) this.#ofOneValue.set(target, (byValue = new Map()));
      raise(byValue, value, seconds);
    }
  }

  widens({ id, key, operator, value, effect, seconds }: Compared): boolean {
    if (this.#ids.has(id)) return true;
    const [isAny, isSome] = [this.#ofAllValues.size > 0, operator === "Equal" && this.#ofOneValue.size > 0];
    if (!isAny && !isSome) return false;
    for (const wide of effect === "" ? [""] : [effect, ""]) {
      const target = idOf(key, wide);
      if (isAny && (lasts(this.#ofAllValues, target, seconds) || lasts(this.#ofAllValues, idOf("", wide), seconds))) {
        return true;
      }
      const byValue = isSome ? this.#ofOneValue.get(target) : undefined;
      if (byValue !== undefined && lasts(byValue, value, seconds)) return true;
    }
    return false;
  }
}

const idOf = (key: string, effect: string): string => `${key.length}:${key}${effect.length}:${effect}`;

/** Whether something is tolerated for as long as `seconds`. */
function lasts(longest: ReadonlyMap<string, number>, id: string, seconds: number): boolean {
  const known = longest.get(id);
  return known !== undefined && known >= seconds;
}

function raise(longest: Map<string, number>, id: string, seconds: number): void {
  const before = longest.get(id);
  if (before === undefined || before < seconds) longest.set(id, seconds);
}
