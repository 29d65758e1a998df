/**
 * Parses and prints URLs as Go's `net/url` does, with its error texts. Texts are handled as bytes, one per character,
 * since escapes stand for bytes.
 */
import { goQuote } from "./field-error.ts";
import { type Fault, parseAddress } from "./parse-ip.ts";

/**
 * A parsed URL. Its texts are unescaped bytes unless a member says otherwise. A URL with an `opaque` part has no user,
 * host or path.
 */
export interface ParsedUrl {
  readonly scheme: string;
  /** The text between the scheme and the query, if it does not begin with a slash; else empty. */
  readonly opaque: string;
  readonly user: { readonly name: string; readonly password: string | undefined } | undefined;
  /** The host with its port. */
  readonly host: string;
  readonly path: string;
  /** The path as it was written. */
  readonly rawPath: string;
  /** The query as it was written; `undefined` if there is no question mark. */
  readonly query: string | undefined;
  /** Whether two slashes introduce the host, even an empty one. */
  readonly hasAuthority: boolean;
}

const bytesOf = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

/** Returns the text of bytes. Bytes that are not valid UTF-8 become U+FFFD. */
export const textOf = (bytes: string): string => Buffer.from(bytes, "latin1").toString("utf8");

/**
 * Returns the error of `text` as the URI of a request, which is an absolute URI or a path from the root; `undefined` if
 * it is valid.
 */
export function requestUriFault(text: string): string | undefined {
  const parsed = parse(bytesOf(text), true);
  return "fault" in parsed ? describe(text, parsed) : undefined;
}

/** Parses the URI of a request. The part after `#` is checked, but not returned. */
export function parseUrl(text: string): ParsedUrl | Fault {
  const wrong = requestUriFault(text);
  return wrong === undefined ? parseReference(text) : { fault: wrong };
}

/** Parses a URL, or a reference relative to one. The part after `#` is checked, but not returned. */
export function parseReference(text: string): ParsedUrl | Fault {
  const hash = text.indexOf("#");
  const plain = hash < 0 ? text : text.slice(0, hash);
  const parsed = parse(bytesOf(plain), false);
  if ("fault" in parsed) return { fault: describe(plain, parsed) };
  const fragment = hash < 0 ? "" : unescape(bytesOf(text.slice(hash + 1)), "path");
  return typeof fragment === "string" ? parsed : { fault: describe(text, fragment) };
}

const describe = (text: string, { fault }: Fault): string => `parse ${goQuote(text)}: ${fault}`;

function parse(bytes: string, isRequest: boolean): ParsedUrl | Fault {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
  if (/[\x00-\x1f\x7f]/.test(bytes)) return { fault: "net/url: invalid control character in URL" };
  if (bytes === "" && isRequest) return { fault: "empty url" };
  const nothing = { scheme: "", opaque: "", user: undefined, host: "", query: undefined, hasAuthority: false };
  if (bytes === "*") return { ...nothing, path: "*", rawPath: "*" };
  if (bytes.startsWith(":")) return { fault: "missing protocol scheme" };
  const scheme = /^[A-Za-z][-A-Za-z0-9+.]*(?=:)/.exec(bytes)?.[0];
  const all = scheme === undefined ? bytes : bytes.slice(scheme.length + 1);
  const mark = all.indexOf("?");
  const rest = mark < 0 ? all : all.slice(0, mark);
  const query = mark < 0 ? undefined : all.slice(mark + 1);
  const parsed = { ...nothing, scheme: (scheme ?? "").toLowerCase(), query };
  if (!rest.startsWith("/")) {
    if (scheme !== undefined) return { ...parsed, opaque: rest, path: "", rawPath: "" };
    if (isRequest) return { fault: "invalid URI for request" };
    const segment = rest.split("/", 1)[0]!;
    if (segment.includes(":")) return { fault: "first path segment in URL cannot contain colon" };
    return withPath(parsed, rest);
  }
  const hasAuthority = rest.startsWith("//") && (scheme !== undefined || (!isRequest && !rest.startsWith("///")));
  if (!hasAuthority) return withPath(parsed, rest);
  const slash = rest.indexOf("/", 2);
  const authority = parseAuthority(slash < 0 ? rest.slice(2) : rest.slice(2, slash));
  if ("fault" in authority) return authority;
  return withPath({ ...parsed, ...authority, hasAuthority }, slash < 0 ? "" : rest.slice(slash));
}

function withPath(parts: Omit<ParsedUrl, "path" | "rawPath">, rawPath: string): ParsedUrl | Fault {
  const path = unescape(rawPath, "path");
  return typeof path === "string" ? { ...parts, path, rawPath } : path;
}

