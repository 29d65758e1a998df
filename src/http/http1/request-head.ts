/**
 * Request line and header fields of HTTP/1.1 (RFC 9112), strictly: whatever two readers could take for two different
 * requests is refused. No bare line feeds, no folded lines, no blanks before a colon, one Host, one length.
 *
 * Hot path: once a request, 1 to 2 us, and less when the fields are those of the request before. Names of fields are looked
 * up, not checked and lowered again each time.
 */

/** Status code and phrase of a refusal. */
export type Refusal = string;

export interface RequestHead {
  readonly method: string;
  /** As sent. */
  readonly target: string;
  /** HTTP/1.0 or HTTP/1.1. */
  readonly minor: 0 | 1;
  /** Names in lower case. Values that repeat are joined; where that has no meaning the first one counts. */
  readonly headers: Record<string, string | undefined>;
  /** Names and values in turn, as sent. */
  readonly rawHeaders: readonly string[];
  /** Bytes of the body, or `chunked`. */
  readonly bodyLength: number;
  /** Whether the client wants the connection for another request. */
  readonly keepAlive: boolean;
  /** The client waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean;
}

/** The body's length when it comes in chunks. */
export const chunked = -1;

/** These and the other texts are upstream's, which names no reason for the rest. */
const badRequest: Refusal = "400 Bad Request";
const badName: Refusal = "400 Bad Request: invalid header name";
export const tooLargeHead: Refusal = "431 Request Header Fields Too Large";

/** Control characters other than tab, and ends of lines that are not both CR and LF. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
const unclean = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** No blank, no control character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
const visible = /^[^\0-\x20\x7f]+$/;
/** Scheme and authority (RFC 3986 section 3.2). */
const absolute = /^https?:\/\/[\w\-.~%!$&'()*+,;=:@[\]]+(?:[/?]|$)/i;

/** What a head says after method and target. */
type Rest = Omit<RequestHead, "method" | "target">;

/** Longer ones are not kept. */
const keptLengthMax = 2048;

/**
 * Reads the heads of one connection. Its requests mostly differ in method and target alone: what followed those in the
 * last head is kept, and read again only when it is not the same.
 */
export class HeadReader {
  readonly #fieldsMax: number;
  /** Of the last head, from the blank before the version on. */
  #kept = "";
  #rest: Rest | undefined;

  constructor(fieldsMax: number) {
    this.#fieldsMax = fieldsMax;
  }

  /** `text` is what stands before the empty line, one character a byte. */
  read(text: string): RequestHead | Refusal {
    const keptFrom = text.length - this.#kept.length;
    if (this.#rest !== undefined && text.slice(keptFrom) === this.#kept) {
      const head = headOf(text.slice(0, keptFrom), this.#rest);
      // Else a mistake, or what was kept is only the end of the rest.
      if (typeof head !== "string") return head;
    }
    if (unclean.test(text)) return badRequest;
    const lineEnd = text.indexOf("\r\n");
    const line = lineEnd < 0 ? text : text.slice(0, lineEnd);
    const restFrom = line.indexOf(" ", line.indexOf(" ") + 1);
    if (restFrom < 0) return badRequest;
    const version = line.slice(restFrom + 1);
    if (version !== "HTTP/1.1" && version !== "HTTP/1.0") {
      return /^HTTP\/\d\.\d$/.test(version)
        ? "505 HTTP Version Not Supported: unsupported protocol version"
        : badRequest;
    }
    const minor = version === "HTTP/1.1" ? 1 : 0;
    const rest = lineEnd < 0 ? withFraming(minor, {}, []) : parseFields(text, lineEnd, minor, this.#fieldsMax);
    const head = headOf(line.slice(0, restFrom), rest);
    if (typeof rest !== "string" && text.length - restFrom <= keptLengthMax) {
      this.#kept = text.slice(restFrom);
      this.#rest = rest;
    }
    return head;
  }
}

/** Whoever reads the head may forget some of its headers: they are its own. */
function headOf(start: string, rest: Rest | Refusal): RequestHead | Refusal {
  const blank = start.indexOf(" ");
  const method = start.slice(0, blank);
  const target = start.slice(blank + 1);
  // After CONNECT come the bytes of a tunnel, whatever its headers say of a body.
  if (blank < 0 || !token.test(method) || method === "CONNECT" || !visible.test(target)) return badRequest;
  if (target.charCodeAt(0) !== slash && target !== "*" && !absolute.test(target)) return badRequest;
  if (typeof rest === "string") return rest;
  const { minor, headers, rawHeaders, bodyLength, keepAlive, expectsContinue } = rest;
  return { method, target, minor, headers: { ...headers }, rawHeaders, bodyLength, keepAlive, expectsContinue };
}

function parseFields(text: string, lineEnd: number, minor: 0 | 1, fieldsMax: number): Rest | Refusal {
  const headers: Record<string, string | undefined> = {};
  const rawHeaders: string[] = [];
  for (let at = lineEnd; at < text.length; ) {
    const from = at + 2;
    const end = text.indexOf("\r\n", from);
    at = end < 0 ? text.length : end;
    const colon = text.indexOf(":", from);
    if (colon < 0 || colon > at) return badRequest;
    const raw = text.slice(from, colon);
    const name = fieldName(raw);
    if (name === undefined) return badName;
    const value = trimmed(text, colon + 1, at);
    if (rawHeaders.push(raw, value) > 2 * fieldsMax) return tooLargeHead;
    // A plain object: names such as `constructor` are found in it before they are set, with values that are no text.
    const before = headers[name];
    if (typeof before !== "string") headers[name] = value;
    else if (framing.has(name)) return badRequest;
    else if (!singular.has(name)) headers[name] = `${before}${name === "cookie" ? "; " : ", "}${value}`;
  }
  return withFraming(minor, headers, rawHeaders);
}

function withFraming(
  minor: 0 | 1,
  headers: Record<string, string | undefined>,
  rawHeaders: readonly string[],
): Rest | Refusal {
  if (minor === 1 && headers["host"] === undefined) return "400 Bad Request: missing required Host header";
  const coding = headers["transfer-encoding"];
  const length = headers["content-length"];
  let bodyLength = 0;
  if (coding !== undefined) {
    if (length !== undefined || minor === 0) return badRequest;
    if (coding.toLowerCase() !== "chunked") return "501 Not Implemented";
    bodyLength = chunked;
  } else if (length !== undefined) {
    if (!/^\d{1,15}$/.test(length)) return badRequest;
    bodyLength = Number(length);
  }
  const expectation = headers["expect"];
  const expectsContinue = expectation !== undefined && expectation.toLowerCase() === "100-continue";
  if (expectation !== undefined && !expectsContinue && minor === 1) return "417 Expectation Failed";
  const connection = headers["connection"];
  return {
    minor,
    headers,
    rawHeaders,
    bodyLength,
    keepAlive: connection === undefined ? minor === 1 : keepsAlive(connection, minor),
    expectsContinue: expectsContinue && minor === 1 && bodyLength !== 0,
  };
}

function keepsAlive(connection: string, minor: 0 | 1): boolean {
  const options = connection.toLowerCase().split(/[ \t]*,[ \t]*/);
  return !options.includes("close") && (minor === 1 || options.includes("keep-alive"));
}

const slash = 0x2f;

/** Fields that say where a request ends or whom it is for: more than one of them is a trick. */
export const framing: ReadonlySet<string> = new Set(["content-length", "transfer-encoding", "host"]);

/** Fields of which only one makes sense. */
const singular: ReadonlySet<string> = new Set([
  "authorization",
  "content-type",
  "expect",
  "from",
  "if-modified-since",
  "if-unmodified-since",
  "max-forwards",
  "origin",
  "proxy-authorization",
  "referer",
  "user-agent",
]);

/** Names in lower case by the name as sent, of those seen before. */
const knownNames = new Map<string, string>();
const knownNamesMax = 500;

/** The name in lower case; `undefined` when it is none. */
function fieldName(raw: string): string | undefined {
  const known = knownNames.get(raw);
  if (known !== undefined) return known;
  if (!token.test(raw)) return undefined;
  const name = raw.toLowerCase();
  if (raw.length <= 64 && knownNames.size < knownNamesMax) knownNames.set(raw, name);
  return name;
}

/** A value without the blanks around it. */
function trimmed(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;
