/**
 * The Webhook authorizer: sends a SubjectAccessReview. Allowed and refused answers have separate caches, so that a
 * flood of refusals does not evict allowed ones. Failures are not cached; the failure policy decides them. Source:
 * upstream's `plugin/pkg/authorizer/webhook`. Hot path: a cached decision needs one digest and no promise.
 */
import { hash } from "node:crypto";
import type { ResourceAttributes, SubjectAccessReviewSpec } from "#api/authorization/v1.ts";
import type { FieldSelectorRequirement, LabelSelectorRequirement } from "#api/meta/v1.ts";
import { type Outgoing, OutgoingError } from "#egress/outgoing-https.ts";
import { askWebhook, reviewStatus } from "#egress/webhook-question.ts";
import type { FieldRequirement, LabelRequirement } from "#meta/selector.ts";
import type { Clock } from "#std/clock.ts";
import { ExpiringCache } from "#std/expiring-cache.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Random } from "#std/random.ts";
import { type Attributes, type Authorizer, type Decision, noOpinion, type Verdict } from "./authorizer.ts";

export type FailurePolicy = "NoOpinion" | "Deny";

/**
 * Returns whether the webhook is called, given the question to it in the form of version v1. Throws when the condition
 * cannot be evaluated.
 */
export type MatchCondition = (spec: SubjectAccessReviewSpec) => boolean;

/** The outcome of a question, in upstream's words. */
type WebhookResult = "success" | "error" | "timeout" | "canceled";

export interface WebhookOptions {
  readonly name: string;
  readonly url: string;
  /** Headers with the credentials for the webhook. */
  readonly headers: Readonly<Record<string, string>>;
  readonly outgoing: Outgoing;
  /** The group of access reviews in the API domain. */
  readonly group: string;
  readonly version: "v1" | "v1beta1";
  /** The time for which answers are cached; 0 caches none. */
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
  /** The time limit of one question with all its retries. */
  readonly timeoutMs: number;
  readonly failurePolicy: FailurePolicy;
  readonly conditions: readonly MatchCondition[];
  /** Whether the webhook is told about selectors. */
  readonly selectors: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly observe: AuthorizationObserver;
}

export interface AuthorizationObserver {
  /** Called after each question, with or without an answer. */
  asked(result: WebhookResult, seconds: number): void;
  /** Called when there is no answer and other authorizers may decide. */
  failedOpen(result: WebhookResult): void;
  /** Called when match conditions were evaluated. */
  evaluated(seconds: number): void;
  /** Called when a condition was false. */
  excluded(): void;
  /** Called when a match condition could not be evaluated. */
  conditionFailed(): void;
  failed(error: unknown): void;
}

/** The maximum number of cached decisions of each kind. */
const keptMax = 8192;
const answerBytesMax = 1024 * 1024;
/** The maximum number of characters of the webhook's reason. */
const reasonMax = 1024;
/** The maximum number of different questions that wait for the webhook; further ones count as not answered. */
const waitingMax = 2000;
const firstPauseMs = 500;

/** Makes the authorizer; `close` aborts pending questions and closes the connections. */
export function webhookAuthorizer(options: WebhookOptions): Required<Authorizer> & { close(): void } {
  const reviews = new SubjectAccessReviews(options);
  return {
    authorize: (attributes) => reviews.verdict(attributes),
    rulesFor: () => ({
      resourceRules: [],
      nonResourceRules: [],
      incomplete: true,
      errors: ["webhook authorizer does not support user rule resolution"],
    }),
    explain: (attributes) => reviews.explain(attributes),
    close: () => reviews.close(),
  };
}

class SubjectAccessReviews {
  readonly #options: WebhookOptions;
  readonly #allowed = new ExpiringCache<Verdict>(keptMax);
  readonly #others = new ExpiringCache<Verdict>(keptMax);
  readonly #waiting = new Map<string, Promise<Verdict>>();
  readonly #gone = new AbortController();

  constructor(options: WebhookOptions) {
    this.#options = options;
  }

