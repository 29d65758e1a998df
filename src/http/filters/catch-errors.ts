/**
 * The only place that catches errors. A `StatusError` becomes its `Status` in the negotiated encoding, and so do a full
 * disk and a store that has failed. Any other error is a bug: one line in the log with its stack, and a 500 without details.
 */
import { badRequest, internalError, serviceUnavailable, StatusError, timeout } from "#meta/status-error.ts";
import { attempt } from "#std/maybe-promise.ts";
import { isTooDeep } from "#std/too-deep.ts";
import { OutcomeUnknown, StorageFailure, StorageRefusal, Unavailable } from "#storage/log-store.ts";
import type { ApiRequest, Reply } from "../api-request.ts";
import { MadeContent } from "../object-reply.ts";
import { encodeObject } from "../encode-reply.ts";
import type { Negotiator } from "../negotiation.ts";
import { type Filter, withHeaders } from "./filter.ts";

/** Turns a failure into a reply. */
export type ErrorReply = (request: ApiRequest, error: StatusError) => Reply;

export function errorReplies(negotiator: Negotiator): ErrorReply {
  return (request, { status }) => {
    const reply = encodeObject(status.code, negotiator.status(request), new MadeContent(status));
    const retryAfter = status.details?.retryAfterSeconds ?? 0;
    return retryAfter === 0 ? reply : withHeaders(reply, { "retry-after": String(retryAfter) });
  };
}

interface CatchErrorsOptions {
  readonly errorReply: ErrorReply;
  readonly log: { error(fields: object, message: string): void };
}

export function catchErrors({ errorReply, log }: CatchErrorsOptions): Filter {
  const answer = (error: unknown, request: ApiRequest): Reply => {
    if (error instanceof StatusError) {
      // The cause contains the private details of a failure of this server.
      if (error.status.code >= 500 && error.cause !== undefined) {
        log.error({ error: error.cause, ...describe(request) }, "a request failed");
      }
      return errorReply(request, error);
    }
    // Clients can wait, or delete something; the health check logs the full disk.
    if (error instanceof Unavailable) return errorReply(request, serviceUnavailable(error.message));
    if (error instanceof OutcomeUnknown) return errorReply(request, timeout(error.message));
    if (error instanceof StorageRefusal) return errorReply(request, internalError(error.message));
    if (error instanceof StorageFailure && !request.aborted) {
      log.error({ error, ...describe(request) }, "the store could not be read or written");
      return errorReply(
        request,
        internalError(
          `the store could not be read or written, the server's log says why (audit ID ${request.auditId})`,
        ),
      );
    }
    // The client caused this error.
    if (isTooDeep(error)) return errorReply(request, badRequest("the object is nested too deeply", error));
    // An aborted request ends in errors of all kinds; the client has gone.
    if (!request.aborted) log.error({ error, ...describe(request) }, "a request failed unexpectedly");
    return errorReply(request, internalError(`the request failed unexpectedly (audit ID ${request.auditId})`));
  };
  return (request, next) => attempt(next, request, answer);
}

function describe(request: ApiRequest): object {
  return { method: request.method, path: request.path, auditId: request.auditId };
}
