/**
 * Builds the configured authorizers with metrics, and rebuilds them when the configuration file changes. An invalid
 * file leaves the current ones in force. Source: upstream's `kubeapiserver/authorizer/reload.go`.
 */
import { alwaysAllow, alwaysDeny } from "#authz/always.ts";
import { type Authorizer, union, type Verdict, webhookTimeoutMaxMs } from "#authz/authorizer.ts";
import type { AuthorizationObserver } from "#authz/webhook.ts";
import type { Counter, Metrics } from "#std/metrics.ts";
import { andThen } from "#std/maybe-promise.ts";
import { reloadMetrics } from "../reload-metrics.ts";
import { rateLimited } from "#std/log.ts";
import type { ServerParts } from "../server-parts.ts";
import { watchFile } from "../watched-file.ts";
import type { AuthorizationPlan, PlannedAuthorizer } from "./plan.ts";

interface AuthorizerChainOptions
  extends Pick<ServerParts, "domain" | "clock" | "random" | "log" | "metrics" | "egress"> {
  readonly plan: AuthorizationPlan;
  /** Whether webhooks get the selectors of lists (feature gate `AuthorizeWithSelectors`). */
  readonly selectors: boolean;
  /** The RBAC authorizer. Like the Node authorizer, it decides by objects in this server's store. */
  readonly rbac: Authorizer;
  node(): Promise<Authorizer>;
}

export interface AuthorizerChain {
  readonly authorizer: Required<Authorizer>;
  close(): void;
}

/** Loads the code of webhooks and policy files only when the plan names such an authorizer. */
export async function openAuthorizers(options: AuthorizerChainOptions): Promise<AuthorizerChain> {
  const { plan, clock, log, metrics } = options;
  const counts = authorizationMetrics(metrics);
  let isClosed = false;
  let current = await openChain(options, plan.authorizers, counts);
  // Pending calls to webhooks that are no longer configured are answered to their end.
  const ending = new Map<AuthorizerChain, () => void>();
  const end = (chain: AuthorizerChain): void => {
    ending.delete(chain);
    chain.close();
  };
  const use = (next: AuthorizerChain): void => {
    const before = current;
    current = next;
    ending.set(
      before,
      clock.after(webhookTimeoutMaxMs, () => end(before)),
    );
  };
  const follow = ({ name: file, text: initial, rules }: NonNullable<AuthorizationPlan["file"]>): (() => void) => {
    const count = reloadMetrics(metrics, "authorization", clock);
    count("success"); // Upstream: the first reading counts, too.
    return watchFile({
      file,
      text: initial,
      clock,
      async changed(text) {
        const { readAuthorizationConfig } = await import("#authz/configuration.ts");
        const authorizers = readAuthorizationConfig(text, rules);
        checkSameOwn(plan.authorizers, authorizers);
        const next = await openChain(options, authorizers, counts);
        if (isClosed) return next.close();
        use(next);
        count("success");
        log.info({ file }, "the authorization configuration was read again");
      },
      failed(error) {
        count("failure");
        const reason = error instanceof Error ? error.message : String(error);
        log.error({ file, error: reason }, "the authorization configuration stays as it was");
      },
    });
  };
  const stop = plan.file && follow(plan.file);
  return {
    authorizer: {
      authorize: (attributes) => current.authorizer.authorize(attributes),
      rulesFor: (user, namespace) => current.authorizer.rulesFor(user, namespace),
      explain: (attributes) => current.authorizer.explain(attributes),
    },
    close() {
      isClosed = true;
      stop?.();
      current.close();
      for (const [chain, cancel] of ending) {
        cancel();
        end(chain);
      }
    },
  };
}

/** Throws when the built-in authorizers differ: a reload may change webhooks only. */
function checkSameOwn(before: readonly PlannedAuthorizer[], after: readonly PlannedAuthorizer[]): void {
  const own = (list: readonly PlannedAuthorizer[]): string =>
    list
      .flatMap(({ type }) => (type === "Webhook" ? [] : type))
      .toSorted()
      .join(", ");
  if (own(before) === own(after)) return;
  throw new Error(
    `authorizers: other than webhooks there must be those of the start: ${own(before) || "none"}, not ${own(after) || "none"}`,
  );
}

