/**
 * WebSockets for a server that only sends: the handshake, and lines as messages. `std/websocket.ts` has the frames. Data
 * from clients is read and dropped, as upstream does on a watch.
 */
import { badRequest, forbidden, type StatusError } from "#meta/status-error.ts";
import type { Headers } from "#http/api-request.ts";
import { acceptOf, textHead } from "#std/websocket.ts";

/**
 * The result of the check of a WebSocket request: a problem, or the lines of the answer's head that depend on the
 * request.
 */
export interface Handshake {
  readonly problem: StatusError | undefined;
  /** Whether the client speaks the only version, 13. A refusal of another one names it. */
  readonly isKnownVersion: boolean;
  /** The value that proves that the request was understood. */
  readonly accept: string;
  /** The offered subprotocols, without tokens. */
  readonly protocols: readonly string[];
  /** The chosen subprotocol; empty when none was offered. */
  readonly protocol: string;
}

/** The prefix, in every API domain, of a bearer token that is sent as a subprotocol. */
const tokenPrefix = "base64url.bearer.authorization.";

export function handshakeOf(headers: Headers): Handshake {
  const key = headers["sec-websocket-key"] ?? "";
  const protocols = (headers["sec-websocket-protocol"] ?? "")
    .split(",")
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== "" && !protocol.startsWith(tokenPrefix));
  return {
    problem: problemOf(headers, key, protocols),
    isKnownVersion: headers["sec-websocket-version"] === "13",
    accept: acceptOf(key),
    protocols,
    protocol: protocols[0] ?? "",
  };
}

function problemOf(headers: Headers, key: string, protocols: readonly string[]): StatusError | undefined {
  if (headers["sec-websocket-version"] !== "13") return badRequest("missing or bad WebSocket Version");
  if (key === "") return badRequest("mismatch challenge/response");
  // Upstream serves none that it understands, so that it could choose, and takes any single one.
  if (protocols.length > 1) return badRequest("more than one WebSocket subprotocol was offered");
  const origin = headers["origin"];
  if (origin === undefined || URL.canParse(origin)) return undefined;
  return forbidden({ group: "", resource: "" }, "", "the origin of the WebSocket is no URL");
}

const newline = 0x0a;

/** Frames by batch of lines, so that a batch for many watchers is framed once. */
const framed = new WeakMap<Buffer, Buffer>();

/** Returns one text frame for each line, including the line's end. */
export function textFrames(lines: Buffer): Buffer {
  let frames = framed.get(lines);
  if (frames === undefined) {
    const parts: Buffer[] = [];
    for (let at = 0; at < lines.length; ) {
      const lineEnd = lines.indexOf(newline, at);
      const end = lineEnd === -1 ? lines.length : lineEnd + 1;
      parts.push(textHead(end - at), lines.subarray(at, end));
      at = end;
    }
    frames = Buffer.concat(parts);
    framed.set(lines, frames);
  }
  return frames;
}
