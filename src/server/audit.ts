/**
 * The audit log of a server: the policy is read before anything is opened, the backends are opened before requests are
 * answered and closed after the last. Loaded only where `--audit-policy-file` is given.
 */
import { type AuditBackend, blocking, type EventsLost, type EventWriter, truncating, unionOf } from "#audit/backend.ts";
import { Batching } from "#audit/batching.ts";
import { legacyLine } from "#audit/event.ts";
import { type LineOf, openLogFile, streamWriter } from "#audit/log-file.ts";
import { AuditPolicy, type PolicyDocument, policyErrors } from "#audit/policy.ts";
import { auditWebhook } from "#audit/webhook.ts";
import { type AuditFilters, auditFilters } from "#http/audit-requests.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import type { Metrics } from "#std/metrics.ts";
import type { Random } from "#std/random.ts";
import {
  anyValue,
  booleanValue,
  ConfigError,
  listOf,
  readDocument,
  refuseWith,
  struct,
  textValue,
} from "#codec/config-document.ts";
import { reasonOf } from "#std/system-error.ts";
import { readGiven } from "./credentials.ts";
import type { ServerOptions } from "./options.ts";
import { StartError } from "#std/start-error.ts";
import { openWebhook, readWebhookConnection, type WebhookConnection } from "#client/webhook-connection.ts";

/** What was read and understood. */
export interface AuditPlan {
  readonly policy: AuditPolicy;
  readonly webhook: WebhookConnection | undefined;
}

const texts = listOf(textValue);
const policyFields = {
  // Without meaning here.
  metadata: anyValue,
  omitStages: texts,
  omitManagedFields: booleanValue,
  rules: listOf(
    struct({
      level: textValue,
      users: texts,
      userGroups: texts,
      verbs: texts,
      resources: listOf(struct({ group: textValue, resources: texts, resourceNames: texts })),
      namespaces: texts,
      nonResourceURLs: texts,
      omitStages: texts,
      omitManagedFields: booleanValue,
    }),
  ),
};

/** Reads the files. Throws `StartError`; `file` is that of the policy. */
export function planAudit(file: string, options: ServerOptions, domain: ApiDomain): AuditPlan {
  checkFlags(options);
  const text = readGiven(file);
  try {
    const { auditWebhookConfigFile: webhookFile } = options;
    return {
      policy: readPolicy(text, file, domain),
      webhook: webhookFile === undefined ? undefined : readWebhookConnection(webhookFile),
    };
  } catch (error) {
    if (error instanceof ConfigError) throw new StartError(error.message, { cause: error });
    throw error;
  }
}

function readPolicy(text: string, file: string, domain: ApiDomain): AuditPolicy {
  try {
    const document = readDocument<PolicyDocument>(text, {
      kind: "Policy",
      apiVersions: [domain.rename(eventVersion)],
      fields: policyFields,
    });
    refuseWith(policyErrors(document));
    return new AuditPolicy(document);
  } catch (error) {
    if (error instanceof ConfigError) throw new ConfigError(`${file}: ${error.message}`, { cause: error });
    throw error;
  }
}

const eventVersion = "audit.k8s.io/v1";
const truncatedAnnotation = "audit.k8s.io/truncated";

function checkFlags(options: ServerOptions): void {
  for (const backend of ["log", "webhook"] as const) {
    const { throttle, truncate } = settingsOf(options, backend);
    if (throttle !== undefined && throttle.qps <= 0) {
      throw new StartError(`--audit-${backend}-batch-throttle-qps must be more than 0 when batches are throttled`);
    }
    if (throttle !== undefined && throttle.burst <= 0) {
      throw new StartError(`--audit-${backend}-batch-throttle-burst must be more than 0 when batches are throttled`);
    }
    if (truncate !== undefined && truncate.batchBytesMax < truncate.eventBytesMax) {
      throw new StartError(
        `--audit-${backend}-truncate-max-batch-size must not be less than --audit-${backend}-truncate-max-event-size`,
      );
    }
  }
}

interface BackendSettings {
  readonly mode: ServerOptions["auditLogMode"];
  readonly batch: { readonly bufferSize: number; readonly maxSize: number; readonly maxWaitMs: number };
  readonly throttle: { readonly qps: number; readonly burst: number } | undefined;
  readonly truncate: { readonly eventBytesMax: number; readonly batchBytesMax: number } | undefined;
}

function settingsOf(options: ServerOptions, backend: "log" | "webhook"): BackendSettings {
  const prefix = backend === "log" ? "auditLog" : "auditWebhook";
  return {
    mode: options[`${prefix}Mode`],
    batch: {
      bufferSize: options[`${prefix}BatchBufferSize`],
      maxSize: options[`${prefix}BatchMaxSize`],
      maxWaitMs: options[`${prefix}BatchMaxWaitMs`],
    },
    throttle: options[`${prefix}BatchThrottleEnable`]
      ? { qps: options[`${prefix}BatchThrottleQps`], burst: options[`${prefix}BatchThrottleBurst`] }
      : undefined,
    truncate: options[`${prefix}TruncateEnabled`]
      ? {
          eventBytesMax: options[`${prefix}TruncateMaxEventSize`],
          batchBytesMax: options[`${prefix}TruncateMaxBatchSize`],
        }
      : undefined,
  };
}

