/** Many calls of one kind, of which each batch is bigger than the one before. Source: client-go's `slowStartBatch`. */

const batchMax = 32;

/**
 * Works on items in batches, the first with one item and each with twice as many, until one fails: what no call can do
 * costs few calls. Throws the first failure.
 */
export async function inBatches<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  for (let start = 0, size = 1; start < items.length; start += size, size = Math.min(size * 2, batchMax)) {
    const results = await Promise.allSettled(items.slice(start, start + size).map(work));
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }
}
