/**
 * The interface of traces: a trace is a tree of spans, which are the steps of one request with their times. `tracing/` has
 * the implementation. A request without a tracer has no span, so code asks for the span once and does no other work.
 */
import { isLate, type MaybePromise } from "./maybe-promise.ts";

/**
 * Values that a span shows. They never contain bodies, credentials or values of objects. Texts may be long, and parts of
 * longer ones: the tracer cuts and copies them, and names as well.
 */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface Span {
  /** Whether the span is sent. Otherwise only `traceparent` has a use, and attributes need not be computed. */
  readonly isRecorded: boolean;
  /** The header by which another server continues the trace. Source: W3C Trace Context. */
  readonly traceparent: string;
  /** Starts a span below this one. `kind` is `client` for a call of another server. */
  start(name: string, attributes?: SpanAttributes, kind?: "internal" | "client"): Span;
  rename(name: string): void;
  set(attributes: SpanAttributes): void;
  /** Says that the step failed by an error of a server. */
  fail(): void;
  /** Ends the span. Later calls do nothing. */
  end(): void;
}

export interface Tracer {
  /** Starts the first span of a trace. `traceparent` is the header that a client sent: its trace is only linked. */
  startTrace(name: string, traceparent: string | undefined): Span;
}

/** Returns the result of `work`, with which the span ends. */
export function during<T>(span: Span, work: () => MaybePromise<T>): MaybePromise<T> {
  let result: MaybePromise<T>;
  try {
    result = work();
  } catch (error) {
    span.end();
    throw error;
  }
  if (isLate(result)) return result.finally(() => span.end());
  span.end();
  return result;
}
