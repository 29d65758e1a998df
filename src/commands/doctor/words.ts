/** Numbers and lists in sentences. */

/** Returns `1 problem`, `2 problems`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** Returns the sentence about a certificate that has ended, or will end. */
export function expiry(which: string, untilMs: number, nowMs: number): string {
  const day = new Date(untilMs).toISOString().slice(0, 16).replace("T", " ");
  return `${which} ${untilMs < nowMs ? "expired" : "expires"} at ${day} UTC.`;
}

const shownNamesMax = 5;

/** Returns the first names of a list, and how many more there are. */
export function someOf(names: readonly string[]): string {
  const more = names.length - shownNamesMax;
  return `${names.slice(0, shownNamesMax).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
