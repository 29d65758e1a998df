/** Kubernetes' functions on URLs: `url(text)`, `isURL`, and functions that return the parts of a URL. */
import { createHash } from "node:crypto";
import type { FunctionDeclaration, Library } from "../functions.ts";
import { bool, type CelType, listOf, mapOf, opaque, string } from "../types.ts";
import { CelError, Opaque, type Value } from "../values.ts";
import { memberFunction, onText, plainFunction, traversalCost } from "./declare.ts";
import { escapedPath, type ParsedUrl, parseQuery, parseUrl, requestUriFault, splitHost, textOf } from "#meta/go-url.ts";

const urlType = opaque("kubernetes.URL");

class Url extends Opaque {
  readonly type = urlType;
  readonly parts: ParsedUrl;
  #digest: string | undefined;

  constructor(parts: ParsedUrl) {
    super();
    this.parts = parts;
  }

  /** Whether two URLs are equal, which means that their texts would be equal. */
  equals(other: Value): boolean | undefined {
    return other instanceof Url ? this.#key === other.#key : undefined;
  }

  /** A text for comparisons. It is made once and is short, so a comparison costs little, however long the URLs are. */
  get #key(): string {
    if (this.#digest !== undefined) return this.#digest;
    const { scheme, opaque: rest, user, host, query, hasAuthority } = this.parts;
    const all = JSON.stringify([scheme, rest, user, hasAuthority, host, escapedPath(this.parts), query]);
    this.#digest = createHash("sha256").update(all).digest("hex");
    return this.#digest;
  }
}

/** The work of reading one URL. */
const readWork = 400;

const onUrl = onText(readWork, 8);

function toUrl(text: string): Url | CelError {
  const parts = parseUrl(text);
  return "fault" in parts
    ? new CelError(`URL parse error during conversion from string: ${parts.fault}`)
    : new Url(parts);
}

const partWork = 40;

const part = (
  name: string,
  id: string,
  read: (parts: ParsedUrl) => Value,
  type: CelType = string,
): FunctionDeclaration =>
  memberFunction(name, id, [urlType], type, ([url], context) => {
    if (!(url instanceof Url)) return undefined;
    const { host, path, query = "" } = url.parts;
    context.work(partWork + 8 * (host.length + path.length + query.length));
    return read(url.parts);
  });

const isUrl = onUrl((text) => requestUriFault(text) === undefined);

export const urlLibrary: Library = {
  name: "k8s.urls",
  functions: [
    plainFunction("url", "string_to_url", [string], urlType, onUrl(toUrl), traversalCost()),
    plainFunction("isURL", "is_url_string", [string], bool, isUrl),
    part("getScheme", "url_get_scheme", ({ scheme }) => scheme),
    part("getHost", "url_get_host", ({ host }) => textOf(host)),
    part("getHostname", "url_get_hostname", ({ host }) => textOf(splitHost(host).name)),
    part("getPort", "url_get_port", ({ host }) => splitHost(host).port),
    part("getEscapedPath", "url_get_escaped_path", (parts) => textOf(escapedPath(parts))),
    part("getQuery", "url_get_query", ({ query }) => parseQuery(query ?? ""), mapOf(string, listOf(string))),
  ],
};
