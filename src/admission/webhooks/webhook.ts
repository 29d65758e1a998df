/** Webhooks of the stored configurations, read once when a configuration changes, in the order in which they are called. */
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
  WebhookClientConfig,
} from "#api/admissionregistration/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import type { Clock } from "#std/clock.ts";
import type { CompiledConditions, compileConditions } from "../admission-expressions.ts";
import { RequestMatcher } from "../matching.ts";
import { CircuitBreaker } from "./circuit-breaker.ts";
import { type ReviewVersion, reviewVersions } from "./review.ts";

export interface Webhook {
  /** Identifies the configuration and the webhook, and is unique even if names in a configuration are equal. */
  readonly id: string;
  readonly configuration: string;
  readonly name: string;
  readonly matcher: RequestMatcher;
  readonly clientConfig: WebhookClientConfig;
  /** Whether requests pass when the webhook cannot be called. */
  readonly ignoresFailure: boolean;
  readonly timeoutMs: number;
  /** Whether it may be called for requests that must have no effect. */
  readonly allowsDryRun: boolean;
  /** The version of AdmissionReview; `undefined` when the webhook knows none that this server can send. */
  readonly version: ReviewVersion | undefined;
  /** Whether it is called again when a later plugin changed the object. */
  readonly isReinvoked: boolean;
  /**
   * Compiles the conditions at the first call; `compile` is from the module of the expression language, which is loaded
   * then.
   */
  readonly conditions: ((compile: typeof compileConditions) => CompiledConditions) | undefined;
  /** The circuit breaker; absent when every request has to wait for the webhook. */
  readonly breaker: CircuitBreaker | undefined;
}

type Configuration = MutatingWebhookConfiguration | ValidatingWebhookConfiguration;
type WebhookDefinition = MutatingWebhook | ValidatingWebhook;

interface Parsed {
  readonly definition: WebhookDefinition;
  readonly webhook: Webhook;
}

export interface WebhookListOptions {
  readonly clock: Pick<Clock, "monotonic">;
  /** Whether webhooks have circuit breakers if their failures are ignored. */
  readonly hasBreakers: boolean;
  /** Whether checks of the authorizer in conditions may have selectors (feature gate `AuthorizeWithSelectors`). */
  readonly hasSelectors: boolean;
}

/** The webhooks of one kind of configuration. */
export class WebhookList {
  readonly #options: WebhookListOptions;
  readonly #configurations = new Map<string, readonly Parsed[]>();
  #webhooks: readonly Webhook[] | undefined = [];
  #names: ReadonlySet<string> | undefined;

  constructor(options: WebhookListOptions) {
    this.#options = options;
  }

  /**
   * The webhooks in the order of the names of their configurations, and within a configuration in its order. Callers
   * must not change the list.
   */
  get webhooks(): readonly Webhook[] {
    return (this.#webhooks ??= [...this.#configurations]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([, parsed]) => parsed.map(({ webhook }) => webhook)));
  }

  /** Whether there is a webhook of this name. */
  has(name: string): boolean {
    this.#names ??= new Set(this.webhooks.map((webhook) => webhook.name));
    return this.#names.has(name);
  }

  /** The webhooks that are left alone for a while because they did not answer. */
  get silent(): readonly Webhook[] {
    return this.webhooks.filter(({ breaker }) => breaker?.isOpen === true);
  }

  clear(): void {
    this.#configurations.clear();
    this.#webhooks = [];
    this.#names = undefined;
  }

  /** Sets a configuration, or removes it when it is `undefined`. Webhooks that did not change keep their state. */
  set(name: string, configuration: Configuration | undefined): void {
    this.#webhooks = undefined;
    this.#names = undefined;
    const before = this.#configurations.get(name) ?? [];
    this.#configurations.delete(name);
    const webhooks: readonly WebhookDefinition[] = configuration?.webhooks ?? [];
    if (webhooks.length === 0) return;
    const counts = new Map<string, number>();
    const parsed = webhooks.map((one): Parsed => {
      const count = counts.get(one.name) ?? 0;
      counts.set(one.name, count + 1);
      const id = `${name}/${one.name}/${count}`;
      const old = before.find(({ webhook }) => webhook.id === id);
      return old !== undefined && jsonEquals(old.definition, one)
        ? old
        : { definition: one, webhook: this.#parse(id, name, one) };
    });
    this.#configurations.set(name, parsed);
  }

  #parse(id: string, configuration: string, definition: WebhookDefinition): Webhook {
    const { name, clientConfig, sideEffects, timeoutSeconds = 10, failurePolicy, admissionReviewVersions } = definition;
    const { matchConditions = [] } = definition;
    const { clock, hasBreakers, hasSelectors } = this.#options;
    const about = { hasParams: false, hasSelectors };
    let compiled: CompiledConditions | undefined;
    const ignoresFailure = failurePolicy === "Ignore";
    return {
      id,
      configuration,
      name,
      matcher: new RequestMatcher({ ...definition, rules: definition.rules ?? [] }),
      clientConfig,
      ignoresFailure,
      timeoutMs: timeoutSeconds * 1000,
      allowsDryRun: sideEffects === "None" || sideEffects === "NoneOnDryRun",
      version: reviewVersions.find((one) => one === admissionReviewVersions?.find(isKnown)),
      isReinvoked: "reinvocationPolicy" in definition && definition.reinvocationPolicy === "IfNeeded",
      conditions:
        matchConditions.length === 0 ? undefined : (compile) => (compiled ??= compile(matchConditions, about)),
      breaker: ignoresFailure && hasBreakers ? new CircuitBreaker(clock) : undefined,
    };
  }
}

const isKnown = (version: string): boolean => reviewVersions.some((candidate) => candidate === version);
