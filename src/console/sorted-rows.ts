/**
 * The rows of a table in an order that is kept while some of them change. A batch of changes is sorted by itself and merged:
 * it costs comparisons by its own size and the logarithm of that of the table, and one copy of the array.
 */

/** A value by which rows are sorted; never `NaN`. */
export type SortKey = string | number;

/** Compares upwards, as `Array.sort` does: numbers come before texts. */
export function compareSortKeys(one: SortKey, other: SortKey): number {
  if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1;
  return one < other ? -1 : one > other ? 1 : 0;
}

/** A change of a row; without a row, it is gone. */
export interface RowChange<Row> {
  readonly key: string;
  readonly row: Row | undefined;
}

interface RowOrder<Row> {
  /** Whether a row is in the table. */
  fits(row: Row): boolean;
  sortKeyOf(row: Row): SortKey;
  /** Compares as `Array.sort` does. Equal rows are in the order of their keys. */
  compare(one: SortKey, other: SortKey): number;
}

interface Entry<Row> {
  readonly key: string;
  readonly row: Row;
  readonly sortKey: SortKey;
  isGone: boolean;
}

export class SortedRows<Row> {
  readonly #order: RowOrder<Row>;
  readonly #entries = new Map<string, Entry<Row>>();
  #sorted: readonly Entry<Row>[] = [];
  #rows: readonly Row[] = [];

  constructor(order: RowOrder<Row>) {
    this.#order = order;
  }

  /** The rows in their order. The array must not be changed; another one takes its place after changes. */
  get rows(): readonly Row[] {
    return this.#rows;
  }

  /** Changes rows. Of several changes of a key the last one counts. */
  change(changes: readonly RowChange<Row>[]): void {
    const fresh: Entry<Row>[] = [];
    for (const { key, row } of changes) {
      const before = this.#entries.get(key);
      if (before !== undefined) before.isGone = true;
      if (row === undefined || !this.#order.fits(row)) this.#entries.delete(key);
      else {
        const entry = { key, row, sortKey: this.#order.sortKeyOf(row), isGone: false };
        this.#entries.set(key, entry);
        fresh.push(entry);
      }
    }
    this.#sorted = this.#merged(fresh.filter(({ isGone }) => !isGone).sort((one, other) => this.#compare(one, other)));
    this.#rows = this.#sorted.map(({ row }) => row);
  }

  #merged(fresh: readonly Entry<Row>[]): readonly Entry<Row>[] {
    const merged: Entry<Row>[] = [];
    let at = 0;
    const takeUntil = (end: number): void => {
      for (; at < end; at++) {
        const entry = this.#sorted[at]!;
        if (!entry.isGone) merged.push(entry);
      }
    };
    for (const entry of fresh) {
      takeUntil(this.#endOfSmaller(entry, at));
      merged.push(entry);
    }
    takeUntil(this.#sorted.length);
    return merged;
  }

  /** Returns the index behind all entries from `from` on that are smaller. Entries that are gone stand where they were. */
  #endOfSmaller(entry: Entry<Row>, from: number): number {
    let [low, high] = [from, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(this.#sorted[middle]!, entry) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #compare(one: Entry<Row>, other: Entry<Row>): number {
    return this.#order.compare(one.sortKey, other.sortKey) || (one.key < other.key ? -1 : one.key > other.key ? 1 : 0);
  }
}
