/** Quota usage of objects by resource, and the kind of object behind each resource name of a quota. */
import { reviews } from "#api/reviews.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Clock } from "#std/clock.ts";
import { countedResource, countEvaluator, type Evaluator, type GroupResource } from "./evaluator.ts";
import { claimEvaluator, deviceClaimEvaluator, serviceEvaluator } from "./object-usage.ts";
import { podEvaluator } from "./pod-usage.ts";

export interface UsageOptions {
  readonly domain: ApiDomain;
  readonly clock: Clock;
  /** Whether claims for devices are evaluated, and not only counted. */
  readonly hasDevices: boolean;
}

/** The maximum number of evaluators in the cache. */
const countingMax = 10_000;

const keyOf = ({ group, resource }: GroupResource): string => `${resource}.${group}`;

/** Resources that are never counted: events, and those that are not stored. */
const uncounted: readonly GroupResource[] = [
  { group: "", resource: "events" },
  { group: "events.k8s.io", resource: "events" },
  { group: "", resource: "bindings" },
  { group: "", resource: "componentstatuses" },
  ...reviews,
];

export class UsageEvaluators {
  readonly #special: readonly Evaluator[];
  readonly #evaluators = new Map<string, Evaluator | undefined>();
  /** Evaluators that only count objects, by resource. */
  readonly #counting = new Map<string, Evaluator>();

  constructor({ domain, clock, hasDevices }: UsageOptions) {
    this.#special = [
      podEvaluator({ domain, clock }),
      serviceEvaluator(),
      claimEvaluator(domain),
      ...(hasDevices ? [deviceClaimEvaluator(domain)] : []),
    ];
    for (const evaluator of this.#special) this.#evaluators.set(keyOf(evaluator), evaluator);
    for (const { group, resource } of uncounted) {
      this.#evaluators.set(keyOf({ group: domain.rename(group), resource }), undefined);
    }
  }

  /** Returns the evaluator of a resource; `undefined` for a resource that is not counted. */
  of(resource: GroupResource): Evaluator | undefined {
    const key = keyOf(resource);
    const cached = this.#evaluators.get(key);
    return cached !== undefined || this.#evaluators.has(key) ? cached : this.#countingOnly(key, resource);
  }

  #countingOnly(key: string, resource: GroupResource): Evaluator {
    let evaluator = this.#counting.get(key);
    if (evaluator === undefined) {
      // Kinds come and go, and quotas may contain any names, so the cache is bounded.
      if (this.#counting.size >= countingMax) this.#counting.clear();
      this.#counting.set(key, (evaluator = countEvaluator(resource)));
    }
    return evaluator;
  }

  /** Returns the evaluator that a name in a quota is about. */
  counting(name: string): Evaluator | undefined {
    const special = this.#special.find((evaluator) => evaluator.counts(name));
    if (special !== undefined) return special;
    const resource = countedResource(name);
    return resource === undefined ? undefined : this.of(resource);
  }
}
