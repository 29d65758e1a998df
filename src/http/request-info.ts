/**
 * Parses path and method: resource, name, verb. It also decodes paths and queries, whose corner cases decide what an
 * attacker can do with a name. Source: upstream's `endpoints/request` and Go's `net/url`; unusual answers (`watch=` is
 * true, empty segments shift nothing, `%2F` is a slash) were recorded from a 1.32 server. Hot path: runs once per
 * request; it parses the query only if the verb depends on it.
 */
import { goQuote } from "#meta/field-error.ts";
import { badRequest, resourceNotFound } from "#meta/status-error.ts";
import type { ApiRequest, RequestInfo } from "./api-request.ts";

/** The fields of a request that `parseRequestInfo` reads. */
type RequestTarget = Pick<ApiRequest, "method" | "url" | "path" | "query">;

/**
 * Parses a request target. Never throws. A path without group, version and resource is not a resource request.
 * `namespace`, `name` and `subresource` are as the client sent them, valid or not: `checkNames` runs after
 * authorization.
 */
export function parseRequestInfo(target: RequestTarget): RequestInfo {
  const { path, method } = target;
  const parts = splitPath(path);
  const prefix = parts[0];
  const legacy = prefix === "api";
  if (prefix === historyPrefix) return historyInfo(parts, path, method);
  // A resource path has prefix, version and resource; paths of named groups have one more segment.
  if (parts.length < 3 || !(legacy || (prefix === "apis" && parts.length > 3))) return nonResource(path, method);

  const group = legacy ? "" : parts[1]!;
  let at = legacy ? 1 : 2;
  const version = parts[at++]!;
  let verb = verbs[method] ?? "";
  let byPrefix = false;
  const special = parts[at];
  if (special === "watch" || special === "proxy") {
    if (at + 1 >= parts.length) return nonResource(path, method);
    verb = special;
    byPrefix = true;
    at++;
  }

  let namespace = "";
  if (parts[at] === "namespaces" && at + 1 < parts.length) {
    namespace = parts[at + 1]!;
    const next = parts[at + 2];
    if (next !== undefined && next !== "status" && next !== "finalize") at += 2;
  }

  const rest = parts.slice(at);
  const resource = rest[0] ?? "";
  let name = rest[1] ?? "";
  const subresource = verb === "proxy" && byPrefix ? "" : (rest[2] ?? "");
  if (name === "") {
    if (verb === "get") {
      verb = "list";
      if (target.url.includes("?")) {
        if (queryFlag(target.query.get("watch"))) verb = "watch";
        name = selectedName(target.query);
      }
    } else if (verb === "delete") verb = "deletecollection";
  }
  return {
    isResourceRequest: true,
    path,
    verb,
    apiPrefix: prefix!,
    group,
    version,
    namespace,
    resource,
    subresource,
    name,
    parts: rest,
  };
}

/** The `apiPrefix` of requests for the history of objects. */
export const historyPrefix = "binnacle";

/**
 * Parses `/binnacle/v1/history/GROUP/VERSION/[namespaces/NAMESPACE/]RESOURCE[/NAME]`. Reading it needs the verb `get` on
 * the object, or `list` on the collection, and a `restore` the verb `restore`, so that rules of roles and of the audit
 * policy name the resource as for other requests.
 */
function historyInfo(parts: readonly string[], path: string, method: string): RequestInfo {
  const [, api, what, group = "", version = "", ...target] = parts;
  const isRestore = method === "POST" && target.at(-1) === "restore";
  const rest = isRestore ? target.slice(0, -1) : target;
  const isNamespaced = rest.length > 2 && rest[0] === "namespaces";
  const isRead = method === "GET" || method === "HEAD";
  const resourcePath = isNamespaced ? rest.slice(2) : rest;
  const isCollection = resourcePath.length === 1 && isRead;
  const isObject = resourcePath.length === 2 && (isRestore || isRead);
  if (api !== "v1" || what !== "history" || !(isObject || isCollection)) return nonResource(path, method);
  const [resource = "", name = ""] = resourcePath;
  // A namespace lies in itself, as in paths of the API.
  const isNamespace = group === "core" && resource === "namespaces";
  return {
    isResourceRequest: true,
    path,
    verb: isCollection ? "list" : isRestore ? "restore" : "get",
    apiPrefix: historyPrefix,
    group: group === "core" ? "" : group,
    version,
    namespace: isNamespaced ? rest[1]! : isNamespace ? name : "",
    resource,
    subresource: "",
    name,
    parts: resourcePath,
  };
}

