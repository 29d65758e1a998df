/** Metrics of admission webhooks, with kube-apiserver's names; our own begin with `binnacle_`. */
import type { ObservedCall, WebhookLists, WebhookObserver, WebhookType } from "#admission/webhooks.ts";
import type { Metrics } from "#std/metrics.ts";

const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25];

export function webhookMetrics(metrics: Metrics, lists: WebhookLists): WebhookObserver {
  const { durations, requests, rejections, failedOpen, failures, skipped, ...conditions } = webhookFamilies(
    metrics,
    lists,
  );
  const { conditionErrors, exclusions, conditionTimes } = conditions;
  observeSilent(metrics, lists);
  return {
    called(call) {
      const { webhook, type, operation, seconds, outcome, problem } = call;
      const code = String(Math.min(call.code, 600));
      const rejected = String(outcome !== "allowed" && outcome !== "ignored");
      durations.with(webhook.name, operation, rejected, type).observe(seconds);
      requests.with(code, webhook.name, operation, rejected, type).add();
      if (problem !== undefined) failures.with(webhook.name, problem, type).add();
      if (outcome === "ignored") failedOpen.with(webhook.name, type).add();
      if (rejected === "true") rejections.with(errorTypes[outcome], webhook.name, operation, code, type).add();
    },
    skipped({ webhook, type }) {
      skipped.with(webhook.name, type).add();
      failedOpen.with(webhook.name, type).add();
    },
    conditions({ webhook, type, operation, seconds, hasFailed, isExcluded }) {
      conditionTimes.with("webhook", webhook.name, operation, type).observe(seconds);
      // In these metrics upstream calls the phase by another name.
      const phase = type === "admit" ? "admit" : "validate";
      if (hasFailed) conditionErrors.with("webhook", webhook.name, operation, phase).add();
      else if (isExcluded) exclusions.with("webhook", webhook.name, operation, phase).add();
    },
  };
}

function webhookFamilies(metrics: Metrics, lists: WebhookLists) {
  /** Drops the series of deleted webhooks. `labelIndex` is the index of the label with the webhook's name. */
  const forWebhookLabel = (labelIndex: number) => ({
    isThere: (values: readonly string[]) =>
      [lists.mutating, lists.validating].some((list) => list.has(values[labelIndex] ?? "")),
  });
  const durations = metrics.histogram({
    name: "apiserver_admission_webhook_admission_duration_seconds",
    help: "[STABLE] Time of calls of a webhook, by operation and by phase.",
    labels: ["name", "operation", "rejected", "type"],
    ...forWebhookLabel(0),
    buckets,
  });
  const requests = metrics.counter({
    name: "apiserver_admission_webhook_request_total",
    help: "Calls of a webhook, by operation, by phase and by answer.",
    labels: ["code", "name", "operation", "rejected", "type"],
    ...forWebhookLabel(1),
  });
  const rejections = metrics.counter({
    name: "apiserver_admission_webhook_rejection_count",
    help: "Requests that a webhook refused, or that failed with it, by the kind of error.",
    labels: ["error_type", "name", "operation", "rejection_code", "type"],
    ...forWebhookLabel(1),
  });
  const failedOpen = metrics.counter({
    name: "apiserver_admission_webhook_fail_open_count",
    help: "Requests that passed although the webhook could not be called.",
    labels: ["name", "type"],
    ...forWebhookLabel(0),
  });
  const skipped = metrics.counter({
    name: "binnacle_admission_webhook_skipped_total",
    help: "Calls left out because the webhook gave no answer before; they count as failed open, too.",
    labels: ["name", "type"],
    ...forWebhookLabel(0),
  });
  return { durations, requests, rejections, failedOpen, skipped, ...problemFamilies(metrics, forWebhookLabel) };
}

type ForWebhookLabel = (labelIndex: number) => { isThere(values: readonly string[]): boolean };

function problemFamilies(metrics: Metrics, forWebhookLabel: ForWebhookLabel) {
  const conditionErrors = metrics.counter({
    name: "apiserver_admission_match_condition_evaluation_errors_total",
    help: "Errors of the match conditions of a webhook.",
    labels: ["kind", "name", "operation", "type"],
    ...forWebhookLabel(1),
  });
  const exclusions = metrics.counter({
    name: "apiserver_admission_match_condition_exclusions_total",
    help: "Requests that match conditions kept from a webhook.",
    labels: ["kind", "name", "operation", "type"],
    ...forWebhookLabel(1),
  });
  const conditionTimes = metrics.histogram({
    name: "apiserver_admission_match_condition_evaluation_seconds",
    help: "Time that the match conditions of a webhook take.",
    labels: ["kind", "name", "operation", "type"],
    ...forWebhookLabel(1),
    buckets: [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25],
  });
  const failures = metrics.counter({
    name: "binnacle_admission_webhook_failures_total",
    help: "Calls of a webhook that failed, by the kind of the problem.",
    labels: ["name", "problem", "type"],
    ...forWebhookLabel(0),
  });
  return { conditionErrors, exclusions, conditionTimes, failures };
}

const errorTypes: Readonly<Record<ObservedCall["outcome"], string>> = {
  allowed: "no_error",
  denied: "no_error",
  ignored: "no_error",
  failed: "calling_webhook_error",
  internal: "apiserver_internal_error",
};

function observeSilent(metrics: Metrics, lists: WebhookLists): void {
  metrics.observable(
    {
      name: "binnacle_admission_webhook_circuit_open",
      help: "1 for each webhook that is left alone for a while because it gave no answer.",
      type: "gauge",
      labels: ["name", "type"],
    },
    () =>
      (["mutating", "validating"] as const).flatMap((phase) => {
        const type: WebhookType = phase === "mutating" ? "admit" : "validating";
        const silent = lists[phase].silent.map(({ name }) => name);
        return [...new Set(silent)].map((name) => ({ labels: [name, type], value: 1 }));
      }),
  );
}
