/**
 * Checks a write against the quotas of its namespace: computes the charge, or refuses the write with the reason. Source
 * of rules and texts: the answers of kube-apiserver.
 */
import type { ResourceQuota, ScopedResourceSelectorRequirement } from "#api/core/v1.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { addQuantities, compareQuantities, type Quantity } from "#meta/quantity.ts";
import { type AdmissionAttributes, refusal } from "../plugin.ts";
import {
  addTo,
  difference,
  pickQuantities,
  printQuantities,
  type Quantities,
  quantitiesOf,
  textsOf,
  without,
  zero,
} from "../quantities.ts";
import type { Evaluator } from "./evaluator.ts";

/** A resource that may only be used where a quota allows it, as the plugin's configuration says. */
export interface LimitedResource {
  readonly apiGroup: string;
  readonly resource: string;
  /** Resource names of the usage that contain one of these texts are limited. */
  readonly matchContains: readonly string[];
  /** Objects in one of these scopes are limited. */
  readonly matchScopes: readonly ScopedResourceSelectorRequirement[];
}

/** The scopes that the objects of a quota must be in, from either field. */
export const scopesOf = ({ spec }: ResourceQuota): readonly ScopedResourceSelectorRequirement[] => [
  ...(spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: "Exists" })),
  ...(spec.scopeSelector?.matchExpressions ?? []),
];

/** A quota, with the amounts that have been charged since it was stored. */
export class QuotaState {
  readonly quota: ResourceQuota;
  readonly hard: Quantities;
  readonly used: Map<string, Quantity>;
  readonly scopes: readonly ScopedResourceSelectorRequirement[];
  readonly #namesOf = new Map<Evaluator, readonly string[]>();
  /** The amounts of evaluators whose objects all use the same. */
  readonly #amountsOf = new Map<Evaluator, Quantities>();

  constructor(quota: ResourceQuota) {
    this.quota = quota;
    this.hard = quantitiesOf(quota.status.hard);
    this.used = quantitiesOf(quota.status.used);
    this.scopes = scopesOf(quota);
  }

  get name(): string {
    return this.quota.metadata.name ?? "";
  }

  get uid(): string {
    return this.quota.metadata.uid ?? "";
  }

  /** Whether the quota limits objects of a resource. A limit is in force once the status of the quota has it, too. */
  isAbout(evaluator: Evaluator): boolean {
    return Object.keys(this.quota.spec.hard ?? {}).some((name) => evaluator.counts(name));
  }

  /** The names of limits in force for an evaluator's objects, sorted. */
  namesOf(evaluator: Evaluator): readonly string[] {
    let names = this.#namesOf.get(evaluator);
    if (names === undefined) {
      names = [...this.hard.keys()].filter((name) => evaluator.counts(name)).sort();
      this.#namesOf.set(evaluator, names);
    }
    return names;
  }

  /** Returns the amounts of a write that the quota limits. */
  amountOf({ evaluator, delta }: UsageRequest): Quantities {
    const constantAmounts = evaluator.isConstant === true ? this.#amountsOf.get(evaluator) : undefined;
    if (constantAmounts !== undefined) return constantAmounts;
    const amount = pickQuantities(delta, (name, { unscaled }) => unscaled > 0n && this.hard.has(name));
    if (evaluator.isConstant === true) this.#amountsOf.set(evaluator, amount);
    return amount;
  }

  charge(amount: Quantities): void {
    addTo(this.used, amount);
  }

  /** The quota, with all charges added to its status. */
  get charged(): ResourceQuota {
    return { ...this.quota, status: { ...this.quota.status, used: textsOf(this.used) } };
  }
}

/** A write that may use more of a quota. */
export class UsageRequest {
  readonly attributes: AdmissionAttributes;
  readonly evaluator: Evaluator;
  #usage: Quantities | undefined;
  #delta: Quantities | undefined;

  constructor(attributes: AdmissionAttributes, evaluator: Evaluator) {
    this.attributes = attributes;
    this.evaluator = evaluator;
  }

  get object(): ApiObject {
    return this.attributes.object!; // creates and updates have one
  }

