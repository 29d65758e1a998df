/**
 * ImagePolicyWebhook: sends the images of a pod to a webhook in an ImageReview. Answers are cached; equal requests in
 * progress share a call. When the webhook fails, the configuration decides. Source: upstream's plugin of this name.
 */
import { hash } from "node:crypto";
import { initialContainers } from "#api/core/containers.ts";
import type { Pod } from "#api/core/v1.ts";
import type { ImageReviewSpec, ImageReviewStatus } from "#api/imagepolicy/v1alpha1.ts";
import type { Outgoing } from "#egress/outgoing-https.ts";
import { answerObject, askWebhook } from "#egress/webhook-question.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { qualifiedName } from "#meta/names.ts";
import type { Clock } from "#std/clock.ts";
import { ExpiringCache } from "#std/expiring-cache.ts";
import { isObject } from "#std/is-object.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Random } from "#std/random.ts";
import { type AdmissionAttributes, type AdmissionPlugin, isPods, refusal } from "./plugin.ts";

export interface ImagePolicyOptions {
  readonly domain: ApiDomain;
  readonly url: string;
  /** Headers with the credentials for the webhook. */
  readonly headers: Readonly<Record<string, string>>;
  readonly outgoing: Outgoing;
  /** The time for which answers are cached; 0 caches none. */
  readonly allowTtlMs: number;
  readonly denyTtlMs: number;
  /** The pause before the second call; each further pause is 1.5 times as long as the one before. */
  readonly retryBackoffMs: number;
  /** Whether a pod is allowed when there is no answer. */
  readonly defaultAllow: boolean;
  readonly clock: Clock;
  readonly random: Random;
  /** Called when the webhook gave no answer. */
  failed(error: unknown): void;
}

/** The maximum number of answers in each of the cache's two generations; upstream's cache holds 1024 answers. */
const answersMax = 512;
const timeoutMs = 30_000;
const answerBytesMax = 64 * 1024;
/** The maximum number of different questions that wait for the webhook; further ones count as not answered. */
const callsMax = 1000;

/** Makes the plugin; `close` aborts its calls and closes the connections. */
export function imagePolicyWebhook(options: ImagePolicyOptions): AdmissionPlugin & { close(): void } {
  const reviews = new ImageReviews(options);
  return {
    name: "ImagePolicyWebhook",
    operations: ["CREATE", "UPDATE"],
    validate: (attributes) => (hasImages(attributes) ? reviews.check(attributes) : undefined),
    close: () => reviews.close(),
  };
}

function hasImages({ resource, subresource }: AdmissionAttributes): boolean {
  return isPods(resource) && (subresource === "" || subresource === "ephemeralcontainers");
}

class ImageReviews {
  readonly #options: ImagePolicyOptions;
  readonly #answers = new ExpiringCache<ImageReviewStatus>(answersMax);
  readonly #calls = new Map<string, Promise<ImageReviewStatus>>();
  readonly #closing = new AbortController();
  readonly #ownAnnotations: string;
  readonly #auditPrefix: string;
  readonly #apiVersion: string;

  constructor(options: ImagePolicyOptions) {
    this.#options = options;
    const { rename } = options.domain;
    this.#ownAnnotations = rename(".image-policy.k8s.io/");
    this.#auditPrefix = rename("imagepolicywebhook.image-policy.k8s.io/");
    this.#apiVersion = rename("imagepolicy.k8s.io/v1alpha1");
  }

  check(attributes: AdmissionAttributes): MaybePromise<void> {
    const spec = this.#specOf(attributes);
    const key = hash("sha256", JSON.stringify(spec), "latin1");
    const cached = this.#answers.get(key, this.#options.clock.monotonic());
    return cached === undefined ? this.#wait(attributes, this.#ask(key, spec)) : this.#decide(attributes, cached);
  }

  close(): void {
    this.#closing.abort();
    this.#options.outgoing.close();
  }

