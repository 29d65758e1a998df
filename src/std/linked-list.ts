/**
 * A doubly linked list with O(1) insertion and removal, for entries that come and go with every request. A `Set` would
 * keep garbage alive: it replaces its table as it grows, the old table links to the new one, and an old table that was
 * promoted keeps later ones alive until a full collection. A removed node links to nothing.
 */

/** A node of the list, which its owner passes back to remove the member. */
export interface Node<T> {
  member: T | undefined;
  before: Node<T> | undefined;
  after: Node<T> | undefined;
}

export class LinkedList<T> {
  #first: Node<T> | undefined;
  #last: Node<T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The first member. */
  get first(): T | undefined {
    return this.#first?.member;
  }

  add(member: T): Node<T> {
    const node: Node<T> = { member, before: this.#last, after: undefined };
    if (this.#last !== undefined) this.#last.after = node;
    else this.#first = node;
    this.#last = node;
    this.#size++;
    return node;
  }

  /** Adds a member before all others. */
  addFirst(member: T): Node<T> {
    const node: Node<T> = { member, before: undefined, after: this.#first };
    if (this.#first !== undefined) this.#first.before = node;
    else this.#last = node;
    this.#first = node;
    this.#size++;
    return node;
  }

  /** Removing a node twice does nothing. */
  remove(node: Node<T>): void {
    if (node.member === undefined) return;
    const { before, after } = node;
    if (before !== undefined) before.after = after;
    else this.#first = after;
    if (after !== undefined) after.before = before;
    else this.#last = before;
    node.member = undefined;
    node.before = undefined;
    node.after = undefined;
    this.#size--;
  }

  /** Returns the present members, the last one first. */
  members(): T[] {
    const all: T[] = [];
    for (let node = this.#last; node !== undefined; node = node.before) all.push(node.member!);
    return all;
  }
}
