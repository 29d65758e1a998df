/**
 * Lists of a resource: pages at one revision, with continue tokens and filters. Long lists pause, so that others have a
 * turn.
 */
import type { Clock } from "#std/clock.ts";
import { Yielder, yieldToEventLoop } from "#std/cooperative.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { expired, expiredContinue } from "#meta/status-error.ts";
import { isCompacted, type Revision } from "#storage/log-store.ts";
import type { CacheRanges, CacheReader, Entry, IndexMatch, Range } from "#storage/watch-cache.ts";

import { decodeContinue, encodeContinue } from "../continue-token.ts";
import type { Caller, ConvertedObjects } from "../stored-object.ts";
import type { ObjectReader } from "./object-reader.ts";

/** A selector of stored entries; `undefined` selects all. */
export type EntryFilter = ((entry: Entry) => boolean) | undefined;

export interface ListRequest {
  readonly namespace: string;
  /** The only namespace that is read (from a field selector). */
  readonly selectedNamespace?: string | undefined;
  /** The only object that is read (from a field selector on the name). */
  readonly name?: string | undefined;
  /** The maximum number of objects; 0 for no limit. */
  readonly limit: number;
  readonly continue: string;
  /** The version that the client gave; empty for none. */
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly filter: EntryFilter;
  /** The values that every entry has which passes the filter. */
  readonly matching?: readonly IndexMatch[];
  readonly caller?: Caller;
}

export interface Listed {
  readonly entries: readonly Entry[];
  readonly revision: Revision;
  /** The token for the next page; empty on the last one. */
  readonly continue: string;
  readonly remainingItemCount: number | undefined;
  /**
   * The objects that a webhook converted for this list. The entries can be read as these objects while the array is
   * referenced.
   */
  readonly conversions?: ConvertedObjects | readonly ConvertedObjects[];
}

/** The numbers of lists, of the entries that they read, and of those that they returned. */
export interface ListCount {
  lists: number;
  read: number;
  returned: number;
}

/** Counts of the lists of one resource. */
export class ListCounts {
  /** Lists of the present state. */
  readonly present: ListCount = { lists: 0, read: 0, returned: 0 };
  /** Lists at an earlier revision. */
  readonly past: ListCount = { lists: 0, read: 0, returned: 0 };
  /** The number of lists without a version, which see the newest one. */
  newest = 0;
}

function countList(count: ListCount, read: number, returned: number): void {
  count.lists++;
  count.read += read;
  count.returned += returned;
}

/** The number of entries between two reads of the clock, which cost as much as a short selector. */
const entriesPerLook = 32;
/** The number of entries that a millisecond is enough for. */
const manyEntries = 5000;

export class ObjectLists {
  readonly #reader: ObjectReader;
  readonly #cache: CacheReader & CacheRanges;
  readonly #clock: Clock;
  readonly counts = new ListCounts();

  constructor(reader: ObjectReader, cache: CacheReader & CacheRanges, clock: Clock) {
    this.#reader = reader;
    this.#cache = cache;
    this.#clock = clock;
  }

  /** Lists one chunk of a collection at one revision. The caller has checked the combination of options. */
  async list(request: ListRequest): Promise<Listed> {
    const prefix = this.#reader.collection(request.selectedNamespace ?? request.namespace);
    await this.#inTurn(prefix, request.limit);
    if (request.continue !== "") return this.#listContinued(prefix, request);
    const { resourceVersion, resourceVersionMatch, limit } = request;
    const exact = resourceVersionMatch === "Exact" || (resourceVersionMatch === "" && limit > 0);
    if (resourceVersion !== "" && resourceVersion !== "0") {
      const revision = await this.#reader.reach(resourceVersion);
      if (exact && revision !== this.#cache.revision) return this.#listAt(prefix, request, revision, prefix);
    } else if (resourceVersion === "") {
      await this.#cache.fresh();
      this.counts.newest++;
    }
    return this.#listPresent(prefix, request, prefix);
  }

  /** Waits for the turn of a large list: in each turn of the event loop one of them is served. */
  #inTurn(prefix: string, limit: number): MaybePromise<void> {
    const count = this.#cache.count(prefix);
    return count > manyEntries && (limit === 0 || limit > manyEntries) ? yieldToEventLoop() : undefined;
  }

  /** Returns the entries of a collection, for a watch that begins with them, and at least those that match. */
  async all(namespace: string, matching: readonly IndexMatch[]): Promise<Range> {
    const prefix = this.#reader.collection(namespace);
    await this.#inTurn(prefix, 0);
    return this.#cache.range(prefix, { matching });
  }

