/** Deep-freezes JSON for tests, so that a write to a shared object fails. */

/** Returns the same value, frozen with all that it contains. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const inner of Object.values(value)) deepFreeze(inner);
    Object.freeze(value);
  }
  return value;
}
