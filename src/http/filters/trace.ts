/**
 * Spans of requests, and of filters that may wait. Every request begins a trace of its own: that of the client, which may be
 * anybody, is linked, and does not decide whether this one is recorded. Source: upstream's `endpoints/filters/traces.go` and
 * its attributes, which are those of `otelhttp`.
 */
import { andThen, isLate } from "#std/maybe-promise.ts";
import type { SpanAttributes, Tracer } from "#std/tracer.ts";
import type { ApiRequest, Reply, RequestInfo } from "../api-request.ts";
import { printedTarget, splitTarget } from "../request-info.ts";
import { type Filter, whenDone } from "./filter.ts";

/** Starts the span of a request, which ends when the answer was written or given up. */
export function trace(tracer: Tracer): Filter {
  return (request, next) => {
    const span = tracer.startTrace(spanMethod(request.method), request.headers["traceparent"]);
    request.span = span;
    if (!span.isRecorded) return next(request);
    span.set(requestAttributes(request));
    return andThen(next(request), (reply) => {
      span.rename(nameOf(request));
      span.set(replyAttributes(request, reply));
      if (reply.code >= 500) span.fail();
      return whenDone(reply, () => span.end());
    });
  };
}

/** Gives a filter a span, which ends when the filter lets the request pass, or has answered it. */
export function inOwnSpan(name: string, filter: Filter): Filter {
  return (request, next) => {
    if (request.span?.isRecorded !== true) return filter(request, next);
    const span = request.span.start(name);
    try {
      const reply = filter(request, (passed) => {
        span.end();
        return next(passed);
      });
      if (isLate(reply)) return reply.finally(() => span.end());
      span.end();
      return reply;
    } catch (error) {
      span.end();
      throw error;
    }
  };
}

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE"]);

/**
 * Returns the method as spans show it. A client of HTTP/2 may send any text as its method, and names of spans are few.
 * Source: the semantic conventions of OpenTelemetry.
 */
export const spanMethod = (method: string): string => (methods.has(method) ? method : "_OTHER");

function requestAttributes({ method, url, headers, remoteAddress, protocol }: ApiRequest): SpanAttributes {
  const host = headers["host"] ?? headers[":authority"] ?? "";
  return {
    "http.method": spanMethod(method),
    "http.scheme": "https",
    "http.target": targetOf(url),
    "net.host.name": host.replace(/:\d*$/, ""),
    "net.protocol.version": protocol.slice("HTTP/".length),
    "net.sock.peer.addr": remoteAddress,
    "user_agent.original": headers["user-agent"] ?? "",
  };
}

/**
 * Returns the target as a span shows it. Commands and requests to pods may have anything in their parameters, so these are
 * left out, also where the path is escaped or malformed.
 */
function targetOf(url: string): string {
  const path = splitTarget(url)?.path;
  const target = printedTarget(url);
  if (path !== undefined && !/\/(?:exec|attach|portforward|proxy)(?:\/|$)/.test(path)) return target;
  return target.split("?", 1)[0]!;
}

function replyAttributes({ bodyBytes }: ApiRequest, { code, bytes }: Reply): SpanAttributes {
  return {
    "http.status_code": code,
    ...(bodyBytes === undefined ? {} : { "http.request_content_length": bodyBytes }),
    ...(Buffer.isBuffer(bytes) ? { "http.response_content_length": bytes.length } : {}),
  };
}

/** Returns the name of the span: the method, and for resources the path without the names in it. */
function nameOf({ method, info }: ApiRequest): string {
  const shown = spanMethod(method);
  return info.isResourceRequest ? `${shown} ${pathForm(info)}` : shown;
}

function pathForm({ apiPrefix, group, version, namespace, resource, name, subresource }: RequestInfo): string {
  const parts = [
    apiPrefix,
    group,
    version,
    namespace === "" ? "" : "namespaces/{:namespace}",
    resource,
    name === "" ? "" : "{:name}",
    subresource,
  ];
  return `/${parts.filter((part) => part !== "").join("/")}`;
}
