/**
 * Forwards requests to a pod, a service or a node. The target gets the client's request without its credentials; its
 * redirections are passed on, with a path of this server where they name none of another host, and never followed.
 * Source: upstream's `util/proxy`.
 */
import { connectionProblem } from "#egress/connection-problem.ts";
import type { Forwarded, ForwardedAnswer } from "#egress/forwarding.ts";
import { hostPort } from "#egress/service-address.ts";
import { serviceUnavailable, showingValues, unclassified } from "#meta/status-error.ts";
import type { HandledRequest, Reply } from "../../api-request.ts";
import { bodyOf, isolation, replyOf, wholeAnswer } from "../../forwarded-answer.ts";
import { clientHeaders, escapePath } from "../../forwarded-head.ts";
import type { NodeAccess } from "../../node-access.ts";
import type { Scope } from "../../scope.ts";
import { pathBehind } from "./options.ts";
import type { ProxyTarget } from "./targets.ts";

/** Cookies are credentials of this server's origin. */
export const isCredential = (name: string): boolean => name === "cookie";

/** Forwards the request of a scope. Throws a `StatusError` when the target does not answer. */
export async function proxyRequest(scope: Scope, access: NodeAccess, target: ProxyTarget): Promise<Reply> {
  const { request } = scope;
  const path = proxiedPath(request);
  if (path === "") {
    if (request.upgrade === undefined && (request.method === "GET" || request.method === "HEAD")) {
      const location = `${escapePath(`${request.planePrefix ?? ""}${request.path}`)}/${queryOf(request)}`;
      return { code: 301, headers: { location }, bytes: noBytes };
    }
  }
  const own = request.path.slice(0, request.path.length - pathBehind(request.info).length);
  const base = `${request.planePrefix ?? ""}${own}`;
  const call: Omit<Forwarded, "body"> = {
    method: request.method,
    path: `${escapePath(path === "" ? "/" : path)}${queryOf(request)}`,
    host: request.headers["host"] ?? request.headers[":authority"] ?? hostPort(target.address),
    headers: [
      ...clientHeaders(request, isCredential),
      "X-Forwarded-Uri",
      escapePath(`${base}${path === "" ? "/" : path}`),
    ],
    headMs: Number.POSITIVE_INFINITY,
    signal: request.signal,
  };
  if (request.upgrade !== undefined) return upgradeTo(request, access, target, call);
  try {
    const forwarder = await access.forwarder(target.peer);
    const body = await bodyOf(request);
    const answer = await access.waitFor(request, forwarder.send(target.address, { ...call, body }));
    return await replyOfTarget(
      scope,
      { base, target: hostPort(target.address), isolates: access.isolatesPages },
      answer,
    );
  } catch (error) {
    throw showingValues(serviceUnavailable(`error trying to reach service: ${problemOf(error, target)}`));
  }
}

const noBytes = Buffer.alloc(0);

export const problemOf = (error: unknown, { address }: Pick<ProxyTarget, "address">): string =>
  connectionProblem(error, { host: hostPort(address) });

/**
 * Asks the target to change the protocol, and splices the connections. Throws a `StatusError` when there is no target, or
 * one that answers with success or a redirection instead.
 */
export async function upgradeTo(
  request: HandledRequest,
  access: NodeAccess,
  target: ProxyTarget,
  call: Omit<Forwarded, "body">,
): Promise<Reply> {
  // The name of the protocol is spelled as the client spelled it.
  const protocol = request.headers["upgrade"] ?? request.upgrade ?? "";
  if (request.upgradable === undefined) throw unclassified(`the connection cannot be upgraded to ${protocol}`);
  const forwarder = await access.forwarder(target.peer);
  const asked = { ...call, headMs: access.upgradeMs };
  const upgraded = await access.waitFor(request, forwarder.upgrade(target.address, protocol, asked)).catch((error) => {
    throw showingValues(unclassified(`error dialing backend: ${problemOf(error, target)}`));
  });
  if (upgraded.kind === "upgraded") {
    const { headers, early } = upgraded;
    return { code: 101, tunnel: { headers, connection: await access.limited(upgraded.connection), early } };
  }
  const { answer } = upgraded;
  if (answer.code >= 400 && answer.code <= 599) return wholeAnswer(answer);
  answer.destroy();
  throw unclassified(`invalid upgrade response: status code ${answer.code}`);
}

/** Returns the path for the target, without repeated slashes; empty when the request has none. */
const proxiedPath = ({ info }: HandledRequest): string => pathBehind(info).replace(/\/{2,}/g, "/");

function queryOf({ url }: HandledRequest): string {
  const mark = url.indexOf("?");
  return mark === -1 ? "" : url.slice(mark);
}

/** Makes the reply of an answer: a path of the target becomes one of this server, in redirections and in pages. */
async function replyOfTarget(
  { request, parts }: Scope,
  { base, target, isolates }: { readonly base: string; readonly target: string; readonly isolates: boolean },
  answer: ForwardedAnswer,
): Promise<Reply> {
  const { clock } = parts;
  const { headers } = request;
  const own = isolates ? isolation(answer) : {};
  const location = answer.headers["location"]?.[0];
  const isMarkup = answer.headers["content-type"]?.[0]?.toLowerCase().includes("html") === true;
  if (location === undefined && !isMarkup) return replyOf(request, answer, clock, own);
  const { isPage, rewritePage, throughProxy } = await import("./html-links.ts");
  const proxyBase = { host: headers["host"] ?? headers[":authority"] ?? "", target, prefix: escapePath(base) };
  if (location === undefined)
    return replyOf(request, isPage(answer) ? rewritePage(answer, proxyBase) : answer, clock, own);
  const link = throughProxy(location, proxyBase);
  return replyOf(request, answer, clock, link === undefined ? own : { ...own, location: link });
}
