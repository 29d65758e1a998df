/**
 * A collector of spans for tests: OTLP over gRPC, on loopback. It has its own Protobuf code, so that both sides cannot have
 * the same error. Source: `opentelemetry/proto/trace/v1/trace.proto`.
 */
import assert from "node:assert/strict";
import { Server, ServerCredentials, type ServiceError, status as codes } from "@grpc/grpc-js";
import { eventually, file } from "../harness.ts";

/** A value of an attribute. */
type Value = string | number | boolean | readonly Value[] | undefined;

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first span of a trace. */
  readonly parentId: string;
  readonly name: string;
  /** 1: internal, 2: server, 3: client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, Value>>;
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, Value>> }[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** 0: unset, 1: ok, 2: error. */
  readonly status: number;
  readonly statusMessage: string;
  readonly startNs: bigint;
  readonly endNs: bigint;
  /** The name of the instrumentation. */
  readonly scope: string;
  readonly resource: Readonly<Record<string, Value>>;
}

export class Collector {
  readonly spans: CollectedSpan[] = [];
  /** The number of received exports. */
  exports = 0;
  /** The length of the longest export. */
  longestBytes = 0;
  /** The fault of every export. */
  fault: "none" | "hangs" | "fails" = "none";
  readonly #server: Server;
  readonly port: number;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  /** Starts a collector, on a free port unless `address` is given. */
  static async open(address = "127.0.0.1:0"): Promise<Collector> {
    // The limit of messages is the usual one, which collectors have, too.
    const server = new Server();
    const same = (bytes: Buffer): Buffer => bytes;
    const definition = {
      path: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
      requestStream: false,
      responseStream: false,
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    };
    let collector: Collector | undefined;
    server.addService({ Export: definition } as never, {
      Export({ request }: { request: Buffer }, done: (error: Partial<ServiceError> | null, answer?: Buffer) => void) {
        collector?.take(request, done);
      },
    });
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) => {
        if (error === null) resolve(bound);
        else reject(error);
      });
    });
    collector = new Collector(server, port);
    return collector;
  }

  get endpoint(): string {
    return `127.0.0.1:${this.port}`;
  }

  take(request: Buffer, done: (error: Partial<ServiceError> | null, answer?: Buffer) => void): void {
    this.exports++;
    this.longestBytes = Math.max(this.longestBytes, request.length);
    if (this.fault === "hangs") return;
    if (this.fault === "fails") {
      done({ code: codes.PERMISSION_DENIED, details: "not today" });
      return;
    }
    this.spans.push(...readSpans(request));
    done(null, Buffer.alloc(0));
  }

  /** Resolves when there was an export. */
  exported(): Promise<void> {
    return eventually(() => {
      assert.ok(this.exports > 0, "nothing was exported");
      return Promise.resolve();
    });
  }

  named = (name: string): CollectedSpan[] => this.spans.filter((span) => span.name === name);

  close(): void {
    this.#server.forceShutdown();
  }
}

/** Writes the file of `--tracing-config-file`. Returns its path. */
export const tracingFile = (endpoint: string, samplingRatePerMillion: number): string =>
  file(
    "tracing.yaml",
    JSON.stringify({
      apiVersion: "apiserver.config.k8s.io/v1beta1",
      kind: "TracingConfiguration",
      endpoint,
      samplingRatePerMillion,
    }),
  );

/** The fields of a message by number, in their order: bytes, or numbers. */
type Fields = ReadonlyMap<number, readonly (Buffer | bigint)[]>;

function fieldsOf(bytes: Buffer): Fields {
  const fields = new Map<number, (Buffer | bigint)[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error("the message ends too early");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Buffer => {
    at += length;
    if (at > bytes.length) throw new Error("the message ends too early");
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const type = tag & 7;
    let value: Buffer | bigint;
    if (type === 0) value = varint();
    else if (type === 1) value = take(8).readBigUInt64LE();
    else if (type === 2) value = take(Number(varint()));
    else if (type === 5) value = BigInt(take(4).readUInt32LE());
    else throw new Error(`unknown wire type ${type}`);
    const number = tag >>> 3;
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  return fields;
}

const all = (fields: Fields, number: number): Fields[] =>
  (fields.get(number) ?? []).map((one) => fieldsOf(bytesOf(one)));
const bytesOf = (value: Buffer | bigint | undefined): Buffer => (Buffer.isBuffer(value) ? value : Buffer.alloc(0));
const text = (fields: Fields, number: number): string => bytesOf(fields.get(number)?.at(-1)).toString();
const hex = (fields: Fields, number: number): string => bytesOf(fields.get(number)?.at(-1)).toString("hex");
const integer = (fields: Fields, number: number): bigint => {
  const value = fields.get(number)?.at(-1) ?? 0n;
  return typeof value === "bigint" ? value : 0n;
};

function readSpans(request: Buffer): CollectedSpan[] {
  return all(fieldsOf(request), 1).flatMap((ofResource) => {
    const resource = attributesOf(all(ofResource, 1)[0] ?? new Map(), 1);
    return all(ofResource, 2).flatMap((ofScope) => {
      const scope = text(all(ofScope, 1)[0] ?? new Map(), 1);
      return all(ofScope, 2).map((span) => ({ ...readSpan(span), scope, resource }));
    });
  });
}

function readSpan(span: Fields): Omit<CollectedSpan, "scope" | "resource"> {
  const status = all(span, 15)[0] ?? new Map<number, never>();
  return {
    traceId: hex(span, 1),
    spanId: hex(span, 2),
    parentId: hex(span, 4),
    name: text(span, 5),
    kind: Number(integer(span, 6)),
    startNs: integer(span, 7),
    endNs: integer(span, 8),
    attributes: attributesOf(span, 9),
    events: all(span, 11).map((event) => ({ name: text(event, 2), attributes: attributesOf(event, 3) })),
    links: all(span, 13).map((link) => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
    statusMessage: text(status, 2),
    status: Number(integer(status, 3)),
  };
}

const attributesOf = (fields: Fields, number: number): Record<string, Value> =>
  Object.fromEntries(
    all(fields, number).map((attribute) => [text(attribute, 1), valueOf(all(attribute, 2)[0] ?? new Map())]),
  );

function valueOf(value: Fields): Value {
  if (value.has(1)) return text(value, 1);
  if (value.has(2)) return integer(value, 2) !== 0n;
  if (value.has(3)) return Number(BigInt.asIntN(64, integer(value, 3)));
  if (value.has(5)) return all(all(value, 5)[0] ?? new Map(), 1).map(valueOf);
  return undefined;
}
