/**
 * Calls webhooks within three limits of time: that of the webhook, that of all admission of a write, and that of the
 * request. Source: upstream's `admission/plugin/webhook`.
 */
import type { WebhookClientConfig } from "#api/admissionregistration/v1.ts";
import type { CallProblem } from "#egress/connection-problem.ts";
import { type WebhookCall, WebhookCallError } from "#egress/webhook-call.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { goQuote } from "#meta/field-error.ts";
import { qualifiedName } from "#meta/names.ts";
import type { RequestContext } from "#meta/request-context.ts";
import { internalError } from "#meta/status-error.ts";
import type { Clock } from "#std/clock.ts";
import { printGoDuration } from "#std/go-duration.ts";
import type { Random } from "#std/random.ts";
import type { Span } from "#std/tracer.ts";
import { admissionRequest } from "../admission-request.ts";
import type { Matched } from "../matching.ts";
import { type AdmissionAttributes, objectName } from "../plugin.ts";
import type { AttemptOutcome } from "./circuit-breaker.ts";
import { noDryRun, rejection } from "./rejection.ts";
import { ReviewError } from "./answer-members.ts";
import { readAnswer, type ReviewAnswer, reviewBody, type ReviewObjects, reviewVersions } from "./review.ts";
import type { Webhook } from "./webhook.ts";

/** Observes the outcome of calls, for metrics. Codes are those of HTTP; 0 when the server itself failed. */
export interface WebhookObserver {
  called(call: ObservedCall): void;
  /** Called when a webhook was left out because it did not answer before. */
  skipped(call: Pick<ObservedCall, "webhook" | "type">): void;
  /** Called when the conditions of a webhook were evaluated. */
  conditions(asked: ObservedConditions): void;
}

export interface ObservedCall {
  readonly webhook: Webhook;
  readonly type: WebhookType;
  readonly operation: string;
  readonly seconds: number;
  readonly outcome: "allowed" | "denied" | "ignored" | "failed" | "internal";
  readonly code: number;
  /** The kind of the problem of a call that failed, also when that was ignored. */
  readonly problem?: CallProblem;
}

interface ObservedConditions extends Pick<ObservedCall, "webhook" | "type" | "operation" | "seconds"> {
  /** Whether a condition has no value. */
  readonly hasFailed: boolean;
  /** Whether the webhook is left out. */
  readonly isExcluded: boolean;
}

/** Upstream's names of the phases in metrics. */
export type WebhookType = "admit" | "validating";

export interface CallerOptions {
  readonly domain: ApiDomain;
  readonly clock: Clock;
  readonly random: Random;
  /** The time limit of all calls for one write together; 0: only that of the request. */
  readonly admissionTimeoutMs: number;
  readonly observer: WebhookObserver;
  /** Sends a call. Rejects with a `WebhookCallError`. */
  post(type: WebhookType, config: WebhookClientConfig, call: WebhookCall): Promise<Readonly<Record<string, unknown>>>;
  /** Called when a webhook failed, and its failure was ignored. */
  failedOpen(webhook: string, error: Error): void;
}

/** A write in the form that one webhook sees. */
export interface ReviewedWrite extends ReviewObjects {
  readonly attributes: AdmissionAttributes;
  /** The form of the objects. */
  readonly matched: Matched;
}

/** The maximum number of bytes of an answer: a patch that replaces the largest object, with room for its encoding. */
const answerBytesMax = 8 * 2 ** 20;

/** The error of a webhook that could not be called, or gave no valid answer: its failure policy decides. */
class CallFailure extends Error {
  /** The code that metrics show. */
  readonly code: number;
  readonly problem: CallProblem;

  constructor(webhook: string, reason: string, code = 503, problem: CallProblem = "answer") {
    super(`failed calling webhook ${goQuote(webhook)}: ${reason}`);
    this.code = code;
    this.problem = problem;
  }
}

export class WebhookCaller {
  readonly #options: CallerOptions;
  readonly #type: WebhookType;
  readonly #starts: AdmissionStarts;

  constructor(options: CallerOptions, type: WebhookType, starts: AdmissionStarts) {
    this.#options = options;
    this.#type = type;
    this.#starts = starts;
  }

