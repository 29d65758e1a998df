/** Lists of objects, read page by page. */
import type { ApiObject } from "#meta/object-meta.ts";
import { ApiError } from "./api-error.ts";
import { pageLength } from "./page-length.ts";
import { itemsOf, type ObjectList } from "./rest-client.ts";

/** An answer that may be a part of a list. */
interface Page {
  readonly metadata?: { readonly continue?: string };
}

/** Reads the page after a token; the first one for an empty token. */
type ReadPage<P extends Page> = (token: string) => Promise<P>;

/** Returns the path of the page after a token, and that of the first one for an empty token. */
export const pagePath = (path: string, token: string, length = pageLength): string =>
  withQuery(path, `limit=${length}${token === "" ? "" : `&continue=${encodeURIComponent(token)}`}`);

/** Returns the path with further parameters. */
export const withQuery = (path: string, query: string): string => `${path}${path.includes("?") ? "&" : "?"}${query}`;

/** The maximum number of objects in the pages of a list: a server that always names another page would never come to an end. */
const objectsMax = 10_000_000;

/** Yields all pages. Throws when one has expired, and when the list has no end. */
export async function* pagesOf<P extends Page>(readPage: ReadPage<P>): AsyncGenerator<P, void, undefined> {
  const progress = new Progress(pageLength);
  let token = "";
  do {
    const page = await readPage(token);
    yield page;
    token = progress.next(token, page);
  } while (token !== "");
}

/** Watches that a list comes to its end. */
class Progress {
  #pagesLeft: number;

  /** `length` is the number of objects of a page. */
  constructor(length: number) {
    this.#pagesLeft = objectsMax / length;
  }

  /** Returns the token of the next page, empty after the last. Throws when the list has no end. */
  next(token: string, { metadata }: Page): string {
    const next = metadata?.continue ?? "";
    const isEndless = next !== "" && (next === token || --this.#pagesLeft <= 0);
    if (isEndless) throw new Error("the server's list has no end");
    return next;
  }
}

/** The number of expired pages in a row after which no new object came. */
const restartsMax = 3;

/** Yields the objects of all pages, which have `length` objects each, as `KindClient.list` explains. */
export async function* inPages<T extends ApiObject>(
  readPage: ReadPage<ObjectList<T>>,
  length = pageLength,
): AsyncGenerator<T> {
  /** The identities of what was yielded, so that a list from the beginning yields none twice. */
  const seen = new Set<string>();
  const progress = new Progress(length);
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
    token = progress.next(token, page);
    for (const object of itemsOf(page)) {
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
