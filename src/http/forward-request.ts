/**
 * Forwards a request to another API server and makes a `Reply` of its answer. Headers name the user; the other server
 * trusts these headers because of the client certificate of the connection. No credential of the client is forwarded.
 * Source: upstream's `kube-aggregator` and `util/proxy`; texts and headers were recorded from a 1.32 server.
 */
import { connectionProblem } from "#egress/connection-problem.ts";
import type { Forwarded, ForwardedAnswer, ForwardedBody, Forwarder } from "#egress/forwarding.ts";
import { hostPort, type ServiceAddress } from "#egress/service-address.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { Chunks } from "#std/byte-pieces.ts";
import type { Clock } from "#std/clock.ts";
import type { HandledRequest, Reply, ReplyStream, StreamSink } from "./api-request.ts";
import { plainText } from "./plain-text.ts";
import { isLongRunning } from "./request-info.ts";

interface ForwardTarget {
  readonly address: ServiceAddress;
  readonly forwarder: Forwarder;
  /** The name in the certificate of the other server. */
  readonly serverName: string;
}

interface ForwardOptions {
  readonly clock: Clock;
  /** The maximum time until the head of an answer has come. */
  readonly headMs: number;
  /** Whether the uid of the user is passed on (`RemoteRequestHeaderUID`). */
  readonly sendsUid: boolean;
}

/** The time limit of discovery: clients ask for it often, and a server that is down must not delay them. */
const discoveryMs = 5_000;

/** Forwards a request. Never rejects: failures of the other server are replies. */
export async function forwardRequest(
  request: HandledRequest,
  target: ForwardTarget,
  options: ForwardOptions,
): Promise<Reply> {
  const { address, forwarder, serverName } = target;
  try {
    const call: Omit<Forwarded, "body"> = {
      method: request.method,
      path: forwardedPath(request),
      headers: forwardedHeaders(request, address, options.sendsUid),
      headMs: isDiscovery(request) ? Math.min(discoveryMs, options.headMs) : options.headMs,
      signal: request.signal,
    };
    if (request.upgrade !== undefined && request.upgradable !== undefined) {
      // The name of the protocol is spelled as the client spelled it.
      const protocol = request.headers["upgrade"] ?? request.upgrade;
      const upgraded = await forwarder.upgrade(address, protocol, call);
      if (upgraded.kind === "answer") return await refusedUpgrade(upgraded.answer);
      const { headers, connection, early } = upgraded;
      return { code: 101, tunnel: { headers, connection, early } };
    }
    const body = await bodyOf(request);
    return replyOf(request, await forwarder.send(address, { ...call, body }), options.clock);
  } catch (error) {
    const problem = connectionProblem(error, { host: hostPort(address), serverName });
    return plainText(503, `error trying to reach service: ${problem}\n`);
  }
}

/** The answer when the other server does not answer, or its address is not known. */
export const unavailable = (): Reply => plainText(503, "service unavailable\n");

/** Whether the request is about a group and version as a whole. The slashes at the end are found in linear time. */
const isDiscovery = ({ path }: HandledRequest): boolean =>
  path.replace(/^\/+|(?<!\/)\/+$/g, "").split("/").length === 3;

/** Writes the decoded path anew, so that both servers see the same one; parameters are sorted by name. */
function forwardedPath({ path, query }: HandledRequest): string {
  const escaped = escapePath(path);
  if (query.size === 0) return escaped;
  const sorted = new URLSearchParams(query);
  sorted.sort();
  return `${escaped}?${sorted.toString().replaceAll("%7E", "~").replaceAll("*", "%2A")}`;
}

/** Escapes a path as Go does. */
const escapePath = (path: string): string =>
  encodeURIComponent(path)
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/%(?:24|26|2B|2C|2F|3A|3B|3D|40)/g, (escape) => decodeURIComponent(escape));

/** Headers that belong to a connection, or that this server writes itself. */
const ownHeaders: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
  "expect",
  "host",
  "authorization",
  // This server writes it itself, without tokens.
  "sec-websocket-protocol",
  "audit-id",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-forwarded-uri",
  "x-remote-user",
  "x-remote-uid",
  "x-remote-group",
]);
const extraPrefix = "x-remote-extra-";

