/**
 * The quotas of all namespaces: charges writes to them in batches, and recounts usage. Only one batch or recount of a
 * namespace runs at a time, so no charge is lost, and a recount knows which writes it may not see yet. In a namespace
 * without quotas, a write costs one map look-up.
 */
import type { ResourceQuota } from "#api/core/v1.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { RequestContext } from "#meta/request-context.ts";
import { LinkedList } from "#std/linked-list.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { conflict, StatusError } from "#meta/status-error.ts";
import type { AdmissionAttributes } from "./plugin.ts";
import { NamespaceIndex } from "./namespace-index.ts";
import { type Charge, chargesOf, type LimitedResource, QuotaState, UsageRequest } from "./quota/check.ts";
import type { GroupResource } from "./quota/evaluator.ts";
import { type Measurement, measure } from "./quota/measure.ts";
import { printQuantities } from "./quantities.ts";
import { UsageEvaluators, type UsageOptions } from "./quota/usage.ts";

export type { LimitedResource } from "./quota/check.ts";
export type { Measurement } from "./quota/measure.ts";

interface QuotasOptions extends UsageOptions {
  /** Returns the present revision of the store. */
  revision(): number;
  /** Resolves when `set` has been called with the newest version of a quota. */
  caughtUp(namespace: string, name: string): MaybePromise<void>;
  /**
   * Resolves after a moment in which other servers may charge the same quotas; left out: there are none. Without such
   * moments the server that is nearest to the store would be first each time.
   */
  giveWay?: (() => Promise<void>) | undefined;
}

export interface ChargeOptions {
  readonly limited: readonly LimitedResource[];
  /** Replaces the status of a quota. Rejects with 409 when another version of it is stored, with 404 when none is. */
  write(quota: ResourceQuota): Promise<unknown>;
}

/** A write whose outcome is not known yet. */
interface Flight {
  readonly request: UsageRequest;
  /** The state of the charge; `free`: no quota has to be charged. */
  state: "waiting" | "charged" | "free";
}

interface Waiting {
  readonly flight: Flight;
  readonly options: ChargeOptions;
  /** Quotas that have been charged, by uid. */
  readonly charged: Set<string>;
  isOver: boolean;
  resolve(): void;
  reject(error: unknown): void;
}

/** The result of charging the writes of a batch. */
interface Unsettled {
  /** The writes that are tried again. */
  readonly again: Set<Waiting>;
  readonly gone: Set<string>;
}

/**
 * The maximum number of attempts to charge a batch while other writers change the same quotas: clients alone, or other
 * servers, which charge them as often as this one.
 */
const triesMax = 10;
const sharedTriesMax = 100;

const changedMeanwhile = "the quota was updated by another client";

export class Quotas {
  readonly #index = new NamespaceIndex<QuotaState>();
  readonly #evaluators: UsageEvaluators;
  readonly #revision: () => number;
  readonly #caughtUp: QuotasOptions["caughtUp"];
  readonly #giveWay: QuotasOptions["giveWay"];
  /** The end of the last batch of each namespace. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #flights = new Map<string, LinkedList<Flight>>();
  /** Requests that already have a flight. */
  readonly #seen = new WeakSet<RequestContext>();
  #overcharged: (namespace: string) => void = () => undefined;

  constructor(options: QuotasOptions) {
    this.#evaluators = new UsageEvaluators(options);
    this.#revision = () => options.revision();
    this.#caughtUp = (namespace, name) => options.caughtUp(namespace, name);
    this.#giveWay = options.giveWay;
  }

  /** Sets a quota as it is stored; `undefined` when it is deleted. */
  set(namespace: string, name: string, quota: ResourceQuota | undefined): void {
    this.#index.set(namespace, name, quota && new QuotaState(quota));
  }

  clear(): void {
    this.#index.clear();
  }

  current(namespace: string, name: string): ResourceQuota | undefined {
    return this.#index.get(namespace, name)?.quota;
  }

  /** The resource that a name in a quota is about. */
  resourceOf(name: string): GroupResource | undefined {
    return this.#evaluators.counting(name);
  }

  /** Whether only the number of a resource's objects counts. */
  isConstant(resource: GroupResource): boolean {
    return this.#evaluators.of(resource)?.isConstant === true;
  }

  /** Returns the quantities that an object uses, as text. */
  useOf(resource: GroupResource, object: ApiObject): string {
    const evaluator = this.#evaluators.of(resource);
    if (evaluator === undefined) return "";
    const scope = evaluator.isInScope?.(object, { scopeName: "Terminating", operator: "Exists" }) === true ? "T" : "";
    return scope + printQuantities(evaluator.usage(() => object));
  }

  /** Sets the listener for namespaces whose quotas were charged for writes that were not stored. */
  onOvercharged(listener: (namespace: string) => void): void {
    this.#overcharged = listener;
  }

  /**
   * Charges the quotas for a write, or refuses it by throwing. Resolves when the quotas with the charge are stored;
   * returns at once when there is nothing to charge.
   */
  charge(attributes: AdmissionAttributes, options: ChargeOptions): MaybePromise<void> {
    const { namespace, resource, operation, subresource, dryRun, context } = attributes;
    const quotas = this.#index.of(namespace);
    if (quotas === undefined && options.limited.length === 0) return;
    const evaluator = this.#evaluators.of(resource);
    if (evaluator?.handles(operation, subresource) !== true) return;
    const request = new UsageRequest(attributes, evaluator);
    const charges = chargesOf(request, quotas ?? [], options.limited);
    if (dryRun || quotas?.some((quota) => quota.isAbout(evaluator)) !== true || request.delta.size === 0) return;
    const flight: Flight = { request, state: charges.length > 0 ? "waiting" : "free" };
    this.#begin(namespace, flight, context);
    if (charges.length > 0) return this.#enqueue(namespace, flight, options);
  }

