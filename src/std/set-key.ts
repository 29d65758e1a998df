/** Sets keys of objects that clients choose. */

/** Sets an own key, whatever its name: a plain assignment to `__proto__` would change the prototype. */
export function setKey(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}
