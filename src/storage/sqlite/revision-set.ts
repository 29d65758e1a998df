/** A set of revisions: a sparse bit set. */
import type { Revision } from "../log-store.ts";

const pieceBits = 4096;
const wordBits = 32;

export class RevisionSet {
  readonly #pieces = new Map<number, Uint32Array>();
  /** The numbers of the pieces in order; `undefined` after one was added. */
  #order: number[] | undefined;

  add(revision: Revision): void {
    // Shifts would not do: a revision may need more than 32 bits.
    const number = Math.floor(revision / pieceBits);
    let piece = this.#pieces.get(number);
    if (piece === undefined) {
      piece = new Uint32Array(pieceBits / wordBits);
      this.#pieces.set(number, piece);
      this.#order = undefined;
    }
    const bit = revision - number * pieceBits;
    piece[bit >>> 5]! |= 1 << (bit & 31);
  }

  has(revision: Revision): boolean {
    const number = Math.floor(revision / pieceBits);
    const bit = revision - number * pieceBits;
    const piece = this.#pieces.get(number);
    return piece !== undefined && (piece[bit >>> 5]! & (1 << (bit & 31))) !== 0;
  }

  /** Returns the first member from `from` on. */
  next(from: Revision): Revision | undefined {
    const order = this.#sorted();
    for (let i = firstPiece(order, from); i < order.length; i++) {
      const base = order[i]! * pieceBits;
      const piece = this.#pieces.get(order[i]!)!;
      for (let bit = Math.max(0, from - base); bit < pieceBits; bit++) {
        if (piece[bit >>> 5] === 0) bit |= 31;
        else if ((piece[bit >>> 5]! & (1 << (bit & 31))) !== 0) return base + bit;
      }
    }
    return undefined;
  }

  /** Returns the first revision from `from` on that is no member. */
  nextAbsent(from: Revision): Revision {
    for (let number = Math.floor(from / pieceBits); ; number++) {
      const base = number * pieceBits;
      const piece = this.#pieces.get(number);
      if (piece === undefined) return Math.max(from, base);
      for (let bit = Math.max(0, from - base); bit < pieceBits; bit++) {
        if (piece[bit >>> 5] === 0xffffffff) bit |= 31;
        else if ((piece[bit >>> 5]! & (1 << (bit & 31))) === 0) return base + bit;
      }
    }
  }

  /** Counts the members in [from, to]. */
  count(from: Revision, to: Revision): number {
    let count = 0;
    for (let at = this.next(from); at !== undefined && at <= to; ) {
      const end = Math.min(this.nextAbsent(at), to + 1);
      count += end - at;
      at = this.next(end);
    }
    return count;
  }

  #sorted(): readonly number[] {
    this.#order ??= [...this.#pieces.keys()].sort((a, b) => a - b);
    return this.#order;
  }
}

/** Returns the index of the first piece that may contain `revision` or later ones. */
function firstPiece(order: readonly number[], revision: Revision): number {
  let low = 0;
  for (let high = order.length; low < high; ) {
    const middle = (low + high) >>> 1;
    if ((order[middle]! + 1) * pieceBits <= revision) low = middle + 1;
    else high = middle;
  }
  return low;
}
