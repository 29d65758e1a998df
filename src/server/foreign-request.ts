/** Tells requests that a browser makes on behalf of another site, by the headers that it adds (Fetch Metadata). */
import type { ApiRequest } from "#http/api-request.ts";

/** The parts of a request of a browser that say whether a page of another site is behind it. */
interface BrowserHead {
  readonly method: string;
  readonly site: string | undefined;
  readonly mode: string | undefined;
  readonly destination: string | undefined;
}

/** Returns those parts of a request. */
export const browserHead = ({ method, headers }: Pick<ApiRequest, "method" | "headers">): BrowserHead => ({
  method,
  site: headers["sec-fetch-site"],
  mode: headers["sec-fetch-mode"],
  destination: headers["sec-fetch-dest"],
});

/**
 * Whether a browser asks for a page or a file on behalf of another site. Links of other sites may lead here: they open
 * the page, and cannot read it.
 */
export function isForeign({ method, site, mode, destination }: BrowserHead): boolean {
  if (site === undefined || site === "same-origin" || site === "none") return false;
  return !(method === "GET" && mode === "navigate" && destination === "document");
}
