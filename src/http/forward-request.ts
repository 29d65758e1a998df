/**
 * Forwards a request to another API server and makes a `Reply` of its answer. Headers name the user; the other server
 * trusts these headers because of the client certificate of the connection. No credential of the client is forwarded.
 * Source: upstream's `kube-aggregator` and `util/proxy`; texts and headers were recorded from a 1.32 server.
 */
import { connectionProblem } from "#egress/connection-problem.ts";
import type { Forwarded, Forwarder } from "#egress/forwarding.ts";
import { hostPort, type ServiceAddress } from "#egress/service-address.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { Clock } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { during } from "#std/tracer.ts";
import type { HandledRequest, Reply } from "./api-request.ts";
import { spanMethod } from "./filters/trace.ts";
import { bodyOf, isolation, redirectRefused, replyOf, wholeAnswer } from "./forwarded-answer.ts";
import { clientHeaders, encodeQuery, escapePath, latin1 } from "./forwarded-head.ts";
import { plainText } from "./plain-text.ts";

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
  /** Whether pages get an origin of their own, since the console has that of this server. */
  readonly isolatesPages: boolean;
}

/** The time limit of discovery: clients ask for it often, and a server that is down must not delay them. */
const discoveryMs = 5_000;

/** Forwards a request. Never rejects: failures of the other server are replies. */
export function forwardRequest(
  request: HandledRequest,
  target: ForwardTarget,
  options: ForwardOptions,
): MaybePromise<Reply> {
  const { span, method } = request;
  if (span === undefined) return forward(request, target, options);
  const shown = spanMethod(method);
  const forwarding = span.start(`HTTP ${shown}`, { "http.method": shown }, "client");
  return during(forwarding, async () => {
    const reply = await forward(request, target, options, forwarding.traceparent);
    forwarding.set({ "http.status_code": reply.code });
    return reply;
  });
}

/** `traceparent` replaces the client's, if the request is traced. */
async function forward(
  request: HandledRequest,
  target: ForwardTarget,
  options: ForwardOptions,
  traceparent?: string,
): Promise<Reply> {
  const { address, forwarder, serverName } = target;
  try {
    const call: Omit<Forwarded, "body"> = {
      method: request.method,
      path: forwardedPath(request),
      headers: forwardedHeaders(request, address, options.sendsUid, traceparent),
      headMs: isDiscovery(request) ? Math.min(discoveryMs, options.headMs) : options.headMs,
      signal: request.signal,
    };
    if (request.upgrade !== undefined && request.upgradable !== undefined) {
      // The name of the protocol is spelled as the client spelled it.
      const protocol = request.headers["upgrade"] ?? request.upgrade;
      const upgraded = await forwarder.upgrade(address, protocol, call);
      if (upgraded.kind === "answer") return redirectRefused(upgraded.answer) ?? (await wholeAnswer(upgraded.answer));
      const { headers, connection, early } = upgraded;
      return { code: 101, tunnel: { headers, connection, early } };
    }
    const body = await bodyOf(request);
    const answer = await forwarder.send(address, { ...call, body });
    return (
      redirectRefused(answer) ?? replyOf(request, answer, options.clock, options.isolatesPages ? isolation(answer) : {})
    );
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
const forwardedPath = ({ path, query }: HandledRequest): string => escapePath(path) + encodeQuery(query);

function forwardedHeaders(
  request: HandledRequest,
  address: ServiceAddress,
  sendsUid: boolean,
  traceparent: string | undefined,
): string[] {
  return [
    ...(traceparent === undefined
      ? clientHeaders(request)
      : [...clientHeaders(request, isOfTrace), "Traceparent", traceparent]),
    "X-Forwarded-Host",
    latin1(hostPort(address)),
    "X-Forwarded-Proto",
    "https",
    "X-Forwarded-Uri",
    escapePath(request.path),
    "Audit-Id",
    printable(request.auditId),
    ...identityHeaders(request.user, sendsUid),
  ];
}

const isOfTrace = (name: string): boolean => name === "traceparent" || name === "tracestate";

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

const printable = (value: string): string => value.replace(/[^\x20-\x7e]/g, "?");