/** The info of a request before its path is parsed. */
export const unknownInfo: RequestInfo = {
  isResourceRequest: false,
  path: "",
  verb: "",
  apiPrefix: "",
  group: "",
  version: "",
  namespace: "",
  resource: "",
  subresource: "",
  name: "",
  parts: [],
};

const nonResource = (path: string, method: string): RequestInfo => ({
  ...unknownInfo,
  path,
  verb: method.toLowerCase(),
});

const verbs: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  GET: "get",
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
});

/** Splits a path at slashes; slashes at both ends do not count, empty segments in the middle do. */
function splitPath(path: string): string[] {
  let from = 0;
  let to = path.length;
  while (from < to && path.charCodeAt(from) === 0x2f) from++;
  while (to > from && path.charCodeAt(to - 1) === 0x2f) to--;
  if (from === to) return [];
  const parts: string[] = [];
  for (let at = path.indexOf("/", from); at >= 0 && at < to; at = path.indexOf("/", from)) {
    parts.push(path.slice(from, at));
    from = at + 1;
  }
  parts.push(path.slice(from, to));
  return parts;
}

/** Whether a flag in the query is set. Upstream: any value sets it, the empty one too, except `false` and `0`. */
export function queryFlag(value: string | null): boolean {
  return value !== null && value !== "0" && value.toLowerCase() !== "false";
}

/**
 * Returns the one name that a list or watch selects by `fieldSelector`, for authorization by name; empty when the
 * selector has other terms, too, or when the options will be refused anyway.
 */
export function selectedName(query: URLSearchParams): string {
  const selector = query.get("fieldSelector");
  if (selector === null) return "";
  for (const option of ["limit", "timeoutSeconds"]) {
    const value = query.get(option);
    if (value !== null && !/^[+-]?\d+$/.test(value)) return "";
  }
  let selected: string | undefined;
  for (const term of splitUnescaped(selector)) {
    if (term === "") continue;
    const match = /^((?:[^\\=!]|\\.)*)(!=|==|=)((?:[^\\=]|\\.)*)$/s.exec(term);
    if (match === null) return "";
    if (selected === undefined && match[1] === "metadata.name" && match[2] !== "!=") {
      selected = match[3]!.replace(/\\(.)/gs, "$1");
    }
  }
  return selected === undefined || pathSegmentProblem(selected) !== "" ? "" : selected;
}

/** Splits a field selector at commas that no backslash escapes. */
function splitUnescaped(text: string): string[] {
  const terms: string[] = [];
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x5c) i++;
    else if (code === 0x2c) {
      terms.push(text.slice(from, i));
      from = i + 1;
    }
  }
  terms.push(text.slice(from));
  return terms;
}

/** Returns why `name` cannot be one path segment; empty when it can. Upstream: `api/validation/path`. */
function pathSegmentProblem(name: string): string {
  if (name === ".") return "may not be '.'";
  if (name === "..") return "may not be '..'";
  if (name.includes("/")) return "may not contain '/'";
  if (name.includes("%")) return "may not contain '%'";
  return "";
}

/**
 * Refuses names and namespaces that could leave their segment (400), and dot segments and empty segments elsewhere
 * (404). It must run after authorization, so that it reveals nothing to users without permission.
 */
export function checkNames(info: RequestInfo): void {
  if (!info.isResourceRequest) return;
  checkName("Name", info.name);
  checkName("Namespace", info.namespace);
  if (info.path.startsWith("//") || (info.apiPrefix === "apis" && info.group === "")) throw resourceNotFound();
  // The path behind a proxy is one of another server.
  const ownLength = info.subresource === "proxy" ? 3 : info.parts.length;
  info.parts.forEach((part, at) => {
    if ((part === "" && at < ownLength) || isDots(part)) throw resourceNotFound();
  });
  if (isDots(info.group) || isDots(info.version)) throw resourceNotFound();
  // For authorization, a namespace lies in itself. It must not lie in another one, whose permission would then apply.
  const { namespace, name } = info;
  if (info.apiPrefix === "api" && info.resource === "namespaces" && namespace !== "" && namespace !== name) {
    throw resourceNotFound();
  }
}

function isDots(segment: string): boolean {
  return segment === "." || segment === "..";
}

