/** The history of a server, as Binnacle alone tells it (`docs/history.md`). */
import type { PastItem } from "#meta/past-item.ts";

/** Returns who made an event, as far as it is known. */
export const whoOf = ({ user, manager, endedBy }: PastItem): string =>
  user ?? manager ?? endedBy?.user ?? "an unknown manager";
