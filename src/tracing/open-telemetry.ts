/**
 * Traces by OpenTelemetry's library: it chooses the traces that are recorded, and sends spans to a collector in batches, by
 * OTLP over gRPC. The packages are optional peers, loaded only with `--tracing-config-file`. Nothing that a collector does
 * or fails to do reaches a request: spans that cannot be sent are dropped, counted and logged once in a while.
 */
import { resolve } from "node:path";
import type * as otel from "@opentelemetry/api";
import type { IdGenerator, ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import type { Clock } from "#std/clock.ts";
import { type Log, rateLimited } from "#std/log.ts";
import type { Random } from "#std/random.ts";
import { reasonOf } from "#std/system-error.ts";
import type { Span, SpanAttributes, Tracer } from "#std/tracer.ts";
import type { TracingConfiguration } from "./configuration.ts";
import { attributesMax, batchLengthMax, boundedAttributes, boundedText } from "./span-bounds.ts";
import { parseTraceparent, printTraceparent, type RemoteSpan } from "./traceparent.ts";

interface TracerOptions extends TracingConfiguration {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Pick<Log, "warn">;
  /** The attributes that all spans have. */
  readonly resource: SpanAttributes;
}

export interface OpenTracer extends Tracer {
  /** Resolves when the spans are sent, or given up after some seconds. */
  close(): Promise<void>;
}

type OpenTelemetry = Awaited<ReturnType<typeof loadOpenTelemetry>>;

const packages = ["api", "resources", "sdk-trace", "exporter-trace-otlp-grpc"].map((name) => `@opentelemetry/${name}`);

/** Loads the packages. Rejects with an error that says what to install. */
export async function loadOpenTelemetry() {
  try {
    const [api, resources, sdk, exporters, grpc] = await Promise.all([
      import("@opentelemetry/api"),
      import("@opentelemetry/resources"),
      import("@opentelemetry/sdk-trace"),
      import("@opentelemetry/exporter-trace-otlp-grpc"),
      import("@grpc/grpc-js"),
    ]);
    return { api, resources, sdk, exporters, grpc };
  } catch (error) {
    const install = `npm install ${[...packages, "@grpc/grpc-js"].join(" ")}`;
    const hint = "beside binnacle; the single executable cannot load them";
    throw new Error(`traces need packages that are not there: ${install} ${hint} (${reasonOf(error)})`, {
      cause: error,
    });
  }
}

/** The maximum number of spans that wait for an export; more are dropped. */
const queueLengthMax = 8192;
/** The maximum time for which a span waits for its batch. */
const batchDelayMs = 5000;
/** The maximum time of an export with its repetitions. */
const exportTimeoutMs = 10_000;
/** The maximum time for which a stop waits for the last export. */
const closeMs = 5000;
/** The bounds of a span, beside those of its texts. */
const spanLimits = { attributeCountLimit: attributesMax, linkCountLimit: 1 };

export function openTracer(loaded: OpenTelemetry, options: TracerOptions): OpenTracer {
  const { api, resources, sdk } = loaded;
  const { clock, random, samplingRatePerMillion } = options;
  const queue = new SpanQueue(options);
  const exporter = queue.reporting(openExporter(loaded, options.endpoint));
  const batches = new sdk.BatchSpanProcessor({
    exporter,
    maxQueueSize: queueLengthMax,
    maxExportBatchSize: batchLengthMax,
    scheduledDelayMillis: batchDelayMs,
    exportTimeoutMillis: 2 * exportTimeoutMs,
  });
  const provider = new sdk.TracerProvider({
    // The traces of clients are only linked, so they have no say in what is recorded.
    sampler: new sdk.TraceIdRatioBasedSampler(samplingRatePerMillion / 1_000_000),
    resource: resources.resourceFromAttributes(options.resource),
    idGenerator: idGenerator(random),
    spanLimits,
    spanProcessors: [
      {
        onStart: (span, context) => batches.onStart(span, context),
        onEnd: (span) => {
          if (queue.add()) batches.onEnd(span);
        },
        forceFlush: () => batches.forceFlush(),
        shutdown: () => batches.shutdown(),
      },
    ],
  });
  const tracer = provider.getTracer("binnacle");
  const { SERVER } = api.SpanKind;
  return {
    startTrace(name, traceparent) {
      const remote = traceparent === undefined ? undefined : parseTraceparent(traceparent);
      const links = remote === undefined ? [] : [{ context: contextOf(remote, api) }];
      const trace: TraceParts = { api, tracer, clock, originMs: clock.now() - clock.monotonic() };
      const span = tracer.startSpan(
        boundedText(name),
        { kind: SERVER, links, startTime: timeOf(trace) },
        api.ROOT_CONTEXT,
      );
      return span.isRecording() ? new RecordedSpan(trace, span) : new UnrecordedSpan(span);
    },
    close: () => queue.closeWith(provider.shutdown().catch(() => undefined)),
  };
}

const contextOf = (
  { traceId, spanId, isSampled }: RemoteSpan,
  { TraceFlags }: OpenTelemetry["api"],
): otel.SpanContext => ({
  traceId,
  spanId,
  traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
  isRemote: true,
});

function openExporter({ exporters, grpc }: OpenTelemetry, endpoint: string): SpanExporter {
  return new exporters.OTLPTraceExporter({
    ...(endpoint === "" ? {} : { url: exporterUrl(endpoint) }),
    credentials: grpc.credentials.createInsecure(),
    timeoutMillis: exportTimeoutMs,
  });
}

/** Returns the URL that the exporter takes for a target as gRPC names it. */
export function exporterUrl(endpoint: string): string {
  const socket = /^unix:(.*)$/is.exec(endpoint)?.[1];
  if (socket !== undefined) return `unix://${resolve(socket.replace(/^\/\/(?=\/)/, ""))}`;
  const [, authority = "", target = ""] = /^dns:(?:\/\/([^/]*)\/?)?(.*)$/is.exec(endpoint) ?? [];
  if (target !== "") return `http://${target}`;
  return `http://${authority === "" ? endpoint : authority}`;
}

/** The parts that the spans of one trace share. */
interface TraceParts {
  readonly api: OpenTelemetry["api"];
  readonly tracer: otel.Tracer;
  readonly clock: Clock;
  /** The difference between the time since the epoch and the monotonic clock. */
  readonly originMs: number;
}

const timeOf = ({ clock, originMs }: TraceParts): number => originMs + clock.monotonic();

class RecordedSpan implements Span {
  readonly isRecorded = true;
  readonly #trace: TraceParts;
  readonly #span: otel.Span;
  #context: otel.Context | undefined;

  constructor(trace: TraceParts, span: otel.Span) {
    this.#trace = trace;
    this.#span = span;
  }

  get traceparent(): string {
    const { traceId, spanId } = this.#span.spanContext();
    return printTraceparent({ traceId, spanId, isSampled: true });
  }

  start(name: string, attributes?: SpanAttributes, kind: "internal" | "client" = "internal"): Span {
    const { api, tracer } = this.#trace;
    this.#context ??= api.trace.setSpan(api.ROOT_CONTEXT, this.#span);
    const { CLIENT, INTERNAL } = api.SpanKind;
    const options = { kind: kind === "client" ? CLIENT : INTERNAL, startTime: timeOf(this.#trace) };
    const given = attributes === undefined ? options : { ...options, attributes: boundedAttributes(attributes) };
    return new RecordedSpan(this.#trace, tracer.startSpan(boundedText(name), given, this.#context));
  }

  rename(name: string): void {
    this.#span.updateName(boundedText(name));
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(boundedAttributes(attributes));
  }

  fail(): void {
    this.#span.setStatus({ code: this.#trace.api.SpanStatusCode.ERROR });
  }

  end(): void {
    if (this.#span.isRecording()) this.#span.end(timeOf(this.#trace));
  }
}

/** Every span of a trace that is not recorded. */
class UnrecordedSpan implements Span {
  readonly isRecorded = false;
  readonly #span: otel.Span;

  constructor(span: otel.Span) {
    this.#span = span;
  }

  get traceparent(): string {
    const { traceId, spanId } = this.#span.spanContext();
    return printTraceparent({ traceId, spanId, isSampled: false });
  }

  start(): Span {
    return this;
  }

  rename(): void {}
  set(): void {}
  fail(): void {}
  end(): void {}
}

/** The number of random bytes that are drawn at once: to draw those of one id takes most of the time of a span. */
const drawnBytes = 4096;

function idGenerator(random: Random): IdGenerator {
  let drawn: Buffer = Buffer.alloc(0);
  let at = 0;
  const next = (length: number): string => {
    if (at + length > drawn.length) {
      drawn = random.bytes(drawnBytes);
      at = 0;
    }
    at += length;
    return drawn.toString("hex", at - length, at);
  };
  return { generateTraceId: () => next(16), generateSpanId: () => next(8) };
}

/** Counts the spans that wait for an export, and those that were lost, which the log tells once in a while. */
class SpanQueue {
  readonly #clock: Clock;
  readonly #log: Pick<Log, "warn">;
  readonly #endpoint: string;
  readonly #tellSometimes: (error: unknown) => void;
  #waiting = 0;
  #lost = 0;
  #lastError: unknown;

  constructor({ clock, log, endpoint }: TracerOptions) {
    this.#clock = clock;
    this.#log = log;
    this.#endpoint = endpoint;
    this.#tellSometimes = rateLimited(clock, () => this.#tell());
  }

  /** Counts a span. Returns false when it is dropped. */
  add(): boolean {
    if (this.#waiting < queueLengthMax) {
      this.#waiting++;
      return true;
    }
    this.#lose(1, new Error("the collector is too slow"));
    return false;
  }

  /** Returns an exporter whose failures are counted here, and which never fails. */
  reporting(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans: ReadableSpan[], done) => {
        this.#waiting -= spans.length;
        exporter.export(spans, ({ code, error }) => {
          if (code !== 0) this.#lose(spans.length, error ?? new Error("the export failed"));
          done({ code: 0 });
        });
      },
      shutdown: () => exporter.shutdown(),
    };
  }

  /** Resolves when the last export has ended, or after some seconds. */
  async closeWith(ended: Promise<void>): Promise<void> {
    let isLate = false;
    await new Promise<void>((done) => {
      const cancel = this.#clock.after(closeMs, () => {
        isLate = true;
        done();
      });
      void ended.then(() => {
        cancel();
        done();
      });
    });
    if (this.#lost > 0) this.#tell();
    if (isLate) this.#log.warn({}, "the last spans of traces could not be sent in time");
  }

  #lose(spans: number, error: Error): void {
    this.#lost += spans;
    this.#lastError = error;
    this.#tellSometimes(error);
  }

  #tell(): void {
    const fields = { spans: this.#lost, endpoint: this.#endpoint, reason: reasonOf(this.#lastError) };
    this.#lost = 0;
    this.#log.warn(fields, "spans of traces could not be sent");
  }
}
