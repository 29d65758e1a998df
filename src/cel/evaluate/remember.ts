/** A bounded memory of what a costly pure function made. */

/** `make`, which is called once for each key as long as no more than `max` different ones are asked for. */
export function remember<Result>(max: number, make: (key: string) => Result): (key: string) => Result {
  const results = new Map<string, Result>();
  return (key) => {
    const known = results.get(key);
    if (known !== undefined) return known;
    const made = make(key);
    if (results.size >= max) results.clear();
    results.set(key, made);
    return made;
  };
}
