/**
 * The proxy that the environment names: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, by the rules of Go's programs, so that
 * kubectl and the library take the same way. Source: `golang.org/x/net/http/httpproxy`.
 */
import { isIP } from "node:net";
import { domainToASCII } from "node:url";
import { parseIpRange } from "#meta/ip-range.ts";

/** The variables of a process, by their names. */
export type ProxyVariables = Readonly<Record<string, string | undefined>>;

/** Returns the proxy for connections to `server`. Addresses of this machine are never behind one. */
export function proxyOfEnvironment(server: URL, environment: ProxyVariables): URL | undefined {
  const variable = (name: string): string => environment[name] || environment[name.toLowerCase()] || "";
  const isSecure = server.protocol === "https:";
  const text = variable(isSecure ? "HTTPS_PROXY" : "HTTP_PROXY");
  // In a CGI script, HTTP_PROXY is a header of the client.
  if (text === "" || (!isSecure && (environment["REQUEST_METHOD"] ?? "") !== "")) return undefined;
  if (isExcluded(server, variable("NO_PROXY"))) return undefined;
  const proxy = URL.parse(text);
  return proxy === null || proxy.host === "" ? (URL.parse(`http://${text}`) ?? undefined) : proxy;
}

/** Whether connections to `server` go without proxy. `list` is the value of NO_PROXY. */
function isExcluded(server: URL, list: string): boolean {
  const host = server.hostname.replace(/^\[|\]$/g, "").toLowerCase();
  const port = server.port === "" ? (server.protocol === "https:" ? "443" : "80") : server.port;
  if (host === "localhost" || contains("127.0.0.0/8", host) || contains("::1/128", host)) return true;
  for (const part of list.split(",")) {
    const entry = part.trim().toLowerCase();
    if (entry === "*") return true;
    if (entry !== "" && matches(entry, host, port)) return true;
  }
  return false;
}

function matches(entry: string, host: string, port: string): boolean {
  if (entry.includes("/")) return contains(entry, host);
  const { name, port: wanted } = splitPort(entry);
  if (name === "" || (wanted !== "" && wanted !== port)) return false;
  if (isIP(name) !== 0) return contains(`${name}/${isIP(name) === 4 ? 32 : 128}`, host);
  if (isIP(host) !== 0) return false;
  const domain = domainToASCII(name.replace(/^\*?\./, ""));
  const takesItself = !/^\*?\./.test(name);
  return host.endsWith(`.${domain}`) || (takesItself && host === domain);
}

/** Splits `name:port`, `[address]:port`, or either of them without port. */
function splitPort(entry: string): { readonly name: string; readonly port: string } {
  const [, bracketed, plain, port = ""] = /^(?:\[([^\]]*)\]|([^:]*)):([^:]*)$/.exec(entry) ?? [];
  return { name: bracketed ?? plain ?? entry, port };
}

/** Whether `range`, an address with a prefix length, contains `host`. A range or host that is none matches nothing. */
const contains = (range: string, host: string): boolean => parseIpRange(range)?.indexOf(host) !== undefined;