function parseAuthority(authority: string): Pick<ParsedUrl, "user" | "host"> | Fault {
  const at = authority.lastIndexOf("@");
  const host = parseHost(authority.slice(at + 1));
  if (typeof host !== "string") return host;
  if (at < 0) return { user: undefined, host };
  const info = authority.slice(0, at);
  if (!/^[-A-Za-z0-9._:~!$&'()*+,;=%@]*$/.test(info)) return { fault: "net/url: invalid userinfo" };
  const colon = info.indexOf(":");
  const name = unescape(colon < 0 ? info : info.slice(0, colon), "user");
  if (typeof name !== "string") return name;
  const password = colon < 0 ? undefined : unescape(info.slice(colon + 1), "user");
  return typeof password === "object" ? password : { user: { name, password }, host };
}

const isPort = (text: string): boolean => /^(?::[0-9]*)?$/.test(text);

function parseHost(text: string): string | Fault {
  if (text.startsWith("[")) return parseBracketedHost(text);
  const colon = text.lastIndexOf(":");
  const port = colon < 0 ? "" : text.slice(colon);
  return isPort(port) ? unescape(text, "host") : { fault: `invalid port ${goQuote(textOf(port))} after host` };
}

/** Parses `[address%25zone]:port`. */
function parseBracketedHost(text: string): string | Fault {
  const end = text.lastIndexOf("]");
  if (end < 0) return { fault: "missing ']' in host" };
  const port = text.slice(end + 1);
  if (!isPort(port)) return { fault: `invalid port ${goQuote(textOf(port))} after host` };
  const percent = text.slice(0, end).indexOf("%25");
  const parts: readonly (readonly [string, Part])[] =
    percent < 0
      ? [
          [text.slice(0, end), "host"],
          [text.slice(end), "host"],
        ]
      : [
          [text.slice(0, percent), "host"],
          [text.slice(percent, end), "zone"],
          [text.slice(end), "host"],
        ];
  let host = "";
  for (const [raw, part] of parts) {
    const unescaped = unescape(raw, part);
    if (typeof unescaped !== "string") return unescaped;
    host += unescaped;
  }
  const address = parseAddress(textOf(host.slice(1, host.length - port.length - 1)));
  if ("fault" in address) return { fault: `invalid host: ${address.fault}` };
  return address.bytes.length === 4 ? { fault: "invalid IP-literal" } : host;
}

type Part = "path" | "user" | "host" | "zone" | "query";

/** Matches characters that need no escape in hosts. */
const hostChar = /^[-A-Za-z0-9._~!$&'()*+,;=:[\]<>"]$/;

function unescape(bytes: string, part: Part): string | Fault {
  const isHost = part === "host" || part === "zone";
  if (!isHost && !/[%+]/.test(bytes)) return bytes;
  let out = "";
  for (let at = 0; at < bytes.length; at++) {
    const char = bytes[at]!;
    if (char === "%") {
      const escape = bytes.slice(at, at + 3);
      if (!isEscape(escape, part)) return { fault: `invalid URL escape ${goQuote(textOf(escape))}` };
      out += String.fromCharCode(Number.parseInt(escape.slice(1), 16));
      at += 2;
    } else if (isHost && char < "\x80" && !hostChar.test(char)) {
      return { fault: `invalid character ${goQuote(char)} in host name` };
    } else out += char === "+" && part === "query" ? " " : char;
  }
  return out;
}

/**
 * Whether a part of a URL may contain this escape: hosts only escapes of bytes beyond ASCII, zones only escapes of
 * spaces and of characters that hosts may contain.
 */
function isEscape(escape: string, part: Part): boolean {
  if (!/^%[0-9A-Fa-f]{2}$/.test(escape)) return false;
  if (escape === "%25" || (part !== "host" && part !== "zone")) return true;
  const char = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
  if (part === "host") return char >= "\x80";
  return char === " " || hostChar.test(char);
}

/** Returns the path as it was written if that is a valid form, else with the escapes that it needs. */
export function escapedPath({ path, rawPath }: ParsedUrl): string {
  if (path === "*") return "*";
  if (/^[-A-Za-z0-9._~!$&'()*+,;=:@[\]%/]*$/.test(rawPath)) return rawPath;
  return path.replace(
    /[^-A-Za-z0-9._~$&+,/:;=@]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  );
}

/** Returns the name of the host, without port and without the brackets around an address, and the port. */
export function splitHost(host: string): { readonly name: string; readonly port: string } {
  const colon = host.lastIndexOf(":");
  const hasPort = colon >= 0 && isPort(host.slice(colon));
  const name = hasPort ? host.slice(0, colon) : host;
  const isBracketed = name.startsWith("[") && name.endsWith("]");
  return { name: isBracketed ? name.slice(1, -1) : name, port: hasPort ? host.slice(colon + 1) : "" };
}

/** Returns the values by name, in the order of the query. Pairs with a semicolon or an invalid escape are ignored. */
export function parseQuery(query: string): ReadonlyMap<string, string[]> {
  const parameters = new Map<string, string[]>();
  for (const pair of query.split("&")) {
    if (pair === "" || pair.includes(";")) continue;
    const equals = pair.indexOf("=");
    const name = unescape(equals < 0 ? pair : pair.slice(0, equals), "query");
    const value = unescape(equals < 0 ? "" : pair.slice(equals + 1), "query");
    if (typeof name !== "string" || typeof value !== "string") continue;
    const values = parameters.get(textOf(name));
    if (values === undefined) parameters.set(textOf(name), [textOf(value)]);
    else values.push(textOf(value));
  }
  return parameters;
}