  verdict(attributes: Attributes): MaybePromise<Verdict> {
    const { conditions, selectors, observe } = this.#options;
    const spec = specOf(attributes, selectors);
    const match = conditions.length === 0 ? "all" : this.#match(spec);
    if (match === "not") {
      observe.excluded();
      return noOpinion;
    }
    if (match === "unknown") {
      observe.conditionFailed();
      return this.#withoutAnswer("a match condition could not be evaluated");
    }
    const key = keyOf(spec);
    const cached = this.#cachedVerdict(key) ?? this.#waiting.get(key);
    if (cached !== undefined) return cached;
    if (this.#waiting.size >= waitingMax) return this.#withoutAnswer("too many questions wait for it");
    const asked = this.#ask(key, spec).finally(() => this.#waiting.delete(key));
    this.#waiting.set(key, asked);
    return asked;
  }

  #match(spec: SubjectAccessReviewSpec): "all" | "not" | "unknown" {
    const { clock, conditions, observe } = this.#options;
    const startMs = clock.monotonic();
    const match = evaluateConditions(conditions, spec);
    observe.evaluated((clock.monotonic() - startMs) / 1000);
    return match;
  }

  explain(attributes: Attributes): string {
    const { conditions, name, selectors } = this.#options;
    const spec = specOf(attributes, selectors);
    if (conditions.length > 0 && evaluateConditions(conditions, spec) === "not") return `Webhook ${name}: is not asked`;
    const { decision, reason } = this.#cachedVerdict(keyOf(spec)) ?? { decision: undefined, reason: "" };
    const said = decision === undefined ? "decides by itself" : answers[decision];
    return `Webhook ${name}: ${said}${reason === "" ? "" : `: ${reason}`}`;
  }

  close(): void {
    this.#gone.abort();
    this.#options.outgoing.close();
  }

  async #ask(key: string, spec: SubjectAccessReviewSpec): Promise<Verdict> {
    const { clock, failurePolicy, observe, authorizedTtlMs, unauthorizedTtlMs } = this.#options;
    const { signal } = this.#gone;
    const startMs = clock.monotonic();
    const took = (): number => (clock.monotonic() - startMs) / 1000;
    try {
      const verdict = verdictOf(await review(this.#options, spec, signal));
      observe.asked("success", took());
      const isAllowed = verdict.decision === "allow";
      const ttlMs = isAllowed ? authorizedTtlMs : unauthorizedTtlMs;
      if (ttlMs > 0) (isAllowed ? this.#allowed : this.#others).set(key, verdict, clock.monotonic() + ttlMs);
      return verdict;
    } catch (error) {
      const result = resultOf(error);
      observe.asked(result, took());
      if (failurePolicy === "NoOpinion") observe.failedOpen(result);
      if (!signal.aborted) observe.failed(error);
      return this.#withoutAnswer(error instanceof Error ? error.message : "no answer");
    }
  }

  #cachedVerdict(key: string): Verdict | undefined {
    const nowMs = this.#options.clock.monotonic();
    return this.#allowed.get(key, nowMs) ?? this.#others.get(key, nowMs);
  }

  #withoutAnswer(why: string): Verdict {
    const { name, failurePolicy } = this.#options;
    const error = `${name}: ${why}`;
    return failurePolicy === "Deny"
      ? { decision: "deny", reason: `authorizer ${name} could not decide`, error }
      : { ...noOpinion, error };
  }
}

const keyOf = (spec: SubjectAccessReviewSpec): string => hash("sha256", JSON.stringify(spec), "latin1");

const answers: Readonly<Record<Decision, string>> = {
  allow: "allows it",
  deny: "denies it",
  noOpinion: "has no opinion",
};

/** Evaluates match conditions. A false condition decides, even if others fail. */
function evaluateConditions(
  conditions: readonly MatchCondition[],
  spec: SubjectAccessReviewSpec,
): "all" | "not" | "unknown" {
  let result: "all" | "unknown" = "all";
  for (const condition of conditions) {
    try {
      if (!condition(spec)) return "not";
    } catch {
      result = "unknown";
    }
  }
  return result;
}

