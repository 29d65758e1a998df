/** Appends many items. */

/** Appends `items` to `list` one by one: `list.push(...items)` takes the stack for them, and fails at about 120,000. */
export function addAll<T>(list: T[], items: Iterable<T>): void {
  for (const item of items) list.push(item);
}
