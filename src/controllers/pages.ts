/** Reads a collection page by page, so that only one page is in memory. */
import { pagePath, pagesOf, withQuery } from "#client/pages.ts";
import type { RestClient } from "#client/rest-client.ts";
import type { ApiObject } from "#meta/object-meta.ts";

interface PagesOptions {
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** The revision at which the objects are read; left out: the present one. */
  readonly revision?: number;
}

/** Yields every object of a collection, as it was when the first page was read. `path` has no query. */
export async function* inPages<T extends ApiObject = ApiObject>(
  client: RestClient,
  path: string,
  { fieldSelector, labelSelector, revision }: PagesOptions = {},
): AsyncGenerator<T> {
  const selectors = Object.entries({ fieldSelector, labelSelector }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  const selected = selectors.length === 0 ? path : `${path}?${selectors.join("&")}`;
  // The token says the revision of further pages.
  const first =
    revision === undefined ? selected : withQuery(selected, `resourceVersion=${revision}&resourceVersionMatch=Exact`);
  const read = (token: string) => client.list<T>(pagePath(token === "" ? first : selected, token));
  for await (const page of pagesOf(read)) yield* page.items;
}