  /** Begins to count the usage of a quota in its namespace; `undefined` when the quota is deleted. */
  measure(namespace: string, name: string): Promise<Measurement | undefined> {
    return this.alone(namespace, () => {
      const state = this.#index.get(namespace, name);
      if (state === undefined) return undefined;
      const flights = (this.#flights.get(namespace)?.members() ?? []).filter((flight) => flight.state !== "waiting");
      return measure(
        state.quota,
        this.#revision(),
        this.#evaluators,
        flights.map(({ request }) => request),
      );
    });
  }

  /** Runs work while nothing else writes to the quotas of a namespace. */
  alone<T>(namespace: string, work: () => MaybePromise<T>): Promise<T> {
    const before = this.#running.get(namespace) ?? Promise.resolve();
    const result = before.then(work);
    const over = result.then(
      () => undefined,
      () => undefined,
    );
    this.#running.set(namespace, over);
    void over.then(() => {
      if (this.#running.get(namespace) === over) this.#running.delete(namespace);
    });
    return result;
  }

  #begin(namespace: string, flight: Flight, context: RequestContext): void {
    if (context.whenDone === undefined) return;
    let flights = this.#flights.get(namespace);
    if (flights === undefined) this.#flights.set(namespace, (flights = new LinkedList()));
    const isFirst = !this.#seen.has(context);
    this.#seen.add(context);
    const node = flights.add(flight);
    context.whenDone((isWritten) => {
      flights.remove(node);
      if (flights.size === 0 && this.#flights.get(namespace) === flights) this.#flights.delete(namespace);
      // A write that is tried again is charged each time.
      if (flight.state === "charged" && (!isWritten || !isFirst)) this.#overcharged(namespace);
    });
  }

  #enqueue(namespace: string, flight: Flight, options: ChargeOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { flight, options, charged: new Set(), isOver: false, resolve, reject };
      const others = this.#waiting.get(namespace);
      if (others !== undefined) {
        others.push(waiting);
        return;
      }
      this.#waiting.set(namespace, [waiting]);
      void this.alone(namespace, () => this.#settleWaiting(namespace));
    });
  }

  /** Charges the waiting writes of a namespace. Never rejects. */
  async #settleWaiting(namespace: string): Promise<void> {
    const batch = this.#waiting.get(namespace) ?? [];
    this.#waiting.delete(namespace);
    try {
      await this.#settle(namespace, batch);
    } catch (error) {
      for (const waiting of batch) end(waiting, error);
    }
    await this.#giveWay?.();
  }

  /** Charges a batch. Each quota is written once. */
  async #settle(namespace: string, batch: readonly Waiting[]): Promise<void> {
    let remaining = batch;
    /** The quotas that were deleted meanwhile, by uid; they charge no write. */
    const gone = new Set<string>();
    for (let tries = 1; remaining.length > 0; tries++) {
      const payers = this.#check(namespace, remaining, gone);
      const again = new Set<Waiting>();
      const writes = [...payers].map(([state, own]) => this.#write(state, own, { again, gone }));
      await Promise.all(writes);
      for (const waiting of remaining) if (!again.has(waiting)) end(waiting);
      remaining = [...again].filter(({ isOver }) => !isOver);
      if (tries < (this.#giveWay === undefined ? triesMax : sharedTriesMax)) {
        if (remaining.length > 0) await this.#giveWay?.();
        continue;
      }
      for (const waiting of remaining) end(waiting, conflict(resourceQuotas, "", changedMeanwhile));
      return;
    }
  }

  /** Returns the writes that each quota is charged for. Refused writes are answered at once. */
  #check(namespace: string, batch: readonly Waiting[], gone: ReadonlySet<string>): Map<QuotaState, Waiting[]> {
    const quotas = this.#index.of(namespace) ?? [];
    const states = quotas.filter(({ uid }) => !gone.has(uid)).map(({ quota }) => new QuotaState(quota));
    const payers = new Map<QuotaState, Waiting[]>();
    for (const waiting of batch) {
      let charges: readonly Charge[];
      const { flight, options, charged } = waiting;
      try {
        flight.request.attributes.context.signal?.throwIfAborted();
        charges = chargesOf(flight.request, states, options.limited, charged);
      } catch (error) {
        end(waiting, error);
        continue;
      }
      for (const { to, amount } of charges) {
        to.charge(amount);
        const own = payers.get(to);
        if (own === undefined) payers.set(to, [waiting]);
        else own.push(waiting);
      }
    }
    return payers;
  }

  async #write(state: QuotaState, payers: readonly Waiting[], { again, gone }: Unsettled): Promise<void> {
    try {
      await payers[0]!.options.write(state.charged);
      for (const { charged } of payers) charged.add(state.uid);
    } catch (error) {
      const code = error instanceof StatusError ? error.status.code : 0;
      if (code === 409 || code === 404) {
        for (const waiting of payers) again.add(waiting);
        if (code === 404) gone.add(state.uid);
        else await this.#caughtUp(state.quota.metadata.namespace ?? "", state.name);
        return;
      }
      for (const waiting of payers) {
        // The charge may have been stored although the write of the quota failed.
        waiting.charged.add(state.uid);
        end(waiting, error);
      }
    }
  }
}

const resourceQuotas = { group: "", resource: "resourcequotas" };

/** Answers a write: refuses it with the error, or else marks it as charged. */
function end(waiting: Waiting, error?: unknown): void {
  if (waiting.isOver) return;
  const { flight, charged, resolve, reject } = waiting;
  waiting.isOver = true;
  if (error === undefined || charged.size > 0) flight.state = "charged";
  if (error === undefined) resolve();
  else reject(error);
}
