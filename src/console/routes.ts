/**
 * Addresses of pages, in the fragment of the URL: `#/objects/apps/v1/deployments/shop/web?tab=history`. They name what is
 * shown, and never hold a token. Each part is escaped, so that a name may have any characters.
 */

interface PageAddress {
  /** The name of the page; empty for the first one. */
  readonly page: string;
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

/** Reads the fragment of a URL. Parts that are not properly escaped are taken as they are. */
export function readRoute(hash: string): PageAddress {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s, 2);
  const [page = "", ...parts] = path.split("/").map(unescaped);
  return { page, parts, query: new URLSearchParams(query) };
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

type Query = Readonly<Record<string, string | undefined>>;

/** Returns the fragment of a page. Parameters without a value are left out. */
export function hrefOf(page: string, parts: readonly string[] = [], query: Query = {}): string {
  const given = Object.entries(query).filter((one): one is [string, string] => (one[1] ?? "") !== "");
  const search = new URLSearchParams(given).toString();
  return `#/${[page, ...parts].map(encodeURIComponent).join("/")}${search === "" ? "" : `?${search}`}`;
}

/** The stand-in for an empty part: the core group, or no namespace. */
const nothing = "-";

export const asPart = (text: string): string => (text === "" ? nothing : text);
export const ofPart = (part = nothing): string => (part === nothing ? "" : part);
