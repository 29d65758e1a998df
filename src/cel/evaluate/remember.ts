/** Caches the results of a costly pure function. */

interface Weight<Result> {
  of(result: Result): number;
  readonly max: number;
}

/**
 * Returns a cached `make`. The cache is emptied when it has `max` results, or when its results together weigh more than
 * `weight.max`.
 */
export function remember<Result>(
  max: number,
  make: (key: string) => Result,
  weight?: Weight<Result>,
): (key: string) => Result {
  const results = new Map<string, Result>();
  let weighed = 0;
  return (key) => {
    const cached = results.get(key);
    if (cached !== undefined) return cached;
    const result = make(key);
    const own = weight?.of(result) ?? 0;
    weighed += own;
    if (results.size >= max || (weight !== undefined && weighed > weight.max)) {
      results.clear();
      weighed = own;
    }
    results.set(key, result);
    return result;
  };
}
