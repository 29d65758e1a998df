/**
 * The head of a request that this server forwards: the headers of the client, without its credentials and without what
 * belongs to its connection, and paths as Go writes them.
 */
import type { HandledRequest } from "./api-request.ts";

/** Escapes a path as Go does. */
export const escapePath = (path: string): string =>
  encodeURIComponent(path)
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/%(?:24|26|2B|2C|2F|3A|3B|3D|40)/g, (escape) => decodeURIComponent(escape));

/** Returns parameters, sorted by name, as a query with its question mark; empty without parameters. */
export function encodeQuery(parameters: URLSearchParams): string {
  if (parameters.size === 0) return "";
  const sorted = new URLSearchParams(parameters);
  sorted.sort();
  return `?${sorted.toString().replaceAll("%7E", "~").replaceAll("*", "%2A")}`;
}

/** Headers that belong to a connection, that prove who the client is, or that this server writes itself. */
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

/** Returns names and values, alternating, of the headers that are passed on. `isDropped` says which are not, besides. */
export function clientHeaders(request: HandledRequest, isDropped: (name: string) => boolean = never): string[] {
  const { headers, remoteAddress } = request;
  const named = new Set((headers["connection"] ?? "").split(",").map((name) => name.trim().toLowerCase()));
  const out: string[] = [];
  for (const [name, joined] of Object.entries(headers)) {
    if (joined === undefined || name.startsWith(":") || ownHeaders.has(name) || named.has(name)) continue;
    if (name.startsWith(extraPrefix) || name.startsWith("impersonate-") || isDropped(name)) continue;
    // Bytes that may be no UTF-8 are forwarded unchanged.
    const values = /[\x80-\xff]/.test(joined) ? [] : request.headerValues(name);
    if (values.length === 0) out.push(name, joined);
    for (const value of values) out.push(name, value);
  }
  const protocols = request.upgradable?.protocols ?? [];
  if (protocols.length > 0 && !isDropped("sec-websocket-protocol")) {
    out.push("Sec-WebSocket-Protocol", latin1(protocols.join(", ")));
  }
  const before = request.headerValues("x-forwarded-for");
  const client = remoteAddress.replace(/^::ffff:/, "");
  const forwardedFor = [...before, ...(client === "" ? [] : [client])].join(", ");
  if (forwardedFor !== "") out.push("X-Forwarded-For", latin1(forwardedFor));
  return out;
}

const never = (): boolean => false;

/** Returns UTF-8 bytes in the form in which Node writes them. */
export const latin1 = (value: string): string =>
  /[\x80-\uffff]/.test(value) ? Buffer.from(value).toString("latin1") : value;