  /**
   * Returns the answer that allows the request; `undefined` when the webhook could not be called and that is ignored.
   * Rejects with a `StatusError` when the request is refused.
   */
  async ask(webhook: Webhook, question: ReviewedWrite): Promise<ReviewAnswer | undefined> {
    const { clock, observer, failedOpen } = this.#options;
    const { attributes } = question;
    const { context, operation } = attributes;
    if (attributes.dryRun && !webhook.allowsDryRun) throw noDryRun(webhook.name);
    const attempt = webhook.breaker === undefined ? noBreaker : webhook.breaker.attempt();
    if (attempt === undefined) {
      observer.skipped({ webhook, type: this.#type });
      return undefined;
    }
    const startedMs = clock.monotonic();
    const observe = (outcome: ObservedCall["outcome"], code: number, problem?: CallProblem): void => {
      const ms = clock.monotonic() - startedMs;
      context.webhookTook?.(ms, this.#type === "admit");
      observer.called({
        webhook,
        type: this.#type,
        operation,
        seconds: ms / 1000,
        outcome,
        code,
        ...(problem === undefined ? {} : { problem }),
      });
    };
    let answer: ReviewAnswer;
    try {
      answer = await this.#answer(webhook, question, attempt);
    } catch (error) {
      // A request that has ended meanwhile is not allowed, whatever the policy is.
      context.signal?.throwIfAborted();
      if (!(error instanceof CallFailure)) {
        observe("internal", 0);
        throw error;
      }
      observe(webhook.ignoresFailure ? "ignored" : "failed", error.code, error.problem);
      if (!webhook.ignoresFailure) throw internalError(error.message);
      failedOpen(webhook.name, error);
      return undefined;
    }
    this.#pass(webhook, context, answer);
    if (answer.allowed) {
      observe("allowed", 200);
      return answer;
    }
    const error = rejection(webhook.name, answer.status);
    observe("denied", error.status.code);
    throw error;
  }

  /** Passes on annotations and warnings, of refusals too. */
  #pass({ name }: Webhook, context: RequestContext, { auditAnnotations, warnings }: ReviewAnswer): void {
    for (const [key, value] of Object.entries(auditAnnotations)) {
      const full = `${name}/${key}`;
      if (qualifiedName(full).length === 0) context.annotate(full, value);
    }
    // Upstream leaves out texts that a header cannot contain.
    for (const text of warnings) if (text !== "" && !/\p{Cc}/u.test(text)) context.warn(text, "admission");
  }

  async #answer(
    webhook: Webhook,
    question: ReviewedWrite,
    attempt: (outcome: AttemptOutcome) => void,
  ): Promise<ReviewAnswer> {
    const { domain, random, post } = this.#options;
    const { name, version, clientConfig } = webhook;
    const { attributes, matched } = question;
    const uid = random.uuid();
    let outcome: AttemptOutcome = "none";
    let review: Readonly<Record<string, unknown>>;
    try {
      if (version === undefined) {
        const versionList = reviewVersions.join(", ");
        throw new CallFailure(name, `webhook does not accept known AdmissionReview versions (${versionList})`);
      }
      const timeoutMs = this.#timeLeft(webhook, attributes);
      const body = reviewBody(admissionRequest(attributes, matched, uid), question, version, domain);
      const { signal } = attributes.context;
      const span = this.#startSpan(webhook, attributes, uid);
      const traceparent = span?.traceparent;
      try {
        review = await post(this.#type, clientConfig, { body, timeoutMs, answerBytesMax, signal, traceparent });
        outcome = "answered";
      } catch (error) {
        span?.fail();
        if (!(error instanceof WebhookCallError)) throw error;
        // A request with little time left says nothing about the webhook.
        if (signal?.aborted !== true && !(error.isTimeout && timeoutMs < this.#patienceMs(webhook))) {
          outcome = error.isTimeout ? "timeout" : "answered";
        }
        const failed = error.isUncallable ? "could not get REST client" : "failed to call webhook";
        throw new CallFailure(name, `${failed}: ${error.message}`, error.code, error.problem);
      } finally {
        span?.end();
      }
    } finally {
      attempt(outcome);
    }
    try {
      return readAnswer(review, { uid, version, isMutating: this.#type === "admit", domain });
    } catch (error) {
      throw error instanceof ReviewError ? new CallFailure(name, error.message) : error;
    }
  }

  /** Starts the span of a call, if the request is traced. Source: upstream's `admission/plugin/webhook`. */
  #startSpan({ configuration, name }: Webhook, attributes: AdmissionAttributes, uid: string): Span | undefined {
    const { context, operation, subresource } = attributes;
    if (context.span === undefined) return undefined;
    const { group, version, resource } = attributes.resource;
    return context.span.start(
      this.#type === "admit" ? "Call mutating webhook" : "Call validating webhook",
      {
        configuration,
        webhook: name,
        resource: `${group}/${version}, Resource=${resource}`,
        subresource,
        operation,
        UID: uid,
      },
      "client",
    );
  }

  /**
   * Returns the time in milliseconds after which a webhook counts as one that does not answer: half of its own timeout
   * at most.
   */
  #patienceMs({ timeoutMs }: Webhook): number {
    const { admissionTimeoutMs } = this.#options;
    return (admissionTimeoutMs === 0 ? timeoutMs : Math.min(timeoutMs, admissionTimeoutMs)) / 2;
  }

  /** Returns the milliseconds that a call may take. */
  #timeLeft({ name, timeoutMs }: Webhook, attributes: AdmissionAttributes): number {
    const { clock, admissionTimeoutMs } = this.#options;
    const ofRequestMs = attributes.context.deadlineMs - clock.now();
    if (admissionTimeoutMs === 0) return Math.min(timeoutMs, ofRequestMs);
    const nowMs = clock.monotonic();
    const leftMs = this.#starts.since(attributes, nowMs) + admissionTimeoutMs - nowMs;
    if (leftMs <= 0) {
      throw new CallFailure(
        name,
        `the webhooks of this write have used up their ${printGoDuration(admissionTimeoutMs)}`,
        503,
        "timeout",
      );
    }
    return Math.min(timeoutMs, ofRequestMs, leftMs);
  }
}

const noBreaker = (): void => undefined;

/** The times at which admission of each write began to wait for webhooks, in both of its phases. */
export class AdmissionStarts {
  /** The times by object, since a request may delete many. */
  readonly #byRequest = new WeakMap<RequestContext, Map<string, number>>();

  /** Returns the start of a write's wait, which is `nowMs` for its first webhook. */
  since(attributes: AdmissionAttributes, nowMs: number): number {
    const { context, namespace } = attributes;
    let started = this.#byRequest.get(context);
    if (started === undefined) {
      started = new Map();
      this.#byRequest.set(context, started);
    }
    const key = `${namespace}/${objectName(attributes)}`;
    const startMs = started.get(key);
    if (startMs === undefined) started.set(key, nowMs);
    return startMs ?? nowMs;
  }
}
