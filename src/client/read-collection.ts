/** Reads whole collections, in pages, as they were at one version. */
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import type { ObjectList, RestClient } from "./rest-client.ts";

interface Collection {
  readonly client: RestClient;
  /** The path with the selectors as its query. */
  readonly path: string;
  /** Ends the reading, which rejects with its reason. */
  readonly signal: AbortSignal;
}

const pageLength = 500;

/**
 * Reads the collection. `trim` returns the part of an object that is kept; it is called for each page, so that the whole
 * objects are never all in memory. A page that has expired would belong to another version, so everything is then read
 * in one answer, which needs no history.
 */
export async function readCollection<T extends ApiObject>(
  collection: Collection,
  trim: (object: T) => T,
): Promise<ObjectList<T>> {
  try {
    return await readPages(collection, trim);
  } catch (error) {
    if (!(error instanceof StatusError) || error.status.code !== 410) throw error;
    const { items, metadata } = await readPage<T>(collection, "");
    return { metadata, items: items.map((item) => trim(item)) };
  }
}

async function readPages<T extends ApiObject>(collection: Collection, trim: (object: T) => T): Promise<ObjectList<T>> {
  const items: T[] = [];
  for (let next = ""; ; ) {
    const page = await readPage<T>(collection, `limit=${pageLength}${next}`);
    for (const item of page.items) items.push(trim(item));
    const token = page.metadata.continue ?? "";
    if (token === "") return { metadata: page.metadata, items };
    next = `&continue=${encodeURIComponent(token)}`;
  }
}

/** Reads one answer. `query` has the parameters of the page; without them it is the whole collection. */
export function readPage<T extends ApiObject>(
  { client, path, signal }: Collection,
  query: string,
): Promise<ObjectList<T>> {
  signal.throwIfAborted();
  return client.call({ method: "GET", path: query === "" ? path : withQuery(path, query), signal });
}

/** Returns the path with further parameters. */
export const withQuery = (path: string, query: string): string => `${path}${path.includes("?") ? "&" : "?"}${query}`;
