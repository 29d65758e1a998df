/** Paths outside the API: health, version, metrics, and the program's own under `/binnacle/`. */
import type { ApiRequest, Reply } from "#http/api-request.ts";
import type { Health } from "#http/health.ts";
import type { RequestMetrics } from "#http/request-metrics.ts";
import { versionDocument, versionReply } from "#publication/version.ts";
import { badRequest, internalError, methodUnknown } from "#meta/status-error.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Revision } from "#storage/log-store.ts";

/** Where `binnacle backup` asks a running server for a copy; the body is `{"file": "<absolute path>"}`. */
export const backupPath = "/binnacle/v1/backup";

export interface EndpointParts {
  readonly health: Health;
  readonly requestMetrics: RequestMetrics;
  /** Writes a consistent copy of the store to a file, and resolves with the revision that it shows. */
  readonly backup: Backup;
  /** This program's version. */
  readonly version: string;
}

/** Rejects when there is no store to copy. */
export type Backup = (file: string) => Promise<Revision>;

/** Answers these paths; `undefined` for all others. Permission has been checked. */
export type Endpoints = (request: ApiRequest) => MaybePromise<Reply> | undefined;

export function serverEndpoints({ health, requestMetrics, backup, version }: EndpointParts): Endpoints {
  const document = versionDocument(version);
  return (request) => {
    if (request.path === backupPath) return copyTo(backup, request);
    if (request.path === "/version" && request.method !== "GET" && request.method !== "HEAD") throw methodUnknown();
    return health.reply(request) ?? requestMetrics.reply(request) ?? versionReply(document, request);
  };
}

async function copyTo(backup: Backup, request: ApiRequest): Promise<Reply> {
  if (request.method !== "POST") throw methodUnknown();
  const body = await request.body(16_384);
  let file: unknown;
  try {
    ({ file } = JSON.parse(body.toString()) as { file?: unknown });
  } catch (cause) {
    throw badRequest("the body must be JSON", cause);
  }
  if (typeof file !== "string" || !/^(?:\/|[A-Za-z]:[\\/])/.test(file))
    throw badRequest("file must be an absolute path");
  let revision: number;
  try {
    revision = await backup(file);
  } catch (cause) {
    throw internalError(`the backup failed: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  }
  const done = { file, revision: String(revision) };
  return { code: 200, bytes: Buffer.from(`${JSON.stringify(done)}\n`), contentType: "application/json" };
}
