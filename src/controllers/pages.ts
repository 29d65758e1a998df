/** Reads a collection page by page, so that only one page is in memory. */
import { PageLength } from "#client/page-length.ts";
import { pagePath, pagesOf, withQuery } from "#client/pages.ts";
import { itemsOf, type ObjectList, type RestClient } from "#client/rest-client.ts";
import type { ApiObject } from "#meta/object-meta.ts";

/** The bytes that a page shall have at most: it is decoded without a pause. */
export const pageBytes = 4 * 1024 * 1024;

interface PagesOptions {
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** The revision at which the objects are read; left out: the present one. */
  readonly revision?: number;
  /** The media type of the pages; JSON by default. */
  readonly accept?: string;
}

/** Yields every object of a collection, as it was when the first page was read. `path` has no query. */
export async function* inPages<T extends ApiObject = ApiObject>(
  client: RestClient,
  path: string,
  { fieldSelector, labelSelector, revision, accept }: PagesOptions = {},
): AsyncGenerator<T> {
  const selectors = Object.entries({ fieldSelector, labelSelector }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  const selected = selectors.length === 0 ? path : `${path}?${selectors.join("&")}`;
  // The token says the revision of further pages.
  const first =
    revision === undefined ? selected : withQuery(selected, `resourceVersion=${revision}&resourceVersionMatch=Exact`);
  const length = new PageLength(pageBytes);
  const read = (token: string): Promise<ObjectList<T>> =>
    client.page({ method: "GET", accept }, length, (objects) =>
      pagePath(token === "" ? first : selected, token, objects),
    );
  for await (const page of pagesOf(read)) yield* itemsOf(page);
}
