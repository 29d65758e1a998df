/** Deep-freezes JSON for tests, so that a write to a shared object fails. */

/** The same value, frozen with all it holds. */
export function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) frozen(inner);
    Object.freeze(value);
  }
  return value;
}
