/** Numbers and lists in sentences. */

/** Returns `1 problem`, `2 problems`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

const shownNamesMax = 5;

/** Returns the first names of a list, and how many more there are. */
export function someOf(names: readonly string[]): string {
  const more = names.length - shownNamesMax;
  return `${names.slice(0, shownNamesMax).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