  /** The quantities that the object will use. */
  get usage(): Quantities {
    return (this.#usage ??= this.evaluator.usage(() => this.object));
  }

  /** The difference to the usage before the write, without quantities that stay the same. */
  get delta(): Quantities {
    return (this.#delta ??= without(this.#difference(), ({ unscaled }) => unscaled === 0n));
  }

  #difference(): Quantities {
    const { operation } = this.attributes;
    if (operation !== "UPDATE") return this.usage;
    return difference(
      this.usage,
      this.evaluator.usage(() => this.attributes.oldObject!), // an update has one
    );
  }

  isIn(scope: ScopedResourceSelectorRequirement): boolean {
    return this.evaluator.isInScope?.(this.object, scope) === true;
  }

  refuse(reason: string): never {
    throw refusal(this.attributes, reason);
  }
}

/** A quota, and the amounts that are charged to it. */
export interface Charge {
  readonly to: QuotaState;
  readonly amount: Quantities;
}

const nobody: ReadonlySet<string> = new Set();

/** Returns the charges of a write, or throws the refusal. Quotas of `charged`, by uid, have the charge already. */
export function chargesOf(
  request: UsageRequest,
  quotas: readonly QuotaState[],
  limited: readonly LimitedResource[],
  charged: ReadonlySet<string> = nobody,
): readonly Charge[] {
  const matching = quotas.filter((quota) => matches(request, quota));
  for (const quota of matching) checkStatus(request, quota);
  checkSigns(request);
  if (request.delta.size === 0) return [];
  if (limited.length > 0) checkCovered(request, quotas, matching, limited);
  const charges: Charge[] = [];
  for (const to of matching) {
    if (charged.has(to.uid)) continue;
    const amount = to.amountOf(request);
    checkRoom(request, to, amount);
    if (amount.size > 0) charges.push({ to, amount });
  }
  return charges;
}

/** Whether a quota applies to a write; it does once its status has the names of its limits. */
function matches(request: UsageRequest, quota: QuotaState): boolean {
  return quota.namesOf(request.evaluator).length > 0 && quota.scopes.every((scope) => request.isIn(scope));
}

function checkStatus(request: UsageRequest, quota: QuotaState): void {
  const { name, used } = quota;
  const counted = quota.namesOf(request.evaluator);
  const problem = request.evaluator.missing?.(request.object, counted) ?? "";
  if (problem !== "") request.refuse(`failed quota: ${name}: ${problem}`);
  if (counted.every((one) => used.has(one))) return;
  request.refuse(`status unknown for quota: ${name}, resources: ${counted.join(",")}`);
}

function checkSigns(request: UsageRequest): void {
  const negative: string[] = [];
  for (const [name, { unscaled }] of request.usage) if (unscaled < 0n) negative.push(name);
  if (negative.length > 0) request.refuse(`quota usage is negative for resource(s): ${negative.sort().join(",")}`);
}

/** Checks that a write which is only allowed under a quota has one, for each resource name and for each scope. */
function checkCovered(
  request: UsageRequest,
  quotas: readonly QuotaState[],
  matching: readonly QuotaState[],
  limited: readonly LimitedResource[],
): void {
  const { group, resource } = request.evaluator;
  const own = limited.filter((one) => one.apiGroup === group && one.resource === resource);
  const wanted = [...request.usage.keys()].filter((name) =>
    own.some(({ matchContains }) => matchContains.some((part) => name.includes(part))),
  );
  const uncovered = wanted.filter((name) => !matching.some(({ hard }) => hard.has(name))).sort();
  if (uncovered.length > 0) request.refuse(`insufficient quota to consume: ${uncovered.join(",")}`);
  const inScope = own.flatMap(({ matchScopes }) => matchScopes).filter((scope) => request.isIn(scope));
  const covered = new Set(
    quotas.flatMap(({ scopes }) => scopes.filter((scope) => request.isIn(scope)).map(({ scopeName }) => scopeName)),
  );
  const open = inScope.filter(({ scopeName }) => !covered.has(scopeName));
  if (open.length === 0) return;
  const texts = open.map(({ scopeName, operator, values = [] }) => `{${scopeName} ${operator} [${values.join(" ")}]}`);
  request.refuse(`insufficient quota to match these scopes: [${texts.join(" ")}]`);
}

function checkRoom(request: UsageRequest, { name, hard, used }: QuotaState, amount: Quantities): void {
  const exceeded: string[] = [];
  for (const [one, more] of amount) {
    const sum = addQuantities(used.get(one) ?? zero, more);
    if (compareQuantities(sum, hard.get(one)!) > 0) exceeded.push(one); // `amount` has names of `hard` only
  }
  if (exceeded.length === 0) return;
  const of = (all: Quantities): string => printQuantities(pickQuantities(all, (one) => exceeded.includes(one)));
  request.refuse(`exceeded quota: ${name}, requested: ${of(amount)}, used: ${of(used)}, limited: ${of(hard)}`);
}
