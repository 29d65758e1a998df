/** Answers that a request gets before it reaches the request pipeline of a plane. */
import { type ApiRequest, type Reply, unknownUser } from "#http/api-request.ts";
import { type StatusError, tooManyRequests, unauthorized } from "#meta/status-error.ts";

export const statusReply = ({ status }: StatusError): Reply => ({
  code: status.code,
  contentType: "application/json",
  bytes: Buffer.from(`${JSON.stringify(status)}\n`),
});

/** Returns the answer to a request for which the plane has no room, in the words of flow control. */
export const noRoom = (): Reply => ({
  ...statusReply(tooManyRequests("too many requests, please try again later", 1)),
  headers: { "retry-after": "1" },
});

/**
 * Returns the one answer for users that a plane does not know, in place of another: it does not tell whether there is such a
 * plane. Pages of other origins may read it as they may read the other.
 */
export function unauthenticatedReply({ headers = {}, closeConnection = false, done }: Reply): Reply {
  done?.();
  const ofCors = Object.entries(headers).filter(([name]) => name.startsWith("access-control-"));
  return { ...statusReply(unauthorized()), headers: Object.fromEntries(ofCors), closeConnection };
}

/** Whether a reply is that to a browser that asks, without credentials, for leave to send a request: all planes give the same. */
export const isPreflight = ({ method, user }: Pick<ApiRequest, "method" | "user">, { code }: Reply): boolean =>
  method === "OPTIONS" && code === 204 && user === unknownUser;
