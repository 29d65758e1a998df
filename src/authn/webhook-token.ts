/**
 * Has a webhook check tokens, by a TokenReview. Good and bad answers have separate caches, so that a flood of bad
 * tokens does not evict good ones; failures, and errors in answers, are not cached. The number of waiting tokens is
 * bounded. Source: upstream's `plugin/pkg/authenticator/token/webhook`.
 */
import { hash } from "node:crypto";
import type { Outgoing } from "#egress/outgoing-https.ts";
import { askWebhook, reviewStatus } from "#egress/webhook-question.ts";
import { tooManyRequests } from "#meta/status-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { Clock } from "#std/clock.ts";
import { ExpiringCache } from "#std/expiring-cache.ts";
import { isObject } from "#std/is-object.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Random } from "#std/random.ts";
import { type Authentication, noCredentials } from "./authenticator.ts";
import type { TokenAuthenticator } from "./bearer-token.ts";

interface WebhookTokenOptions {
  readonly url: string;
  /** Headers with the credentials for the webhook. */
  readonly headers: Readonly<Record<string, string>>;
  readonly outgoing: Outgoing;
  /** The version of the TokenReview that is sent, `authentication.k8s.io/v1`. */
  readonly apiVersion: string;
  /** The audiences of this server, for requests without others. */
  readonly audiences: readonly string[];
  /** The time for which answers are cached; 0 caches none. */
  readonly cacheTtlMs: number;
  readonly clock: Clock;
  readonly random: Random;
  /** Called when the webhook gave no answer. */
  failed(error: unknown): void;
}

const keptMax = 4096;
const timeoutMs = 10_000;
const answerBytesMax = 1024 * 1024;
/** The maximum number of distinct tokens that wait for the webhook; further ones are told to retry. */
const waitingMax = 1000;
const firstPauseMs = 500;

export class WebhookTokens implements TokenAuthenticator {
  readonly #options: WebhookTokenOptions;
  readonly #good = new ExpiringCache<Authentication>(keptMax);
  readonly #bad = new ExpiringCache<Authentication>(keptMax);
  readonly #waiting = new Map<string, Promise<Authentication>>();
  readonly #gone = new AbortController();

  constructor(options: WebhookTokenOptions) {
    this.#options = options;
  }

  /**
   * Authenticates a token. Rejects with a `StatusError` (429) when too many wait: the token was then neither good nor
   * bad.
   */
  authenticateToken(token: string, audiences = this.#options.audiences): MaybePromise<Authentication> {
    const key = hash("sha256", JSON.stringify([token, ...audiences]));
    const nowMs = this.#options.clock.monotonic();
    const cached = this.#good.get(key, nowMs) ?? this.#bad.get(key, nowMs) ?? this.#waiting.get(key);
    if (cached !== undefined) return cached;
    if (this.#waiting.size >= waitingMax) {
      return Promise.reject(tooManyRequests("too many new tokens wait for the webhook, please try again later", 1));
    }
    const asked = this.#ask(key, token, audiences).finally(() => this.#waiting.delete(key));
    this.#waiting.set(key, asked);
    return asked;
  }

  /** Aborts pending questions and closes the connections. */
  close(): void {
    this.#gone.abort();
    this.#options.outgoing.close();
  }

  /** Asks the webhook. Never rejects. */
  async #ask(key: string, token: string, audiences: readonly string[]): Promise<Authentication> {
    const { clock, cacheTtlMs, failed } = this.#options;
    try {
      const answer = this.#read(await this.#review(token, audiences), audiences);
      const answers = answer.outcome === "user" ? this.#good : this.#bad;
      // Upstream: an error that the webhook names is no answer to remember.
      if (cacheTtlMs > 0 && answer.outcome !== "refused") answers.set(key, answer, clock.monotonic() + cacheTtlMs);
      return answer;
    } catch (error) {
      if (!this.#gone.signal.aborted) failed(error);
      return refuse(error instanceof Error ? error.message : "no answer");
    }
  }

  /** Returns the `status` of the review. Throws when there is none. */
  async #review(token: string, audiences: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
    const review = {
      kind: "TokenReview",
      apiVersion: this.#options.apiVersion,
      metadata: { creationTimestamp: null },
      spec: { token, ...(audiences.length === 0 ? {} : { audiences }) },
      status: { user: {} },
    };
    const body = Buffer.from(JSON.stringify(review));
    const { signal } = this.#gone;
    const answer = await askWebhook({ ...this.#options, body, timeoutMs, answerBytesMax, firstPauseMs, signal });
    return reviewStatus(answer, "TokenReview", review.apiVersion);
  }

  #read(status: Readonly<Record<string, unknown>>, audiences: readonly string[]): Authentication {
    const { authenticated, error } = status;
    const named = textList(status["audiences"] ?? []);
    if (named === undefined) throw new Error("the webhook's answer has audiences that are no texts");
    const meant = named.length > 0 ? named : this.#options.audiences;
    const shared = meant.filter((audience) => audiences.includes(audience));
    // Upstream: a token for others is none, whatever else is said of it. A server without names asks for no audience.
    if (audiences.length > 0 && shared.length === 0) return noCredentials;
    if (authenticated !== true) {
      if (typeof error !== "string" || error === "") return noCredentials;
      return { outcome: "refused", reason: error.slice(0, 1000) };
    }
    const user = userOf(status["user"]);
    if (user === undefined) throw new Error("the webhook's answer names no user");
    return audiences.length === 0 ? { outcome: "user", user } : { outcome: "user", user, audiences: shared };
  }
}

const refuse = (reason: string): Authentication => ({ outcome: "refused", reason: `token webhook: ${reason}` });

function userOf(value: unknown): UserInfo | undefined {
  if (!isObject(value)) return undefined;
  const { username, uid, groups = [], extra = {} } = value;
  const names = textList(groups ?? []);
  if (typeof username !== "string" || username === "" || names === undefined) return undefined;
  const id = uid ?? "";
  if (typeof id !== "string") return undefined;
  const entries: [string, readonly string[]][] = [];
  for (const [key, values] of Object.entries(isObject(extra) ? extra : {})) {
    const texts = textList(values ?? []);
    if (texts === undefined) return undefined;
    entries.push([key, texts]);
  }
  return {
    name: username,
    ...(id === "" ? {} : { uid: id }),
    groups: names,
    ...(entries.length === 0 ? {} : { extra: Object.fromEntries(entries) }),
  };
}

const textList = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) && value.every((one) => typeof one === "string") ? value : undefined;