export interface AuditParts {
  readonly options: ServerOptions;
  readonly domain: ApiDomain;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
}

export interface RunningAudit {
  readonly filters: AuditFilters;
  /** Resolves when every event is kept, or given up after a minute. */
  close(): Promise<void>;
}

/** How long a stop waits for a webhook that does not answer. */
const closeMs = 60_000;
const megabyte = 1024 * 1024;
const dayMs = 24 * 60 * 60_000;
/** Upstream: batches for a webhook do not wait for each other. */
const webhookCallsMax = 16;

/** Opens the backends. Rejects with `StartError`. `undefined` when there is none to tell. */
export async function openAudit(plan: AuditPlan, parts: AuditParts): Promise<RunningAudit | undefined> {
  const { options, domain, clock, random, log, metrics } = parts;
  const ended = new AbortController();
  const { lost, tellRest } = lossesTold(log, metrics, clock);
  const apiVersion = domain.rename(eventVersion);
  const backends: AuditBackend[] = [];
  if (options.auditLogPath !== undefined) {
    backends.push(openBackend("log", await openLog(options.auditLogPath, apiVersion, parts, lost), parts, lost));
  }
  const { webhook } = plan;
  if (webhook !== undefined) {
    const writer = auditWebhook({
      outgoing: openWebhook(webhook, clock),
      url: webhook.url,
      headers: webhook.headers,
      apiVersion,
      initialBackoffMs: options.auditWebhookInitialBackoffMs,
      clock,
      random,
      signal: ended.signal,
    });
    backends.push(openBackend("webhook", writer, parts, lost));
  }
  if (backends.length === 0) {
    log.warn({}, "there is an audit policy, but neither --audit-log-path nor --audit-webhook-config-file");
    return undefined;
  }
  const backend = unionOf(backends);
  const byLevel = metrics.counter({
    name: "apiserver_audit_level_total",
    help: "Counter of policy levels for audit events (1 per request).",
    labels: ["level"],
  });
  const events = metrics.counter({
    name: "apiserver_audit_event_total",
    help: "Counter of audit events generated and sent to the audit backend.",
  });
  const rejected = metrics.counter({
    name: "apiserver_audit_requests_rejected_total",
    help: "Counter of apiserver requests rejected due to an error in audit logging backend.",
  });
  return {
    filters: auditFilters({
      policy: plan.policy,
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
      tellRest();
    },
  };
}

async function openLog(path: string, apiVersion: string, parts: AuditParts, lost: EventsLost): Promise<EventWriter> {
  const { options, clock } = parts;
  const lineOf: LineOf = (record) =>
    options.auditLogFormat === "json" ? record.line(apiVersion) : legacyLine(record.event);
  if (path === "-") return streamWriter(process.stdout, lineOf);
  try {
    return await openLogFile({
      file: path,
      lineOf,
      clock,
      bytesMax: (options.auditLogMaxSize || 100) * megabyte,
      keepMs: options.auditLogMaxAge * dayMs,
      backupsMax: options.auditLogMaxBackup,
      compress: options.auditLogCompress,
      failed: (error) => lost("log", 0, error),
    });
  } catch (error) {
    throw new StartError(`--audit-log-path: ${path} cannot be opened: ${reasonOf(error)}`, { cause: error });
  }
}

function openBackend(
  name: "log" | "webhook",
  writer: EventWriter,
  { options, domain, clock }: AuditParts,
  lost: EventsLost,
): AuditBackend {
  const { mode, batch, throttle, truncate } = settingsOf(options, name);
  const backend =
    mode === "batch"
      ? new Batching(writer, {
          ...batch,
          plugin: name,
          clock,
          parallel: name === "webhook" ? webhookCallsMax : 1,
          lost,
          ...(throttle === undefined ? {} : { throttle }),
          ...(truncate === undefined ? {} : { maxBytes: truncate.batchBytesMax }),
        })
      : blocking(name, writer, mode === "blocking-strict", lost);
  if (truncate === undefined) return backend;
  const annotation = domain.rename(truncatedAnnotation);
  return truncating(backend, { eventBytesMax: truncate.eventBytesMax, annotation }, lost);
}

/** How long the log is quiet about losses after it told of one. */
const tellEveryMs = 10_000;

/** Counts what is lost, and says so once in a while. */
function lossesTold(log: Log, metrics: Metrics, clock: Clock): { lost: EventsLost; tellRest(): void } {
  let untold = 0;
  const tell = (fields: object): void => {
    log.error({ ...fields, events: untold }, untold === 0 ? "the audit log is not tidy" : "audit events are lost");
    untold = 0;
  };
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  const errors = metrics.counter({
    name: "apiserver_audit_error_total",
    help: "Counter of audit events that failed to be audited properly. Plugin identifies the plugin affected by the error.",
    labels: ["plugin"],
  });
  return {
    lost(plugin, count, error) {
      errors.with(plugin).add(count);
      untold += count;
      const now = clock.monotonic();
      if (now < quietUntilMs) return;
      quietUntilMs = now + tellEveryMs;
      tell({ plugin, error });
    },
    tellRest() {
      if (untold > 0) tell({});
    },
  };
}