async function openChain(
  options: AuthorizerChainOptions,
  planned: readonly PlannedAuthorizer[],
  counts: AuthorizationMetrics,
): Promise<AuthorizerChain> {
  const opened = await Promise.all(planned.map((one) => openAuthorizer(options, one, counts)));
  const counted = opened.map((authorizer, at): Authorizer => {
    const count = counts.decisions(planned[at]!);
    return { ...authorizer, authorize: (attributes) => andThen(authorizer.authorize(attributes), count) };
  });
  return {
    authorizer: union(counted),
    close() {
      for (const authorizer of opened) authorizer.close?.();
    },
  };
}

interface Opened extends Authorizer {
  /** Ends the connections, if there are any. */
  close?(): void;
}

async function openAuthorizer(
  options: AuthorizerChainOptions,
  planned: PlannedAuthorizer,
  counts: AuthorizationMetrics,
): Promise<Opened> {
  switch (planned.type) {
    case "AlwaysAllow":
      return alwaysAllow;
    case "AlwaysDeny":
      return alwaysDeny;
    case "ABAC":
      return (await import("#authz/abac.ts")).abac(planned.policies);
    case "RBAC":
      return options.rbac;
    case "Node":
      return options.node();
    case "Webhook":
      break;
  }
  const { connection, ...settings } = planned.webhook;
  const { webhookAuthorizer } = await import("#authz/webhook.ts");
  const { openWebhook } = await import("#egress/webhook-connection.ts");
  return webhookAuthorizer({
    ...settings,
    ...openWebhook(connection, options.clock, options.egress.controlPlane),
    name: planned.name,
    group: options.domain.rename("authorization.k8s.io"),
    selectors: options.selectors,
    clock: options.clock,
    random: options.random,
    observe: counts.webhook(
      planned.name,
      rateLimited(options.clock, (error) =>
        options.log.error({ name: planned.name, error }, "an authorization webhook gave no answer"),
      ),
    ),
  });
}

type AuthorizationMetrics = ReturnType<typeof authorizationMetrics>;

/** Makes the metrics, with upstream's names. */
function authorizationMetrics(metrics: Metrics) {
  const decisions = metrics.counter({
    name: "apiserver_authorization_decisions_total",
    help: "Requests that an authorizer decided, by its type and name and by decision.",
    labels: ["type", "name", "decision"],
  });
  const labels = ["name", "result"];
  const evaluations = metrics.counter({
    name: "apiserver_authorization_webhook_evaluations_total",
    help: "Calls of an authorization webhook.",
    labels,
  });
  const failOpen = metrics.counter({
    name: "apiserver_authorization_webhook_evaluations_fail_open_total",
    help: "Failed calls of an authorization webhook that left the decision to others.",
    labels,
  });
  const durations = metrics.histogram({
    name: "apiserver_authorization_webhook_duration_seconds",
    help: "Time of calls of an authorization webhook.",
    labels,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  const conditionLabels = ["type", "name"];
  const excluded = metrics.counter({
    name: "apiserver_authorization_match_condition_exclusions_total",
    help: "Requests that match conditions kept from an authorization webhook.",
    labels: conditionLabels,
  });
  const conditionTimes = metrics.histogram({
    name: "apiserver_authorization_match_condition_evaluation_seconds",
    help: "Time that the match conditions of an authorization webhook take.",
    labels: conditionLabels,
    buckets: [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25],
  });
  const conditionErrors = metrics.counter({
    name: "apiserver_authorization_match_condition_evaluation_errors_total",
    help: "Errors of match conditions of an authorization webhook.",
    labels: conditionLabels,
  });
  return {
    /** Returns a function that counts a verdict, and returns it. */
    decisions({ type, name }: PlannedAuthorizer) {
      // Children are made with the first decision, so that there are no series of zeros.
      let allowed: Counter | undefined;
      return (verdict: Verdict): Verdict => {
        if (verdict.decision === "allow") (allowed ??= decisions.with(type, name, "allowed")).add();
        else if (verdict.decision === "deny") decisions.with(type, name, "denied").add();
        return verdict;
      };
    },
    webhook: (name: string, failed: (error: unknown) => void): AuthorizationObserver => ({
      asked(result, seconds) {
        evaluations.with(name, result).add();
        durations.with(name, result).observe(seconds);
      },
      failedOpen: (result) => failOpen.with(name, result).add(),
      evaluated: (seconds) => conditionTimes.with("Webhook", name).observe(seconds),
      excluded: () => excluded.with("Webhook", name).add(),
      conditionFailed: () => conditionErrors.with("Webhook", name).add(),
      failed,
    }),
  };
}
