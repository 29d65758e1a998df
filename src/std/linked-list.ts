/**
 * Those present: joining and leaving in constant time, in no order that matters. For what comes and goes with every
 * request: the tables of a `Set` are replaced again and again, an old one leads to the next and to whoever was in it,
 * and once the collector has moved one to the old generation it keeps all later ones alive until a full collection.
 * A seat that is left leads nowhere.
 */

/** The place of one member; hand it back to leave. */
export interface Node<T> {
  member: T | undefined;
  before: Node<T> | undefined;
  after: Node<T> | undefined;
}

export class LinkedList<T> {
  #last: Node<T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  join(member: T): Node<T> {
    const seat: Node<T> = { member, before: this.#last, after: undefined };
    if (this.#last !== undefined) this.#last.after = seat;
    this.#last = seat;
    this.#size++;
    return seat;
  }

  /** Leaving twice does nothing. */
  leave(seat: Node<T>): void {
    if (seat.member === undefined) return;
    const { before, after } = seat;
    if (before !== undefined) before.after = after;
    if (after !== undefined) after.before = before;
    else this.#last = before;
    seat.member = undefined;
    seat.before = undefined;
    seat.after = undefined;
    this.#size--;
  }

  /** Who is present now, the latest first. */
  members(): T[] {
    const all: T[] = [];
    for (let seat = this.#last; seat !== undefined; seat = seat.before) all.push(seat.member!);
    return all;
  }
}
