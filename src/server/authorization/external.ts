/**
 * Builds the configured authorizers with metrics, and rebuilds them when the configuration file changes. An invalid
 * file leaves the current ones in force. Source: upstream's `kubeapiserver/authorizer/reload.go`.
 */
import { alwaysAllow, alwaysDeny } from "#authz/always.ts";
import { type Attributes, type Authorizer, union, type Verdict, webhookTimeoutMaxMs } from "#authz/authorizer.ts";
import type { AuthorizationObserver } from "#authz/webhook.ts";
import type { Metrics } from "#std/metrics.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import { type CountReload, reloadMetrics } from "../reload-metrics.ts";
import { rateLimited } from "#std/log.ts";
import type { ServerParts } from "../server-parts.ts";
import { watchFile } from "../watched-file.ts";
import type { AuthorizationPlan, PlannedAuthorizer } from "./plan.ts";

interface AuthorizerChainOptions extends Pick<ServerParts, "domain" | "clock" | "random" | "log" | "metrics"> {
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
  const count: CountReload = plan.file === undefined ? () => undefined : reloadMetrics(metrics, "authorization", clock);
  const { file } = plan;
  const stop =
    file === undefined
      ? () => undefined
      : watchFile({
          file: file.name,
          text: file.text,
          clock,
          async changed(text) {
            const { readAuthorizationConfig } = await import("#authz/configuration.ts");
            const authorizers = readAuthorizationConfig(text, file.rules);
            checkSameOwn(plan.authorizers, authorizers);
            const next = await openChain(options, authorizers, counts);
            if (isClosed) {
              next.close();
              return;
            }
            const before = current;
            current = next;
            ending.set(
              before,
              clock.after(webhookTimeoutMaxMs, () => end(before)),
            );
            count("success");
            log.info({ file: file.name }, "the authorization configuration was read again");
          },
          failed(error) {
            count("failure");
            const reason = error instanceof Error ? error.message : String(error);
            log.error({ file: file.name, error: reason }, "the authorization configuration stays as it was");
          },
        });
  return {
    authorizer: {
      authorize: (attributes) => current.authorizer.authorize(attributes),
      rulesFor: (user, namespace) => current.authorizer.rulesFor(user, namespace),
      explain: (attributes) => current.authorizer.explain(attributes),
    },
    close() {
      isClosed = true;
      stop();
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
  const counted = opened.map((authorizer, at) => countDecisions(authorizer, counts.decisions(planned[at]!)));
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
    ...openWebhook(connection, options.clock),
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

interface Decisions {
  allowed(): void;
  denied(): void;
}

function countDecisions(authorizer: Authorizer, decisions: Decisions): Authorizer {
  const counted = (verdict: Verdict): Verdict => {
    if (verdict.decision === "allow") decisions.allowed();
    else if (verdict.decision === "deny") decisions.denied();
    return verdict;
  };
  return {
    ...authorizer,
    authorize(attributes: Attributes): MaybePromise<Verdict> {
      return andThen(authorizer.authorize(attributes), counted);
    },
  };
}

interface AuthorizationMetrics {
  decisions(of: { readonly type: string; readonly name: string }): Decisions;
  webhook(name: string, failed: (error: unknown) => void): AuthorizationObserver;
}

/** Makes the metrics, with upstream's names. */
function authorizationMetrics(metrics: Metrics): AuthorizationMetrics {
  const decisions = metrics.counter({
    name: "apiserver_authorization_decisions_total",
    help: "Total number of terminal decisions made by an authorizer split by authorizer type, name, and decision.",
    labels: ["type", "name", "decision"],
  });
  const labels = ["name", "result"];
  const evaluations = metrics.counter({
    name: "apiserver_authorization_webhook_evaluations_total",
    help: "Round-trips to authorization webhooks.",
    labels,
  });
  const failOpen = metrics.counter({
    name: "apiserver_authorization_webhook_evaluations_fail_open_total",
    help: "NoOpinion results due to webhook timeout or error.",
    labels,
  });
  const durations = metrics.histogram({
    name: "apiserver_authorization_webhook_duration_seconds",
    help: "Request latency in seconds.",
    labels,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  const conditionLabels = ["type", "name"];
  const excluded = metrics.counter({
    name: "apiserver_authorization_match_condition_exclusions_total",
    help: "Total number of exclusions when an authorization webhook is skipped because match conditions exclude it.",
    labels: conditionLabels,
  });
  const conditionErrors = metrics.counter({
    name: "apiserver_authorization_match_condition_evaluation_errors_total",
    help: "Total number of errors when an authorization webhook encounters a match condition error split by authorizer type and name.",
    labels: conditionLabels,
  });
  return {
    decisions({ type, name }) {
      // Children are made with the first decision, so that there are no series of zeros.
      let allowed: ReturnType<typeof decisions.with> | undefined;
      return {
        allowed: () => (allowed ??= decisions.with(type, name, "allowed")).add(),
        denied: () => decisions.with(type, name, "denied").add(),
      };
    },
    webhook: (name, failed) => ({
      asked(result, seconds) {
        evaluations.with(name, result).add();
        durations.with(name, result).observe(seconds);
      },
      failedOpen: (result) => failOpen.with(name, result).add(),
      excluded: () => excluded.with("Webhook", name).add(),
      conditionFailed: () => conditionErrors.with("Webhook", name).add(),
      failed,
    }),
  };
}
