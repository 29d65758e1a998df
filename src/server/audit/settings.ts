/** Converts the flags of the audit log to settings of its backends. */
import type { BackendSettings, LogSettings } from "#audit/open-backends.ts";
import { StartError } from "#std/start-error.ts";
import type { AuditFlags } from "./flags.ts";

/** Throws `StartError` for flags that cannot be combined. */
export function checkAuditFlags(options: AuditFlags): void {
  for (const backend of ["log", "webhook"] as const) {
    const { throttle, truncate } = backendSettings(options, backend);
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

const megabyte = 1024 * 1024;
const dayMs = 24 * 60 * 60_000;

/** Returns the settings of the log backend; `undefined` without a log. */
export function logSettings(options: AuditFlags, sharing: LogSettings["sharing"]): LogSettings | undefined {
  if (options.auditLogPath === undefined) return undefined;
  return {
    ...backendSettings(options, "log"),
    path: options.auditLogPath,
    format: options.auditLogFormat,
    bytesMax: (options.auditLogMaxSize || 100) * megabyte,
    keepMs: options.auditLogMaxAge * dayMs,
    backupsMax: options.auditLogMaxBackup,
    compress: options.auditLogCompress,
    sharing,
  };
}

/** Returns the settings of a backend, without those that only one of them has. */
export function backendSettings(options: AuditFlags, backend: "log" | "webhook"): BackendSettings {
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
