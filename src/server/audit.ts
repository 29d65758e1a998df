/**
 * Opens the audit log. The policy is read before anything is opened; the backends are open from before the first
 * request until after the last one. Loaded only with `--audit-policy-file`.
 */
import { unionOf } from "#audit/backend.ts";
import { readAuditPolicy } from "#audit/configuration.ts";
import { auditLossReporter } from "#audit/losses.ts";
import { openBackends, truncatedAnnotation } from "#audit/open-backends.ts";
import { AuditPolicy } from "#audit/policy.ts";
import { readWebhookConnection, type WebhookConnection } from "#egress/webhook-connection.ts";
import { type AuditFilters, auditFilters } from "#http/audit-requests.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { AuditFlags } from "./audit/flags.ts";
import { orStartError, readGiven } from "./given-files.ts";
import { checkAuditFlags, backendSettings, logSettings } from "./audit/settings.ts";
import { keepsFolder, type ServingProcess } from "./processes.ts";
import type { ServerParts } from "./server-parts.ts";

/** The parsed configuration. */
interface AuditPlan {
  readonly policy: AuditPolicy;
  readonly webhook: WebhookConnection | undefined;
}

/** Reads the files; `file` is the audit policy. Throws `StartError`. */
export function planAudit(file: string, options: AuditFlags, domain: ApiDomain): AuditPlan {
  checkAuditFlags(options);
  const text = readGiven(file);
  const { auditWebhookConfigFile: webhookFile } = options;
  return {
    policy: new AuditPolicy(orStartError(`${file}: `, () => readAuditPolicy(text, domain))),
    webhook: webhookFile === undefined ? undefined : orStartError("", () => readWebhookConnection(webhookFile)),
  };
}

export interface AuditParts extends Pick<ServerParts, "domain" | "clock" | "random" | "log" | "metrics" | "egress"> {
  readonly options: AuditFlags;
  /** This process as one of several that write the log. */
  readonly processes?: ServingProcess | undefined;
}

interface OpenAudit {
  readonly filters: AuditFilters;
  /** Resolves when every event is written, or given up after a minute. */
  close(): Promise<void>;
}

/** The maximum time in milliseconds for which a stop waits for a webhook that does not answer. */
const closeMs = 60_000;

/** Opens the backends. Resolves with `undefined` without a backend. Rejects with `StartError`. */
export async function openAudit({ policy, webhook }: AuditPlan, parts: AuditParts): Promise<OpenAudit | undefined> {
  const { options, domain, clock, random, log, metrics, egress } = parts;
  const ended = new AbortController();
  const { lost, reportRest } = auditLossReporter(log, metrics, clock);
  const backends = await openBackends({
    domain,
    clock,
    random,
    log: logSettings(options, sharingOf(parts.processes)),
    webhook: webhook && {
      ...backendSettings(options, "webhook"),
      connection: webhook,
      tunnel: egress.controlPlane,
      initialBackoffMs: options.auditWebhookBatchInitialBackoffMs ?? options.auditWebhookInitialBackoffMs,
    },
    signal: ended.signal,
    lost,
  });
  if (backends.length === 0) {
    log.warn({}, "there is an audit policy, but neither --audit-log-path nor --audit-webhook-config-file");
    return undefined;
  }
  const backend = unionOf(backends);
  const byLevel = metrics.counter({
    name: "apiserver_audit_level_total",
    help: "Requests by the level of the audit policy that holds for them.",
    labels: ["level"],
  });
  const events = metrics.counter({
    name: "apiserver_audit_event_total",
    help: "Audit events that were given to the log or the webhook.",
  });
  const rejected = metrics.counter({
    name: "apiserver_audit_requests_rejected_total",
    help: "Requests that were refused since their audit event could not be written.",
  });
  return {
    filters: auditFilters({
      policy,
      backend,
      clock,
      latencyAnnotation: domain.rename("apiserver.latency.k8s.io/total"),
      truncatedAnnotation: domain.rename(truncatedAnnotation),
      observeLevel: (level) => byLevel.with(level).add(),
      observeEvent: () => events.with().add(),
      observeRejected: () => rejected.with().add(),
    }),
    async close() {
      const giveUp = clock.after(closeMs, () => ended.abort(new Error("the server stops")));
      await backend.close();
      giveUp();
      reportRest();
    },
  };
}

/** The process that keeps the data folder rotates the file. */
function sharingOf(process: ServingProcess | undefined) {
  if (process === undefined) return "alone";
  return keepsFolder(process) ? "rotates" : "follows";
}
