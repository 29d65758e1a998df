/** Many calls of one kind, of which each batch is bigger than the one before. Source: client-go's `slowStartBatch`. */

const batchMax = 32;

/**
 * Works on items in batches, the first with one item and each with twice as many, until one fails. Something that no call
 * can do, because a quota is used up for example, costs few calls in this way. Throws the first failure of the batch.
 */
export async function inBatches<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  for (let start = 0, size = 1; start < items.length; start += size, size = Math.min(size * 2, batchMax)) {
    const results = await Promise.allSettled(items.slice(start, start + size).map(work));
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
}
