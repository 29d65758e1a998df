/** Flags of the audit log. Names and defaults are upstream's. */
import {
  boolean,
  type Bounds,
  choice,
  deprecated,
  duration,
  type Flag,
  fraction,
  integer,
  optional,
  optionalDuration,
  type OptionsOf,
} from "#std/flags.ts";

const audit = (name: string) => [name, "Auditing"] as const;

const modes = ["batch", "blocking", "blocking-strict"] as const;
const count: Bounds = { min: 0, max: 1_000_000_000 };
const positive: Bounds = { ...count, min: 1 };

const modeFlag = (backend: "log" | "webhook", initial: (typeof modes)[number]) =>
  choice(
    audit(`audit-${backend}-mode`),
    initial,
    modes,
    "How far requests wait for their events: batch not at all, blocking until they are kept, blocking-strict refuses requests whose first event is not.",
  );

const bufferSize = (backend: string) =>
  integer(
    audit(`audit-${backend}-batch-buffer-size`),
    10_000,
    positive,
    "Most events that wait in the mode batch; more are lost.",
  );
const maxSize = (backend: string, initial: number) =>
  integer(audit(`audit-${backend}-batch-max-size`), initial, positive, "Most events of a batch.");
const maxWait = (backend: string, initialMs: number) =>
  duration(
    audit(`audit-${backend}-batch-max-wait`),
    initialMs,
    "A batch that is not full goes out when its first event waited so long.",
  );
const throttleEnable = (backend: string, initial: boolean) =>
  boolean(audit(`audit-${backend}-batch-throttle-enable`), initial, "Limit the rate of batches.");
const throttleQps = (backend: string, initial: number): Flag<number> =>
  fraction(audit(`audit-${backend}-batch-throttle-qps`), initial, count, "Batches a second, on average.");
const throttleBurst = (backend: string, initial: number) =>
  integer(audit(`audit-${backend}-batch-throttle-burst`), initial, count, "Batches that may go at once after a pause.");
const truncateEnabled = (backend: string) =>
  boolean(audit(`audit-${backend}-truncate-enabled`), false, "Take the objects out of events that are too large.");
const truncateMaxEventSize = (backend: string) =>
  integer(audit(`audit-${backend}-truncate-max-event-size`), 102_400, positive, "Most bytes of an event.");
const truncateMaxBatchSize = (backend: string) =>
  integer(audit(`audit-${backend}-truncate-max-batch-size`), 10_485_760, positive, "Most bytes of a batch.");
const version = (backend: string) =>
  choice(
    audit(`audit-${backend}-version`),
    "audit.k8s.io/v1",
    ["audit.k8s.io/v1"],
    "Version of events; in other domains it has the domain's name.",
  );

export const auditFlags = {
  auditPolicyFile: optional(
    audit("audit-policy-file"),
    "file",
    "Policy: what is recorded of which requests. Without it, nothing is.",
  ),

  auditLogPath: optional(
    audit("audit-log-path"),
    "file",
    "File of audit events, one a line; - for standard output. Made with its folder.",
  ),
  auditLogMaxAge: integer(audit("audit-log-maxage"), 0, count, "Days that full files are kept; 0 for ever."),
  auditLogMaxBackup: integer(audit("audit-log-maxbackup"), 0, count, "Full files that are kept; 0 for all."),
  auditLogMaxSize: integer(
    audit("audit-log-maxsize"),
    0,
    count,
    "Megabytes after which a file is full and put aside; 0 for 100.",
  ),
  auditLogCompress: boolean(audit("audit-log-compress"), false, "Compress full files with gzip."),
  auditLogFormat: choice(
    audit("audit-log-format"),
    "json",
    ["json", "legacy"],
    "Form of lines: the whole event as JSON, or a summary.",
  ),
  auditLogMode: modeFlag("log", "blocking"),
  auditLogBatchBufferSize: bufferSize("log"),
  auditLogBatchMaxSize: maxSize("log", 1),
  auditLogBatchMaxWaitMs: maxWait("log", 0),
  auditLogBatchThrottleEnable: throttleEnable("log", false),
  auditLogBatchThrottleQps: throttleQps("log", 0),
  auditLogBatchThrottleBurst: throttleBurst("log", 0),
  auditLogTruncateEnabled: truncateEnabled("log"),
  auditLogTruncateMaxEventSize: truncateMaxEventSize("log"),
  auditLogTruncateMaxBatchSize: truncateMaxBatchSize("log"),
  auditLogVersion: version("log"),

  auditWebhookConfigFile: optional(
    audit("audit-webhook-config-file"),
    "file",
    "Kubeconfig of a webhook that audit events are sent to.",
  ),
  auditWebhookInitialBackoffMs: duration(
    audit("audit-webhook-initial-backoff"),
    10_000,
    "Wait before a call that failed is made again.",
  ),
  auditWebhookBatchInitialBackoffMs: deprecated(
    optionalDuration(
      audit("audit-webhook-batch-initial-backoff"),
      "Takes the place of --audit-webhook-initial-backoff.",
    ),
    "its name is --audit-webhook-initial-backoff",
  ),
  auditWebhookMode: modeFlag("webhook", "batch"),
  auditWebhookBatchBufferSize: bufferSize("webhook"),
  auditWebhookBatchMaxSize: maxSize("webhook", 400),
  auditWebhookBatchMaxWaitMs: maxWait("webhook", 30_000),
  auditWebhookBatchThrottleEnable: throttleEnable("webhook", true),
  auditWebhookBatchThrottleQps: throttleQps("webhook", 10),
  auditWebhookBatchThrottleBurst: throttleBurst("webhook", 15),
  auditWebhookTruncateEnabled: truncateEnabled("webhook"),
  auditWebhookTruncateMaxEventSize: truncateMaxEventSize("webhook"),
  auditWebhookTruncateMaxBatchSize: truncateMaxBatchSize("webhook"),
  auditWebhookVersion: version("webhook"),
};

export type AuditFlags = OptionsOf<typeof auditFlags>;
