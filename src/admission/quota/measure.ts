/** Recounts the usage of a quota in a namespace, at one revision of the store. */
import type { ResourceQuota } from "#api/core/v1.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { addQuantities, compareQuantities, type Quantity, subtractQuantities } from "#meta/quantity.ts";
import { addTo, pickQuantities, type Quantities, quantitiesOf, textsOf, times, zero } from "../quantities.ts";
import { scopesOf, type UsageRequest } from "./check.ts";
import type { Evaluator, GroupResource } from "./evaluator.ts";
import type { UsageEvaluators } from "./usage.ts";

/** Objects of one resource that a quota counts. */
interface MeasuredPart extends GroupResource {
  add(object: ApiObject): void;
  /** The names of the objects that are being written, if only the number of objects counts and none has to be read. */
  readonly beingWritten: readonly string[] | undefined;
  /** Adds `count` objects at once, among them `existing` of those that are being written. */
  addCounted(count: number, existing: readonly string[]): void;
  /** Called when all objects have been added. The amounts of a part without this call stay as they were. */
  done(): void;
}

/** A count in progress: its parts take the objects, then `statusOf` has the result. */
export interface Measurement {
  /** The quota as it was when the count began. */
  readonly quota: ResourceQuota;
  /** The revision at which the objects have to be read: that of the time when the count began. */
  readonly revision: number;
  readonly parts: readonly MeasuredPart[];
  /**
   * Returns the status that the quota has by this count, given its present version; `undefined` when it is the present
   * one.
   */
  statusOf(now: ResourceQuota): ResourceQuota["status"] | undefined;
}

/**
 * Begins to count the objects of a quota's namespace. `inFlight` are the writes that may or may not be stored at
 * `revision`.
 */
export function measure(
  quota: ResourceQuota,
  revision: number,
  evaluators: UsageEvaluators,
  inFlight: readonly UsageRequest[],
): Measurement {
  const hard = quota.spec.hard ?? {};
  const byEvaluator = Map.groupBy(Object.keys(hard), (name) => evaluators.counting(name));
  const parts: Part[] = [];
  for (const [evaluator, names] of byEvaluator) {
    if (evaluator === undefined) continue;
    const { group, resource } = evaluator;
    const own = inFlight.filter(
      (request) => request.evaluator.group === group && request.evaluator.resource === resource,
    );
    parts.push(new Part(quota, evaluator, new Set(names), own));
  }
  const usedAtStart = quantitiesOf(quota.status.used);
  return { quota, revision, parts, statusOf: (now) => statusOf(now, hard, usedAtStart, parts) };
}

class Part implements MeasuredPart {
  readonly group: string;
  readonly resource: string;
  readonly #evaluator: Evaluator;
  readonly #names: ReadonlySet<string>;
  readonly #sum: Map<string, Quantity>;
  readonly #scopes: ReturnType<typeof scopesOf>;
  /** Writes that may not be stored yet, by the names of their objects. */
  readonly #pending: Map<string, UsageRequest[]>;
  isDone = false;

  constructor(
    quota: ResourceQuota,
    evaluator: Evaluator,
    names: ReadonlySet<string>,
    inFlight: readonly UsageRequest[],
  ) {
    this.group = evaluator.group;
    this.resource = evaluator.resource;
    this.#evaluator = evaluator;
    this.#names = names;
    this.#scopes = scopesOf(quota);
    this.#sum = new Map([...names].map((name) => [name, zero]));
    this.#pending = Map.groupBy(inFlight, ({ attributes }) => attributes.name);
  }

  get sum(): Quantities {
    return this.#sum;
  }

  get beingWritten(): readonly string[] | undefined {
    return this.#evaluator.isConstant === true ? [...this.#pending.keys()] : undefined;
  }

  addCounted(count: number, existing: readonly string[]): void {
    for (const name of existing) this.#pending.delete(name);
    addTo(this.#sum, times(this.#usageOf(unread), count));
  }

  add(object: ApiObject): void {
    const name = object.metadata.name ?? "";
    const pending = this.#pending.get(name) ?? [];
    this.#pending.delete(name);
    this.#addLargest([this.#usageOf(() => object), ...pending.map((request) => this.#usageOf(() => request.object))]);
  }

  done(): void {
    for (const pending of this.#pending.values()) {
      this.#addLargest(pending.map((request) => this.#usageOf(() => request.object)));
    }
    this.#pending.clear();
    this.isDone = true;
  }

  /** Adds the largest usage of an object that is being written: it is stored either as it was or as it will be. */
  #addLargest(usages: readonly Quantities[]): void {
    const largest = new Map<string, Quantity>();
    for (const usage of usages) {
      for (const [name, quantity] of usage) {
        const before = largest.get(name);
        if (before === undefined || compareQuantities(quantity, before) > 0) largest.set(name, quantity);
      }
    }
    addTo(this.#sum, largest);
  }

  #usageOf(read: () => ApiObject): Quantities {
    const isOutside = this.#scopes.some((scope) => this.#evaluator.isInScope?.(read(), scope) !== true);
    if (isOutside) return new Map();
    return pickQuantities(this.#evaluator.usage(read), (name) => this.#names.has(name));
  }
}

/**
 * Returns the status of a quota after a count. Writes have been charged to the quota since the count began, so the
 * status changes by the difference between the count and the status at the beginning.
 */
function statusOf(
  now: ResourceQuota,
  hard: Readonly<Record<string, string>>,
  usedAtStart: Quantities,
  parts: readonly Part[],
): ResourceQuota["status"] | undefined {
  const before = quantitiesOf(now.status.used);
  const used = pickQuantities(before, (name) => Object.hasOwn(hard, name));
  for (const { isDone, sum } of parts) {
    if (!isDone) continue;
    for (const [name, counted] of sum) {
      const [charged, countedBefore] = [used.get(name), usedAtStart.get(name)];
      const isKnown = charged !== undefined && countedBefore !== undefined;
      used.set(name, isKnown ? addQuantities(charged, subtractQuantities(counted, countedBefore)) : counted);
    }
  }
  const isSame = now.status.used !== undefined && equal(used, before) && equalTexts(hard, now.status.hard);
  return isSame ? undefined : { hard, used: textsOf(used) };
}

const unread = (): never => {
  throw new Error("objects of which only the number counts are not read");
};

const equal = (one: Quantities, other: Quantities): boolean =>
  one.size === other.size &&
  one.entries().every(([name, quantity]) => {
    const same = other.get(name);
    return same !== undefined && compareQuantities(quantity, same) === 0;
  });

const equalTexts = (
  one: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>> | undefined,
): boolean => other !== undefined && equal(quantitiesOf(one), quantitiesOf(other));
