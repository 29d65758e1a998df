/** Reads whole collections, in pages, as they were at one version. */
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import { PageLength } from "./page-length.ts";
import { pagePath, pagesOf } from "./pages.ts";
import { itemsOf, type ObjectList, type RestClient } from "./rest-client.ts";

interface Collection {
  readonly client: RestClient;
  /** The path with the selectors as its query. */
  readonly path: string;
  /** Ends the reading, which rejects with its reason. */
  readonly signal: AbortSignal;
  /** The bytes that a page shall have at most, if there is a bound; the objects of a page are counted otherwise. */
  readonly pageBytes?: number | undefined;
}

/**
 * Reads the collection. `trim` returns the part of an object that is kept; it is called for each page, so that the whole
 * objects are never all in memory. A page that has expired would belong to another version, so everything is then read
 * in one answer, which needs no history.
 */
export async function readCollection<T extends ApiObject>(
  { client, path, signal, pageBytes }: Collection,
  trim: (object: T) => T,
): Promise<ObjectList<T>> {
  const length = pageBytes === undefined ? undefined : new PageLength(pageBytes);
  const read = (page: string): Promise<ObjectList<T>> => {
    signal.throwIfAborted();
    return client.call({ method: "GET", path: page, signal });
  };
  try {
    const items: T[] = [];
    let metadata: ObjectList["metadata"] = { resourceVersion: "" };
    const readPage = (token: string): Promise<ObjectList<T>> => {
      if (length === undefined) return read(pagePath(path, token));
      signal.throwIfAborted();
      return client.page({ method: "GET", signal }, length, (objects) => pagePath(path, token, objects));
    };
    for await (const page of pagesOf(readPage)) {
      for (const item of itemsOf(page)) items.push(trim(item));
      metadata = page.metadata;
    }
    return { metadata, items };
  } catch (error) {
    if (!(error instanceof StatusError) || error.status.code !== 410) throw error;
    const list = await read(path);
    return { metadata: list.metadata, items: itemsOf(list).map((item) => trim(item)) };
  }
}
