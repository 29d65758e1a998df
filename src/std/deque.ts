/**
 * A double-ended queue in a circular array: push at the back, shift from the front, read any index, all in constant
 * time.
 *
 * Hot path (one push and one shift per write of the store): plain code.
 */

export class Deque<T> {
  #items: (T | undefined)[] = Array.from({ length: 16 });
  #first = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(item: T): void {
    if (this.#length === this.#items.length) this.#resize(this.#items.length * 2);
    this.#items[(this.#first + this.#length) & (this.#items.length - 1)] = item;
    this.#length++;
  }

  /** Removes and returns the oldest item, `undefined` when there is none. */
  shift(): T | undefined {
    if (this.#length === 0) return undefined;
    const item = this.#items[this.#first];
    this.#items[this.#first] = undefined;
    this.#first = (this.#first + 1) & (this.#items.length - 1);
    this.#length--;
    if (this.#items.length > 1024 && this.#length < this.#items.length >> 3) this.#resize(this.#items.length >> 1);
    return item;
  }

  /** Removes all items. */
  clear(): void {
    this.#items = Array.from({ length: 16 });
    this.#first = 0;
    this.#length = 0;
  }

  /** Returns the item `index` positions after the oldest; `undefined` outside of `0 … length - 1`. */
  at(index: number): T | undefined {
    if (index < 0 || index >= this.#length) return undefined;
    return this.#items[(this.#first + index) & (this.#items.length - 1)];
  }

  /** Returns the youngest item. */
  last(): T | undefined {
    return this.at(this.#length - 1);
  }

  /**
   * Returns the index of the first item for which `isAfter` holds. The items must be ordered so that it holds for all
   * later items.
   */
  firstIndex(isAfter: (item: T) => boolean): number {
    let low = 0;
    let high = this.#length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isAfter(this.at(middle)!)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #resize(capacity: number): void {
    const items: (T | undefined)[] = [];
    for (let i = 0; i < this.#length; i++) items.push(this.#items[(this.#first + i) & (this.#items.length - 1)]);
    while (items.length < capacity) items.push(undefined);
    this.#items = items;
    this.#first = 0;
  }
}
