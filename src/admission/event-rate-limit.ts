/**
 * EventRateLimit: refuses events beyond a rate, for the server, a namespace, a user, or a source and its object. Source of
 * rules and texts: the answers of kube-apiserver.
 */
import type { Event } from "#api/core/v1.ts";
import { aggregate } from "#meta/field-error.ts";
import { tooManyRequests } from "#meta/status-error.ts";
import type { Clock } from "#std/clock.ts";
import type { AdmissionAttributes, AdmissionPlugin } from "./plugin.ts";

export type EventLimitType = keyof typeof keys;

export interface EventLimit {
  readonly type: EventLimitType;
  /** Events a second in the long run. */
  readonly qps: number;
  /** Events at once. */
  readonly burst: number;
  /** The number of keys that are remembered; beyond it the one that was used least recently is forgotten. */
  readonly cacheSize: number;
}

const keys = {
  Server: () => "",
  Namespace: ({ namespace }: AdmissionAttributes) => namespace,
  User: ({ context }: AdmissionAttributes) => context.user.name,
  SourceAndObject({ object }: AdmissionAttributes) {
    const { source, involvedObject: about } = object as Event; // of the kind
    const parts = [source.component, source.host, about.kind, about.namespace, about.name, about.uid, about.apiVersion];
    return parts.map((part) => part ?? "").join("");
  },
};

export const eventLimitTypes = Object.keys(keys).toSorted() as readonly EventLimitType[]; // its keys

export function eventRateLimit(limits: readonly EventLimit[], clock: Clock): AdmissionPlugin {
  const limiters = limits.map((limit) => new KeyLimiter(limit));
  return {
    name: "EventRateLimit",
    operations: ["CREATE", "UPDATE"],
    validate(attributes) {
      // Upstream: events of the group events.k8s.io are not limited.
      const { kind } = attributes;
      if (kind.kind !== "Event" || kind.group !== "" || attributes.dryRun) return;
      const nowMs = clock.monotonic();
      // Each limit counts the event, also when another one refuses it.
      const refusals = limiters.flatMap((limiter) => limiter.take(attributes, nowMs));
      if (refusals.length > 0) throw tooManyRequests(`Too many requests: ${aggregate(refusals)}`);
    },
  };
}

/** A bucket of tokens that fills at a constant rate. */
interface Bucket {
  tokens: number;
  filledAtMs: number;
}

class KeyLimiter {
  readonly #limit: EventLimit;
  /** The buckets by key; the one that was used least recently comes first. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(limit: EventLimit) {
    this.#limit = limit;
  }

  /** Takes a token; returns a text when there is none. */
  take(attributes: AdmissionAttributes, nowMs: number): readonly string[] {
    const { type, qps, burst } = this.#limit;
    const key = keys[type](attributes);
    const bucket = this.#bucketOf(key, nowMs);
    bucket.tokens = Math.min(burst, bucket.tokens + ((nowMs - bucket.filledAtMs) / 1000) * qps);
    bucket.filledAtMs = nowMs;
    if (bucket.tokens < 1) return [`limit reached on type ${type} for key ${key}`];
    bucket.tokens -= 1;
    return [];
  }

  #bucketOf(key: string, nowMs: number): Bucket {
    const bucket = this.#buckets.get(key) ?? { tokens: this.#limit.burst, filledAtMs: nowMs };
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    if (this.#buckets.size > this.#limit.cacheSize) this.#buckets.delete(this.#buckets.keys().next().value!); // not empty
    return bucket;
  }
}