function forwardedHeaders(request: HandledRequest, address: ServiceAddress, sendsUid: boolean): string[] {
  const { headers, user, remoteAddress, path } = request;
  const named = new Set((headers["connection"] ?? "").split(",").map((name) => name.trim().toLowerCase()));
  const out: string[] = [];
  const add = (name: string, value: string): void => void out.push(name, latin1(value));
  for (const [name, joined] of Object.entries(headers)) {
    if (joined === undefined || name.startsWith(":") || ownHeaders.has(name) || named.has(name)) continue;
    if (name.startsWith(extraPrefix) || name.startsWith("impersonate-")) continue;
    // Bytes that may be no UTF-8 are forwarded unchanged.
    const values = /[\x80-\xff]/.test(joined) ? [] : request.headerValues(name);
    if (values.length === 0) out.push(name, joined);
    for (const value of values) out.push(name, value);
  }
  const protocols = request.upgradable?.protocols ?? [];
  if (protocols.length > 0) add("Sec-WebSocket-Protocol", protocols.join(", "));
  const before = request.headerValues("x-forwarded-for");
  const client = remoteAddress.replace(/^::ffff:/, "");
  const forwardedFor = [...before, ...(client === "" ? [] : [client])].join(", ");
  if (forwardedFor !== "") add("X-Forwarded-For", forwardedFor);
  add("X-Forwarded-Host", hostPort(address));
  add("X-Forwarded-Proto", "https");
  add("X-Forwarded-Uri", escapePath(path));
  add("Audit-Id", printable(request.auditId));
  out.push(...identityHeaders(user, sendsUid));
  return out;
}

/** Returns names and values, alternating, of the headers by which an aggregated server knows a user. */
export function identityHeaders({ name, uid = "", groups, extra = {} }: UserInfo, sendsUid: boolean): string[] {
  const out = ["X-Remote-User", headerValue(name)];
  if (sendsUid && uid !== "") out.push("X-Remote-Uid", headerValue(uid));
  for (const group of groups) out.push("X-Remote-Group", headerValue(group));
  for (const [key, values] of Object.entries(extra)) {
    for (const value of values) out.push(`X-Remote-Extra-${escapeKey(key)}`, headerValue(value));
  }
  return out;
}

/** Invariant: the user is the same on both servers, so a value that no header can carry is not changed to fit. */
function headerValue(value: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they would end the header
  if (/[\x00-\x08\x0a-\x1f\x7f]|^[ \t]|[ \t]$/.test(value)) {
    throw new Error("the name or a group of the user cannot be sent in a header");
  }
  return latin1(value);
}

/** Escapes every byte that is not allowed in the name of a header by a percent sign. */
const escapeKey = (key: string): string =>
  Buffer.from(key)
    .toString("latin1")
    .replace(
      /[^!#$&'*+.^_`|~0-9A-Za-z-]/g,
      (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
    );

/** Returns UTF-8 bytes in the form in which Node writes them. */
const latin1 = (value: string): string => (/[\x80-\uffff]/.test(value) ? Buffer.from(value).toString("latin1") : value);

const printable = (value: string): string => value.replace(/[^\x20-\x7e]/g, "?");

async function bodyOf(request: HandledRequest): Promise<ForwardedBody | undefined> {
  if (request.bodyStream !== undefined) return request.bodyStream();
  const bytes = await request.body(Number.POSITIVE_INFINITY);
  if (bytes.length === 0) return undefined;
  return {
    read({ take, end }) {
      take(bytes);
      end();
    },
    pause: ignore,
    resume: ignore,
    stop: ignore,
  };
}

function ignore(): void {}

/**
 * Headers of the answer that are not passed on: they belong to the connection or to this server, or say who may read
 * the answer.
 */
const droppedHeaders: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "date",
  "content-length",
  "audit-id",
  "x-kubernetes-pf-flowschema-uid",
  "x-kubernetes-pf-prioritylevel-uid",
  "access-control-allow-credentials",
  "access-control-allow-headers",
  "access-control-allow-methods",
  "access-control-allow-origin",
]);

const refusalBytesMax = 64 * 1024;

