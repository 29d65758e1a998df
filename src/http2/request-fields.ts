/**
 * The header fields of a request: whether they are well formed, and their values by name.
 *
 * Source: RFC 9113 sections 8.2 and 8.3.
 */

export type RequestHeaders = Record<string, string | undefined>;

/** The fields that a request has first, each once. */
const pseudoNames: ReadonlySet<string> = new Set([":method", ":scheme", ":authority", ":path"]);

/** The fields of a connection, which are no part of a request. */
const connectionNames: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/** The fields that have one value: others of the same name are not looked at. */
const singleNames: ReadonlySet<string> = new Set([
  "authorization",
  "content-encoding",
  "content-language",
  "content-length",
  "content-location",
  "content-type",
  "date",
  "etag",
  "expires",
  "from",
  "host",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "last-modified",
  "location",
  "max-forwards",
  "proxy-authorization",
  "range",
  "referer",
  "retry-after",
  "user-agent",
]);

/**
 * Returns the values by name, pseudo-header fields included, of names and values that alternate; `undefined` when the
 * request is malformed. Of fields with several values the values are joined. The host is that of `:authority`, if there is
 * one: whoever passed the request on looked at that.
 */
export function headersOf(fields: readonly string[]): RequestHeaders | undefined {
  const headers = Object.create(null) as RequestHeaders; // a field may have any name
  let isRegular = false;
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at]!;
    const value = fields[at + 1]!;
    if (!isValue(value)) return undefined;
    const before = headers[name];
    if (name.charCodeAt(0) === colon) {
      if (isRegular || before !== undefined || !pseudoNames.has(name)) return undefined;
      headers[name] = value;
      continue;
    }
    isRegular = true;
    if (name === "te" && value.toLowerCase() !== "trailers") return undefined;
    if (before === undefined) {
      if (!isName(name) || connectionNames.has(name)) return undefined;
      headers[name] = value;
    } else if (name === "content-length") return undefined;
    else if (!singleNames.has(name)) headers[name] = name === "cookie" ? `${before}; ${value}` : `${before}, ${value}`;
  }
  if (!isRequest(headers)) return undefined;
  const authority = headers[":authority"] ?? "";
  if (authority !== "" && headers["host"] !== undefined) headers["host"] = authority;
  return headers;
}

/** Whether fields at the end of a request are well formed. */
export const areTrailers = (fields: readonly string[]): boolean =>
  fields.every((text, at) => (at % 2 === 0 ? isName(text) && !connectionNames.has(text) : isValue(text)));

function isRequest(headers: RequestHeaders): boolean {
  const { ":method": method, ":scheme": scheme, ":path": path, "content-length": length } = headers;
  const { ":authority": authority, host = "" } = headers;
  if (method === undefined || !isToken(method)) return false;
  if (length !== undefined && !/^\d{1,15}$/.test(length)) return false;
  if (!isAuthority(authority ?? "") || !isAuthority(host)) return false;
  if (method === "CONNECT") return scheme === undefined && path === undefined && authority !== undefined;
  if (scheme === undefined || path === undefined || !isScheme(scheme) || !isPath(path)) return false;
  return path.charCodeAt(0) === slash || (path === "*" && method === "OPTIONS");
}

const colon = 0x3a;
const slash = 0x2f;

const isName = (name: string): boolean => /^[!#$%&'*+\-.^_`|~0-9a-z]+$/.test(name);
const isToken = (text: string): boolean => /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text);

const isScheme = (text: string): boolean => /^[A-Za-z][A-Za-z0-9+\-.]*$/.test(text);
/** Whether a path has no space, which would end it in HTTP/1. */
const isPath = (text: string): boolean => !/[ \t]/.test(text);
/** Whether a text has only characters of hosts, users and ports. It may be empty. */
const isAuthority = (text: string): boolean => /^[\w\-.~%!$&'()*+,;=:@[\]]*$/.test(text);

/** Whether a value has no control characters, and no space at its ends. */
const isValue = (value: string): boolean => !/[\0-\x08\x0a-\x1f\x7f]|^[ \t]|[ \t]$/.test(value);