  /** Lists the present state, or that of the first of several reads. */
  async #listPresent(prefix: string, request: ListRequest, start: string): Promise<Listed> {
    let at: Revision | undefined;
    let read = 0;
    const listed = await this.#collect(prefix, request, start, async (from, count) => {
      const options = { from, matching: request.matching, ...(count === undefined ? {} : { limit: count }) };
      if (at !== undefined && at !== this.#cache.revision) {
        const range = await this.#cache.rangeAt(prefix, { ...options, at });
        if (isCompacted(range)) throw expired("The resourceVersion for the provided list is too old.");
        read += range.entries.length;
        return range;
      }
      const range = this.#cache.range(prefix, options);
      at = range.revision;
      read += range.entries.length;
      return range;
    });
    countList(this.counts.present, read, listed.entries.length);
    return listed;
  }

  async #listContinued(prefix: string, request: ListRequest): Promise<Listed> {
    const token = decodeContinue(request.continue);
    // A token relates to the collection of the path, of which a selector may name one namespace.
    const key = this.#reader.collection(request.namespace) + token.start;
    const start = key < prefix ? prefix : key;
    if (token.revision === -1) return this.#listPresent(prefix, request, start);
    // The page before may come from a server that was ahead of this one.
    await this.#reader.reach(String(token.revision));
    return this.#listAt(prefix, request, token.revision, start);
  }

  async #listAt(prefix: string, request: ListRequest, at: Revision, start: string): Promise<Listed> {
    let read = 0;
    const listed = await this.#collect(prefix, request, start, async (from, count) => {
      const options = { at, from, matching: request.matching, ...(count === undefined ? {} : { limit: count }) };
      const range = await this.#cache.rangeAt(prefix, options);
      if (!isCompacted(range)) {
        read += range.entries.length;
        return range;
      }
      if (request.continue === "") throw expired("The resourceVersion for the provided list is too old.");
      throw expiredContinue(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
        this.#token(request, start, -1),
      );
    });
    countList(this.counts.past, read, listed.entries.length);
    return listed;
  }

  /**
   * Reads ranges, with pauses, until `limit` entries pass the filter, the only possible match was seen, or the range
   * ends.
   */
  async #collect(
    prefix: string,
    request: ListRequest,
    start: string,
    read: (from: string, count: number | undefined) => Promise<Range>,
  ): Promise<Listed> {
    const { limit, filter, name, caller } = request;
    const { namespace, selectedNamespace = namespace } = request;
    if (name !== undefined && (selectedNamespace !== "" || !this.#reader.definition.namespaced)) {
      const key = `${prefix}${name}`;
      const range = await read(start < key ? key : start, request.continue === "" ? 1 : 2);
      const [entry, following] = range.entries;
      const conversions = await this.#reader.convertWithWebhook(range.entries.slice(0, 1), caller);
      const isMatch = entry !== undefined && entry.key === key && (filter === undefined || filter(entry));
      // Upstream: only a list that is continued goes through objects one by one, and may stop before the end.
      const isCut = request.continue !== "" && isMatch && limit === 1 && following !== undefined;
      return {
        entries: isMatch ? [entry] : [],
        revision: range.revision,
        continue: isCut ? this.#next(request, entry, range.revision) : "",
        remainingItemCount: undefined,
        conversions,
      };
    }
    let from = start;
    if (filter === undefined) {
      const range = await read(from, limit === 0 ? undefined : limit);
      const last = range.entries.at(-1);
      return {
        entries: range.entries,
        revision: range.revision,
        continue: range.more && last !== undefined ? this.#next(request, last, range.revision) : "",
        remainingItemCount: range.more ? range.remaining : undefined,
        conversions: await this.#reader.convertWithWebhook(range.entries, caller),
      };
    }
    const entries: Entry[] = [];
    const conversions: ConvertedObjects[] = [];
    const yielder = new Yielder(this.#clock);
    for (;;) {
      const count = limit === 0 ? undefined : Math.max(limit * 2, 512);
      const range = await read(from, count);
      conversions.push(await this.#reader.convertWithWebhook(range.entries, caller));
      for (let i = 0; i < range.entries.length; i++) {
        const entry = range.entries[i]!;
        if (i % entriesPerLook === 0 && yielder.isDue) await yielder.pause();
        if (!filter(entry)) continue;
        entries.push(entry);
        if (limit > 0 && entries.length === limit) {
          const more = range.more || i + 1 < range.entries.length;
          return {
            entries,
            revision: range.revision,
            continue: more ? this.#next(request, entry, range.revision) : "",
            remainingItemCount: undefined,
            conversions,
          };
        }
      }
      const last = range.entries.at(-1);
      // An index leaves keys out, so that fewer entries may be all, although keys follow.
      const isAll = !range.more || count === undefined || range.entries.length < count;
      if (isAll || last === undefined) {
        return { entries, revision: range.revision, continue: "", remainingItemCount: undefined, conversions };
      }
      from = `${last.key}\0`;
    }
  }

  #next(request: ListRequest, last: Entry, revision: Revision): string {
    return this.#token(request, `${last.key}\0`, revision);
  }

  /** Returns the token for a page that starts at a key. */
  #token({ namespace }: ListRequest, key: string, revision: Revision): string {
    return encodeContinue({ revision, start: key.slice(this.#reader.collection(namespace).length) });
  }
}
