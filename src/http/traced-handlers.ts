/**
 * Spans of handlers and of their encoded answers. Source of names and attributes: upstream's `endpoints/handlers`; the span
 * of a watch ends when it has begun.
 */
import { during, type Span, type SpanAttributes } from "#std/tracer.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { ApiRequest, Reply } from "./api-request.ts";
import { encodeReply } from "./encode-reply.ts";
import type { Handler } from "./filters/filter.ts";
import { spanMethod } from "./filters/trace.ts";
import type { Scope } from "./scope.ts";

const names: Readonly<Record<string, string>> = {
  get: "Get",
  list: "List",
  watch: "Watch",
  create: "Create",
  update: "Update",
  patch: "Patch",
  delete: "Delete",
  deletecollection: "Delete",
};

/** Gives the handlers of resources a span, below which they do their work. */
export function traceHandlers(route: Handler): Handler {
  return (request) => {
    const { span, info } = request;
    const name = info.isResourceRequest ? names[info.verb] : undefined;
    if (span?.isRecorded !== true || name === undefined) return route(request);
    const handling = span.start(name, attributesOf(request));
    request.span = handling;
    return during(handling, () => route(request));
  };
}

function attributesOf({ info, auditId, headers, method, path, protocol, remoteAddress }: ApiRequest): SpanAttributes {
  return {
    accept: headers["accept"] ?? "",
    "audit-id": auditId,
    client: remoteAddress,
    "api-group": info.group,
    "api-version": info.version,
    name: info.name,
    subresource: info.subresource,
    namespace: info.namespace,
    protocol,
    resource: info.resource,
    scope: info.name !== "" || info.verb === "create" ? "resource" : info.namespace === "" ? "cluster" : "namespace",
    url: path,
    "user-agent": headers["user-agent"] ?? "",
    verb: info.verb === "list" || info.verb === "watch" ? info.verb.toUpperCase() : method,
  };
}

/** Encodes a reply in a span of its own. */
export function encodeInSpan(reply: Reply, scope: Pick<Scope, "parts" | "request">, span: Span): MaybePromise<Reply> {
  const { encoding } = reply;
  if (encoding === undefined || reply.events !== undefined) return encodeReply(reply, scope);
  const { request } = scope;
  const encodingSpan = span.start("SerializeObject", {
    "audit-id": request.auditId,
    method: spanMethod(request.method),
    url: request.path,
    mediaType: encoding.mediaType,
  });
  return during(encodingSpan, () => encodeReply(reply, scope));
}
