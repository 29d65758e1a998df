/**
 * Opens the audit backends of a server: a log, a webhook, or both, each with its mode, batches, rate limit and size
 * limits.
 */
import type { OpenTunnel } from "#egress/proxy-tunnel.ts";
import { openWebhook, type WebhookConnection } from "#egress/webhook-connection.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Clock } from "#std/clock.ts";
import type { Random } from "#std/random.ts";
import { StartError } from "#std/start-error.ts";
import { reasonOf } from "#std/system-error.ts";
import { type AuditBackend, blockingBackend, type EventsLost, type EventWriter, truncatingBackend } from "./backend.ts";
import { Batching } from "./batching.ts";
import { auditVersion } from "./configuration.ts";
import { legacyLine } from "./event.ts";
import { type FileSharing, type LineOf, openLogFile, streamWriter } from "./log-file.ts";
import { auditWebhook } from "./webhook.ts";

/** The mode in which events reach a backend, and its limits. */
export interface BackendSettings {
  readonly mode: "batch" | "blocking" | "blocking-strict";
  readonly batch: { readonly bufferSize: number; readonly maxSize: number; readonly maxWaitMs: number };
  readonly throttle: { readonly qps: number; readonly burst: number } | undefined;
  readonly truncate: { readonly eventBytesMax: number; readonly batchBytesMax: number } | undefined;
}

export interface LogSettings extends BackendSettings {
  /** The path of the file; `-` for standard output. */
  readonly path: string;
  readonly format: "json" | "legacy";
  readonly bytesMax: number;
  /** The time in milliseconds for which rotated files are kept; 0 for no limit. */
  readonly keepMs: number;
  /** The maximum number of rotated files; 0 for no limit. */
  readonly backupsMax: number;
  readonly compress: boolean;
  /** Whether other processes write the file, too, and whether this one rotates it. */
  readonly sharing: FileSharing;
}

interface AuditWebhookSettings extends BackendSettings {
  readonly connection: WebhookConnection;
  /** Begins the connections, through a proxy; `undefined` where they are direct. */
  readonly tunnel: OpenTunnel | undefined;
  readonly initialBackoffMs: number;
}

interface BackendParts {
  /** The settings of the log; `undefined` without a log. */
  readonly log: LogSettings | undefined;
  readonly webhook: AuditWebhookSettings | undefined;
  readonly domain: ApiDomain;
  readonly clock: Clock;
  readonly random: Random;
  /** Ends the calls of the webhook. */
  readonly signal: AbortSignal;
  readonly lost: EventsLost;
}

/** The annotation of events whose objects were removed. */
export const truncatedAnnotation = "audit.k8s.io/truncated";

/** The maximum number of concurrent calls of the webhook: as upstream, batches do not wait for each other. */
const webhookCallsMax = 16;

/** Opens the configured backends. Rejects with `StartError`. */
export async function openBackends(parts: BackendParts): Promise<readonly AuditBackend[]> {
  const { log, webhook, domain, clock, random, signal } = parts;
  const apiVersion = domain.rename(auditVersion);
  const backends: AuditBackend[] = [];
  if (log !== undefined) backends.push(openBackend("log", await openLog(log, apiVersion, parts), log, parts));
  if (webhook !== undefined) {
    const { connection, tunnel, initialBackoffMs } = webhook;
    const hook = openWebhook(connection, clock, tunnel);
    const writer = auditWebhook({ ...hook, apiVersion, initialBackoffMs, clock, random, signal });
    backends.push(openBackend("webhook", writer, webhook, parts));
  }
  return backends;
}

async function openLog(settings: LogSettings, apiVersion: string, { clock, lost }: BackendParts): Promise<EventWriter> {
  const { path: file, format, ...limits } = settings;
  const lineOf: LineOf = (record) => (format === "json" ? record.line(apiVersion) : legacyLine(record.event));
  if (file === "-") return streamWriter(process.stdout, lineOf);
  const failed = (error: unknown): void => lost("log", 0, error);
  try {
    return await openLogFile({ ...limits, file, lineOf, clock, failed });
  } catch (error) {
    throw new StartError(`--audit-log-path: ${file} cannot be opened: ${reasonOf(error)}`, { cause: error });
  }
}

function openBackend(
  name: "log" | "webhook",
  writer: EventWriter,
  { mode, batch, throttle, truncate }: BackendSettings,
  { domain, clock, lost }: BackendParts,
): AuditBackend {
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
      : blockingBackend(name, writer, mode === "blocking-strict", lost);
  if (truncate === undefined) return backend;
  const annotation = domain.rename(truncatedAnnotation);
  return truncatingBackend(backend, { eventBytesMax: truncate.eventBytesMax, annotation }, lost);
}
