/** Paths outside the API: health, version, metrics, and the paths of this program under `/binnacle/`. */
import type { HandledRequest, Reply } from "#http/api-request.ts";
import type { Health } from "#http/health.ts";
import type { RequestMetrics } from "#http/request-metrics.ts";
import { versionDocument, versionReply } from "#publication/version.ts";
import { badRequest, internalError, methodUnknown } from "#meta/status-error.ts";
import { isObject } from "#std/is-object.ts";
import type { Log } from "#std/log.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Revision } from "#storage/log-store.ts";
import { isDebugFlags, replyDebugFlags } from "./debug-flags.ts";
import type { HealthMetrics } from "./health-metrics.ts";
import type { ServingProcess } from "./processes.ts";

/** The path at which `binnacle backup` asks a running server for a copy; the body is `{"file": "<absolute path>"}`. */
export const backupPath = "/binnacle/v1/backup";

/**
 * The path at which `binnacle compact` requests a compaction; the body is `{"revision": "12"}` or `{"olderThanSeconds":
 * 3600}`.
 */
export const compactPath = "/binnacle/v1/compact";

interface EndpointParts {
  readonly health: Health;
  readonly healthMetrics: HealthMetrics;
  readonly requestMetrics: RequestMetrics;
  readonly log: Pick<Log, "setVerbosity">;
  /** Writes a consistent copy of the store to a file, and resolves with the revision of the copy. */
  readonly backup: Backup;
  readonly compact: Compact;
  /** This program's version. */
  readonly version: string;
  /** This process, if there are several, whose metrics are on one page. */
  readonly processes: Pick<ServingProcess, "gatherMetrics"> | undefined;
  /** Answers `/flagz` and `/statusz`, as far as they are on. */
  zPages(request: HandledRequest): Reply | undefined;
}

/** Rejects when there is no store on disk. */
export type Backup = (file: string) => Promise<Revision>;

/** The end of the history to drop: a revision, or the minimum age of replaced versions. */
type HistoryEnd = { readonly revision: Revision } | { readonly olderThanMs: number };

/** Drops history and frees its space. Rejects when there is no log to compact. */
export type Compact = (before: HistoryEnd) => Promise<{ readonly revision: Revision; readonly bytes: number }>;

/** Answers requests for these paths; `undefined` for all other paths. Permission has been checked. */
export type Endpoints = (request: HandledRequest) => MaybePromise<Reply> | undefined;

export function serverEndpoints(parts: EndpointParts): Endpoints {
  const { health, healthMetrics, requestMetrics, backup, compact, log } = parts;
  const document = versionDocument(parts.version);
  return (request) => {
    if (request.path === backupPath) return copyTo(backup, request);
    if (request.path === compactPath) return drop(compact, request);
    if (request.path === "/version" && request.method !== "GET" && request.method !== "HEAD") throw methodUnknown();
    if (isDebugFlags(request.path)) return replyDebugFlags(request, log.setVerbosity);
    return (
      health.reply(request) ??
      healthMetrics.reply(request) ??
      requestMetrics.reply(request, parts.processes?.gatherMetrics) ??
      parts.zPages(request) ??
      versionReply(document, request)
    );
  };
}

async function copyTo(backup: Backup, request: HandledRequest): Promise<Reply> {
  const { file } = await bodyOf(request);
  if (typeof file !== "string" || !/^(?:\/|[A-Za-z]:[\\/])/.test(file))
    throw badRequest("file must be an absolute path");
  let revision: number;
  try {
    revision = await backup(file);
  } catch (cause) {
    throw internalError(`the backup failed: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  }
  return jsonReply({ file, revision: String(revision) });
}

async function drop(compact: Compact, request: HandledRequest): Promise<Reply> {
  const { revision, olderThanSeconds } = await bodyOf(request);
  const before = historyEnd(revision, olderThanSeconds);
  let dropped: Awaited<ReturnType<Compact>>;
  try {
    dropped = await compact(before);
  } catch (cause) {
    throw internalError(`the compaction failed: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  }
  return jsonReply({ revision: String(dropped.revision), bytes: dropped.bytes });
}

function historyEnd(revision: unknown, olderThanSeconds: unknown): HistoryEnd {
  if (typeof revision === "string" && /^[0-9]{1,15}$/.test(revision) && olderThanSeconds === undefined) {
    return { revision: Number(revision) };
  }
  if (typeof olderThanSeconds === "number" && olderThanSeconds >= 0 && revision === undefined) {
    return { olderThanMs: olderThanSeconds * 1000 };
  }
  throw badRequest("the body must have a revision, as text, or olderThanSeconds, as a number, and not both");
}

async function bodyOf(request: HandledRequest): Promise<Readonly<Record<string, unknown>>> {
  if (request.method !== "POST") throw methodUnknown();
  const bytes = await request.body(16_384);
  let body: unknown;
  try {
    body = JSON.parse(bytes.toString());
  } catch (cause) {
    throw badRequest("the body must be JSON", cause);
  }
  if (!isObject(body)) throw badRequest("the body must be a JSON object");
  return body;
}

const jsonReply = (value: object): Reply => ({
  code: 200,
  bytes: Buffer.from(`${JSON.stringify(value)}\n`),
  contentType: "application/json",
});