  #specOf(attributes: AdmissionAttributes): ImageReviewSpec {
    const { metadata, spec } = attributes.object as Pod; // the resource says so
    const containers = attributes.subresource === "" ? initialContainers(spec) : (spec.ephemeralContainers ?? []);
    const annotations = Object.entries(metadata.annotations ?? {})
      .filter(([key]) => key.includes(this.#ownAnnotations))
      .sort(([a], [b]) => (a < b ? -1 : 1));
    return {
      ...(containers.length === 0
        ? {}
        : { containers: containers.map(({ image = "" }) => (image === "" ? {} : { image })) }),
      ...(annotations.length === 0 ? {} : { annotations: Object.fromEntries(annotations) }),
      namespace: attributes.namespace,
    };
  }

  #ask(key: string, spec: ImageReviewSpec): Promise<ImageReviewStatus> {
    const inProgress = this.#calls.get(key);
    if (inProgress !== undefined) return inProgress;
    if (this.#calls.size >= callsMax) return Promise.reject(new Error("too many questions wait for the webhook"));
    const call = this.#review(key, spec).finally(() => this.#calls.delete(key));
    this.#calls.set(key, call);
    return call;
  }

  async #review(key: string, spec: ImageReviewSpec): Promise<ImageReviewStatus> {
    const { allowTtlMs, denyTtlMs, retryBackoffMs, clock, failed } = this.#options;
    const review = {
      kind: "ImageReview",
      apiVersion: this.#apiVersion,
      metadata: { creationTimestamp: null },
      spec,
      status: { allowed: false },
    };
    try {
      const answer = await askWebhook({
        ...this.#options,
        body: Buffer.from(JSON.stringify(review)),
        timeoutMs,
        answerBytesMax,
        firstPauseMs: retryBackoffMs,
        complaint: "Error contacting webhook:",
        signal: this.#closing.signal,
      });
      const status = statusOf(answer);
      const ttlMs = status.allowed ? allowTtlMs : denyTtlMs;
      if (ttlMs > 0) this.#answers.set(key, status, clock.monotonic() + ttlMs);
      return status;
    } catch (error) {
      if (!this.#closing.signal.aborted) failed(error);
      throw error;
    }
  }

  async #wait(attributes: AdmissionAttributes, call: Promise<ImageReviewStatus>): Promise<void> {
    const { signal } = attributes.context;
    let status: ImageReviewStatus;
    try {
      status = await unlessAborted(call, signal);
    } catch (error) {
      // `defaultAllow` does not hold for a request that has ended.
      if (signal?.aborted === true) throw error;
      if (!this.#options.defaultAllow) {
        throw refusal(attributes, error instanceof Error ? error.message : String(error));
      }
      attributes.context.annotate(`${this.#auditPrefix}failed-open`, "true");
      return;
    }
    this.#decide(attributes, status);
  }

  #decide(attributes: AdmissionAttributes, { allowed, reason = "", auditAnnotations = {} }: ImageReviewStatus): void {
    for (const [key, value] of Object.entries(auditAnnotations)) {
      const name = this.#auditPrefix + key;
      if (qualifiedName(name).length === 0) attributes.context.annotate(name, value);
    }
    if (allowed) return;
    throw refusal(
      attributes,
      reason === ""
        ? "one or more images rejected by webhook backend"
        : `image policy webhook backend denied one or more images: ${reason}`,
    );
  }
}

/** Waits for the result of `call`. The signal ends only this wait; other requests still get the result. */
function unlessAborted<T>(call: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return call;
  return new Promise((resolve, reject) => {
    const end = (): void => reject(signal.reason as Error); // a request is aborted with an error
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    call.then(resolve, reject).finally(() => signal.removeEventListener("abort", end));
  });
}

/** Reads the status of a review; a review without a status allows nothing. Throws for a body that is no review. */
function statusOf(body: Buffer): ImageReviewStatus {
  const { kind = "ImageReview", status = {} } = answerObject(body) ?? { kind: "" };
  if (kind !== "ImageReview" || !isObject(status)) throw new Error("the webhook's answer is no ImageReview");
  const { allowed = false, reason = "", auditAnnotations } = status;
  const annotations = auditAnnotations ?? {};
  if (
    typeof allowed !== "boolean" ||
    typeof reason !== "string" ||
    !isObject(annotations) ||
    !Object.values(annotations).every((value) => typeof value === "string")
  ) {
    throw new Error("the webhook's answer is no ImageReview");
  }
  return { allowed, reason, auditAnnotations: annotations as Readonly<Record<string, string>> }; // checked above
}
