/** Headers of requests, which carry the identity, and the headers of answers that callers see. */
import type { Credential, Impersonation } from "../connection-settings.ts";
import type { ClientRequest } from "../transport.ts";

/** The headers of an answer by their names in lower case; the bytes of a value are its character codes. */
export type ReceivedHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

interface Sender {
  readonly userAgent: string;
  readonly impersonate: Impersonation | undefined;
  /** The header for the proxy, if requests are sent to it as they are. */
  readonly proxyAuthorization: string | undefined;
}

/** Returns names and values in turn. `compress` says whether the answer may be compressed. */
export function requestHeaders(
  { accept = "application/json", contentType = "application/json", body }: ClientRequest,
  { token }: Credential,
  { userAgent, impersonate, proxyAuthorization }: Sender,
  compress: boolean,
): string[] {
  const headers = new HeaderList();
  headers.add("accept", accept);
  headers.add("user-agent", userAgent);
  if (token !== undefined) headers.add("authorization", `Bearer ${token}`);
  if (compress) headers.add("accept-encoding", "gzip");
  if (body !== undefined) headers.add("content-type", contentType);
  if (proxyAuthorization !== undefined) headers.add("proxy-authorization", proxyAuthorization);
  if (impersonate !== undefined) {
    const { user, uid, groups, extra } = impersonate;
    headers.add("impersonate-user", user);
    if (uid !== undefined) headers.add("impersonate-uid", uid);
    for (const group of groups) headers.add("impersonate-group", group);
    for (const [key, values] of Object.entries(extra)) {
      for (const value of values) headers.add(`impersonate-extra-${escapedKey(key)}`, value);
    }
  }
  return headers.pairs;
}

class HeaderList {
  readonly pairs: string[] = [];
  readonly #counts = new Map<string, number>();

  /**
   * Adds a line. undici joins lines of one name to one line over HTTP/2, which for groups has another meaning; names
   * with other capitals are other names to it, and the same to every server.
   */
  add(name: string, value: string): void {
    const lower = name.toLowerCase();
    const count = this.#counts.get(lower) ?? 0;
    this.#counts.set(lower, count + 1);
    this.pairs.push(count === 0 ? lower : withCapitals(lower, count), Buffer.from(value).toString("latin1"));
  }
}

/** Returns the name with a capital letter for each bit of `number`; the lowest bit belongs to the first letter. */
function withCapitals(name: string, number: number): string {
  let rest = number;
  return name.replaceAll(/[a-z]/g, (letter) => {
    const isCapital = rest % 2 === 1;
    rest = Math.floor(rest / 2);
    return isCapital ? letter.toUpperCase() : letter;
  });
}

/** Returns the key with `%XX` for each byte that a header's name cannot have. */
function escapedKey(key: string): string {
  return Buffer.from(key)
    .toString("latin1")
    .replaceAll(/[^\w!#$&'*+.^`|~-]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`);
}

/** Returns the time that the answer asks to wait, in milliseconds, if it is given in seconds. */
export function retryAfterMs(headers: ReceivedHeaders): number | undefined {
  const value = headers["retry-after"];
  return typeof value === "string" && /^\d{1,9}$/.test(value) ? Number(value) * 1000 : undefined;
}

/** Returns the texts of the warnings of the server in their order. Source: RFC 7234, section 5.5. */
export function warningsOf(headers: ReceivedHeaders): string[] {
  const value = headers["warning"] ?? [];
  const text = typeof value === "string" ? value : value.join(", ");
  return [...text.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, quoted = ""]) =>
    Buffer.from(quoted.replaceAll(/\\(.)/g, "$1"), "latin1").toString(),
  );
}