/** Reads an answer that keeps the protocol as a whole, since the connection ends with it. */
async function refusedUpgrade(answer: ForwardedAnswer): Promise<Reply> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of answer.body) {
    length += piece.length;
    if (length > refusalBytesMax) break;
    pieces.push(piece);
  }
  return redirectRefused(answer) ?? { code: answer.code, headers: passedHeaders(answer), bytes: Buffer.concat(pieces) };
}

function redirectRefused({ code, headers }: ForwardedAnswer): Reply | undefined {
  if (code < 300 || code > 399 || (headers["location"]?.[0] ?? "") === "") return undefined;
  const bytes = Buffer.from("the backend attempted to redirect this request, which is not permitted");
  return { code: 502, contentType: "text/plain; charset=utf-8", bytes };
}

function passedHeaders(answer: ForwardedAnswer): Record<string, string | readonly string[]> {
  const named = new Set(
    (answer.headers["connection"] ?? [])
      .join(",")
      .toLowerCase()
      .split(/\s*,\s*/),
  );
  const headers: Record<string, string | readonly string[]> = {};
  for (const [name, values] of Object.entries(answer.headers)) {
    if (droppedHeaders.has(name) || named.has(name)) continue;
    headers[name] = values.length === 1 ? values[0]! : values;
  }
  return headers;
}

/** The largest status code in both protocols. */
const codeMax = 599;

function replyOf(request: HandledRequest, answer: ForwardedAnswer, clock: Clock): Reply {
  const refusal = redirectRefused(answer);
  if (refusal !== undefined) {
    answer.destroy();
    return refusal;
  }
  const { code } = answer;
  if (code < 200 || code > codeMax) {
    answer.destroy();
    return plainText(503, `error trying to reach service: the answer has the status code ${code}\n`);
  }
  const reply = { code, headers: passedHeaders(answer) };
  if (code === 204 || code === 304) {
    void drain(answer);
    return reply;
  }
  if (request.method === "HEAD") {
    void drain(answer);
    return { ...reply, stream: { open: (sink) => sink.end() } };
  }
  if (isLongRunning(request.info)) return { ...reply, stream: streamOf(answer, clock) };
  return { ...reply, chunks: new AnswerBody(answer, clock, request.deadlineMs) };
}

async function drain({ body }: ForwardedAnswer): Promise<void> {
  try {
    for await (const _ of body);
  } catch {
    // The body is complete.
  }
}

/** A body that has to be complete by the deadline of its request. */
class AnswerBody implements Chunks {
  length = 0;
  readonly #answer: ForwardedAnswer;
  readonly #clock: Clock;
  readonly #deadlineMs: number;

  constructor(answer: ForwardedAnswer, clock: Clock, deadlineMs: number) {
    this.#answer = answer;
    this.#clock = clock;
    this.#deadlineMs = deadlineMs;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    const answer = this.#answer;
    const leftMs = Math.max(0, this.#deadlineMs - this.#clock.now());
    const cancel = this.#clock.after(leftMs, () => answer.destroy());
    try {
      for await (const piece of answer.body) {
        this.length += piece.length;
        yield piece;
      }
    } finally {
      cancel();
    }
  }
}

/** The time after which a client that reads nothing loses its stream. */
const stallMs = 60_000;

/** Streams a body: each chunk is forwarded as it comes. A slow client slows the other server down. */
function streamOf(answer: ForwardedAnswer, clock: Clock): ReplyStream {
  const pipeBody = async (sink: StreamSink): Promise<void> => {
    let proceed: (() => void) | undefined;
    sink.onDrain = () => proceed?.();
    sink.onClose = () => {
      answer.destroy();
      proceed?.();
    };
    try {
      for await (const piece of answer.body) {
        if (sink.write(piece)) continue;
        const cancel = clock.after(stallMs, () => {
          answer.destroy();
          proceed?.();
        });
        await new Promise<void>((resolve) => {
          proceed = resolve;
          if (!sink.blocked) resolve();
        });
        cancel();
      }
      sink.end();
    } catch {
      // The client must see that the body is incomplete.
      if (sink.abort === undefined) sink.end();
      else sink.abort();
    }
  };
  return { open: (sink) => void pipeBody(sink) };
}
