/** A bounded cache for a costly pure function. */

interface Weight<Result> {
  of(result: Result): number;
  readonly max: number;
}

/**
 * `make`, which is called once for each key as long as no more than `max` different ones are asked for, whose results
 * weigh no more than `weight` allows together.
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
