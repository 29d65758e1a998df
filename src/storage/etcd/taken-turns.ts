/**
 * The turns of this server (`log-store.ts`). A turn has a key, which each write of it puts in its transaction, and which
 * must be no newer than what the writer knows. What this server put itself counts as known, if nobody else came between.
 */
import type { Revision, Turn } from "../log-store.ts";

/** A span of revisions in which nobody but this server took the turn. */
interface Known {
  readonly from: Revision;
  readonly to: Revision;
}

export class TakenTurns {
  readonly #known = new Map<string, Known>();

  /** Returns the last revision at which the key of the turn may have been written. */
  seenBy({ name, seen }: Turn): Revision {
    const known = this.#known.get(name);
    return known === undefined || seen < known.from ? seen : Math.max(seen, known.to);
  }

  /** Notes that a write of this server took the turn. */
  taken(turn: Turn, revision: Revision): void {
    const known = this.#known.get(turn.name);
    const joins = known !== undefined && turn.seen >= known.from && turn.seen <= known.to;
    this.#known.set(turn.name, { from: joins ? known.from : turn.seen, to: revision });
  }
}
