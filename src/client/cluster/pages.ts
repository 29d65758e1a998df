/** Lists of objects, read page by page. */
import type { ApiObject } from "#meta/object-meta.ts";
import { ApiError } from "../api-error.ts";
import type { ObjectList, RestClient } from "../rest-client.ts";

/** Reads the page after a token; the first one for an empty token. */
type ReadPage<T extends ApiObject> = (token: string) => Promise<ObjectList<T>>;

export const pageLength = 500;
/** The number of expired pages in a row after which no new object came. */
const restartsMax = 3;

/** Returns a function that reads pages of `path`, whose query has begun. */
export const pagesOf =
  <T extends ApiObject>(rest: RestClient, path: string, signal: AbortSignal | undefined): ReadPage<T> =>
  (token) => {
    signal?.throwIfAborted();
    const next = token === "" ? "" : `&continue=${encodeURIComponent(token)}`;
    return rest.call({ method: "GET", path: path + next, ...(signal === undefined ? {} : { signal }) });
  };

/** Yields the objects of all pages, as `KindClient.list` explains. */
export async function* inPages<T extends ApiObject>(readPage: ReadPage<T>): AsyncGenerator<T> {
  /** The identities of what was yielded, so that a list from the beginning yields none twice. */
  const seen = new Set<string>();
  let restarts = 0;
  for (let token = ""; ; ) {
    let page: ObjectList<T>;
    try {
      page = await readPage(token);
    } catch (error) {
      if (token === "" || !isExpired(error) || ++restarts > restartsMax) throw error;
      token = error.status.metadata.continue ?? "";
      continue;
    }
    token = page.metadata.continue ?? "";
    for (const object of page.items) {
      const id = identityOf(object);
      if (seen.has(id)) continue;
      if (token !== "" || seen.size > 0) seen.add(id);
      restarts = 0;
      yield object;
    }
    if (token === "") return;
  }
}

const isExpired = (error: unknown): error is ApiError => error instanceof ApiError && error.code === 410;

/** Objects that a server computes have no uid. */
const identityOf = ({ metadata: { uid, namespace, name } }: ApiObject): string => uid ?? `${namespace}/${name}`;
