/**
 * Reads of many keys in pages. The number of keys of a page follows the size of the values: many small values come at
 * once, since etcd counts all keys that remain for each page, and large ones a few at a time.
 */
import { type EtcdCallOptions, type EtcdClient, EtcdError, type KeyValue, type RangeAnswer } from "./client.ts";

const keysMax = 10_000;
const keysAtFirst = 500;
/** The bytes of values that a page should have at most. */
const bytesWanted = 16 * 1024 * 1024;

interface PagedRange {
  readonly key: string;
  readonly end: string;
  readonly revision: number;
  /** The maximum number of keys of all pages; left out: all. */
  readonly limit?: number;
}

/**
 * Calls `take` with each key of a range at one revision, in the order of keys. Resolves with the number of keys of the
 * range that follow after the last one. Rejects with an `EtcdError`.
 */
export async function readPages(
  client: Pick<EtcdClient, "range">,
  range: PagedRange,
  options: EtcdCallOptions,
  take: (entry: KeyValue) => void,
): Promise<number> {
  let remaining = 0;
  for await (const page of pagesOf(client, range, options)) {
    for (const entry of page.entries) take(entry);
    remaining = page.remaining;
  }
  return remaining;
}

interface Page {
  readonly entries: readonly KeyValue[];
  /** The number of keys of the range that follow. */
  readonly remaining: number;
}

/** Yields the pages of a range, one at least. Throws an `EtcdError`. */
export async function* pagesOf(
  client: Pick<EtcdClient, "range">,
  { key, end, revision, limit = Number.POSITIVE_INFINITY }: PagedRange,
  options: EtcdCallOptions,
): AsyncGenerator<Page> {
  let left = limit;
  let pageKeys = keysAtFirst;
  for (let from = key; ; ) {
    let page: RangeAnswer;
    try {
      page = await client.range({ key: from, end, revision, limit: Math.min(pageKeys, left) }, options);
    } catch (error) {
      const isTooLarge = error instanceof EtcdError && error.kind === "answerTooLarge";
      if (!isTooLarge || pageKeys === 1) throw error;
      pageKeys = Math.max(1, Math.floor(Math.min(pageKeys, left) / 8));
      continue;
    }
    const { count, entries, more } = page;
    yield { entries, remaining: count - entries.length };
    const bytes = entries.reduce((sum, { value }) => sum + value.length, 0);
    left -= entries.length;
    const last = entries.at(-1);
    if (!more || last === undefined || left <= 0) return;
    from = `${last.key}\u0000`;
    pageKeys = Math.min(keysMax, 4 * pageKeys, Math.max(1, Math.floor((bytesWanted * entries.length) / (bytes + 1))));
  }
}
