/** Answers that a request gets before it reaches the request pipeline of a plane. */
import type { Reply } from "#http/api-request.ts";
import { type StatusError, tooManyRequests } from "#meta/status-error.ts";

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