/** Makes the question. Empty texts and lists are left out, as in JSON. */
function specOf(attributes: Attributes, selectors: boolean): SubjectAccessReviewSpec {
  const { user, verb, path } = attributes;
  const { name, groups, uid = "", extra = {} } = user;
  return {
    ...(attributes.isResourceRequest
      ? { resourceAttributes: resourceOf(attributes, selectors) }
      : { nonResourceAttributes: withoutEmpty({ path, verb }) }),
    ...withoutEmpty({ user: name }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
    ...withoutEmpty({ uid }),
  };
}

function resourceOf(attributes: Attributes, selectors: boolean): ResourceAttributes {
  const { namespace, verb, group, version, resource, subresource, name } = attributes;
  const fields = selectors ? (attributes.fieldSelector ?? []).map(fieldRequirement) : [];
  const labels = selectors ? (attributes.labelSelector ?? []).flatMap(labelRequirement) : [];
  return {
    ...withoutEmpty({ namespace, verb, group, version, resource, subresource, name }),
    ...(fields.length === 0 ? {} : { fieldSelector: { requirements: fields } }),
    ...(labels.length === 0 ? {} : { labelSelector: { requirements: labels } }),
  };
}

const withoutEmpty = <Name extends string>(
  texts: Readonly<Record<Name, string>>,
): Readonly<Partial<Record<Name, string>>> =>
  Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== "")) as Partial<Record<Name, string>>; // some of them

const fieldRequirement = ({ field, operator, value }: FieldRequirement): FieldSelectorRequirement => ({
  key: field,
  operator: operator === "=" ? "In" : "NotIn",
  values: [value],
});

const labelOperators: Readonly<Partial<Record<LabelRequirement["operator"], string>>> = {
  "=": "In",
  "==": "In",
  in: "In",
  "!=": "NotIn",
  notin: "NotIn",
  exists: "Exists",
  "!": "DoesNotExist",
};

/**
 * Converts a requirement. Operators that a review cannot express are left out; the webhook then decides about a wider
 * request.
 */
function labelRequirement({ key, operator, values }: LabelRequirement): LabelSelectorRequirement[] {
  const word = labelOperators[operator];
  return word === undefined ? [] : [{ key, operator: word, ...(values.length === 0 ? {} : { values }) }];
}

/** Returns the `status` of the review. Throws when there is none. */
async function review(
  options: WebhookOptions,
  spec: SubjectAccessReviewSpec,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  const { clock, timeoutMs, group, version } = options;
  const deadlineMs = clock.monotonic() + timeoutMs;
  const { groups, ...rest } = spec;
  const sent = version === "v1" || groups === undefined ? spec : { ...rest, group: groups };
  const body = Buffer.from(
    JSON.stringify({
      kind: "SubjectAccessReview",
      apiVersion: `${group}/${version}`,
      metadata: { creationTimestamp: null },
      spec: sent,
      status: { allowed: false },
    }),
  );
  const answer = await askWebhook({ ...options, body, deadlineMs, answerBytesMax, firstPauseMs, signal });
  return reviewStatus(answer, "SubjectAccessReview", version);
}

function verdictOf({ allowed, denied, reason }: Readonly<Record<string, unknown>>): Verdict {
  const flags = [allowed ?? false, denied ?? false];
  if (flags.some((flag) => typeof flag !== "boolean") || typeof (reason ?? "") !== "string") {
    throw new Error("the webhook's answer is no SubjectAccessReview");
  }
  const text = ((reason ?? "") as string).slice(0, reasonMax); // checked above
  if (allowed === true && denied === true) {
    return {
      decision: "deny",
      reason: text,
      error: "webhook subject access review returned both allow and deny response",
    };
  }
  return { decision: denied === true ? "deny" : allowed === true ? "allow" : "noOpinion", reason: text };
}

function resultOf(error: unknown): WebhookResult {
  if (!(error instanceof OutgoingError)) return "error";
  if (error.code === "TIMEOUT") return "timeout";
  return error.code === "ABORTED" ? "canceled" : "error";
}
