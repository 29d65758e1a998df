/** Reads a collection page by page, so that only one page is in memory. */
import type { RestClient } from "#client/rest-client.ts";
import type { ApiObject } from "#meta/object-meta.ts";

const pageLength = 500;

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
  const selector = [
    fieldSelector === undefined ? "" : `&fieldSelector=${encodeURIComponent(fieldSelector)}`,
    labelSelector === undefined ? "" : `&labelSelector=${encodeURIComponent(labelSelector)}`,
  ].join("");
  let next = revision === undefined ? "" : `&resourceVersion=${revision}&resourceVersionMatch=Exact`;
  do {
    const list = await client.list<T>(`${path}?limit=${pageLength}${selector}${next}`);
    yield* list.items;
    const token = list.metadata.continue ?? "";
    next = token === "" ? "" : `&continue=${encodeURIComponent(token)}`;
  } while (next !== "");
}
