/** Appends many items to a list. */

/**
 * Appends `items` to `list` one by one. `list.push(...items)` would put them on the stack, and fails at about 120,000
 * items.
 */
export function addAll<T>(list: T[], items: Iterable<T>): void {
  for (const item of items) list.push(item);
}
