/** Copy-on-write of JSON values: unchanged parts are shared, and any key is plain data. */

export type MutableJson = Record<string, unknown>;

/** A shallow copy; `__proto__` stays a member. */
export function copyOf(object: Readonly<Record<string, unknown>>): MutableJson {
  return { ...object };
}

/** Freezes a tree of JSON that many values will share. */
export function deepFreeze(value: unknown): unknown {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const item of Object.values(value)) deepFreeze(item);
  }
  return value;
}