function checkName(parameter: string, value: string): void {
  const problem = pathSegmentProblem(value);
  if (problem !== "") throw badRequest(`${parameter} parameter invalid: ${goQuote(value)}: ${problem}`);
}

/** Whether a request may run past the request timeout: watches, and subresources that keep their connection. */
export function isLongRunning(info: RequestInfo): boolean {
  if (!info.isResourceRequest) return false;
  return info.verb === "watch" || info.verb === "proxy" || holdingConnection.has(info.subresource);
}

const holdingConnection = new Set(["attach", "exec", "proxy", "log", "portforward"]);

/**
 * Splits a request target into its decoded path, and its query without the question mark. An absolute target loses
 * scheme and host. Returns `undefined` for a malformed escape, which is always answered with 400. Bytes that are no
 * UTF-8 become U+FFFD.
 */
export function splitTarget(target: string): { readonly path: string; readonly query: string } | undefined {
  const from = pathStart(target);
  const mark = target.indexOf("?", from);
  const raw = target.slice(from, mark === -1 ? target.length : mark);
  const query = mark === -1 ? "" : target.slice(mark + 1);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: everything beyond printable ASCII takes the slow way
  const path = /[%\x00-\x1f\x7f-\uffff]/.test(raw) ? decodePath(raw) : raw;
  return path === undefined ? undefined : { path: path === "" ? "/" : path, query };
}

/** Finds the index at which the path of a target begins, or its query when it has no path. */
function pathStart(target: string): number {
  if (target.charCodeAt(0) === 0x2f || !/^https?:\/\//i.test(target)) return 0;
  const start = target.indexOf("/", target.indexOf("//") + 2);
  const mark = target.indexOf("?");
  return start !== -1 && (mark === -1 || start < mark) ? start : mark === -1 ? target.length : mark;
}

/** Prints a request target for logs and traces, without credentials in its parameters, users and passwords. */
export function printedTarget(target: string): string {
  const printed = target.slice(pathStart(target));
  const mark = printed.indexOf("?") + 1;
  if (mark === 0) return printed;
  return printed.slice(0, mark) + printed.slice(mark).replace(/[^&]+/g, printedParameter);
}

/**
 * Prints one parameter. Other servers may see several where this one sees one, so every beginning that may be a name
 * counts.
 */
function printedParameter(parameter: string): string {
  const equals = parameter.indexOf("=");
  if (equals === -1 || !parameter.split(/[?;#]/).some(isCredential)) return parameter;
  return `${parameter.slice(0, equals + 1)}REDACTED`;
}

/** The names of parameters that hold credentials. Source: RFC 6749 (OAuth 2.0), RFC 6750 and OpenID Connect. */
const credentialParameters = new Set([
  "access_token",
  "refresh_token",
  "id_token",
  "token",
  "client_secret",
  "client_assertion",
  "password",
  "code",
]);

function isCredential(parameter: string): boolean {
  const [name = ""] = parameter.split("=", 1);
  return credentialParameters.has(unescaped(name).toLowerCase());
}

const unescaped = (text: string): string =>
  text.replace(/%([0-9a-f]{2})/gi, (_escape, byte: string) => String.fromCharCode(Number.parseInt(byte, 16)));

/** Decodes a path. The HTTP parser returns bytes beyond ASCII as Latin-1; percent escapes are bytes as well. */
function decodePath(raw: string): string | undefined {
  const bytes = Buffer.from(raw, "latin1");
  let to = 0;
  for (let i = 0; i < bytes.length; i++) {
    let byte = bytes[i]!;
    if (byte === 0x25) {
      const high = hexDigit(bytes[i + 1]);
      const low = hexDigit(bytes[i + 2]);
      if (high < 0 || low < 0) return undefined;
      byte = high * 16 + low;
      i += 2;
    } else if (byte < 0x20 || byte === 0x7f) return undefined;
    bytes[to++] = byte;
  }
  return bytes.toString("utf8", 0, to);
}

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

const noQuery = new URLSearchParams();

/** Parses a query as Go does: a pair with a malformed escape or a semicolon is dropped, the others stay. */
export function parseQuery(query: string): URLSearchParams {
  if (query === "") return noQuery;
  if (!/;|%(?![0-9a-fA-F]{2})/.test(query)) return new URLSearchParams(query);
  const good = query.split("&").filter((pair) => !/;|%(?![0-9a-fA-F]{2})/.test(pair));
  return new URLSearchParams(good.join("&"));
}
