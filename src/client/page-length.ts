/** The number of objects of a page of a list. */

export const pageLength = 500;

/** The number of objects of the first page, and the factor by which pages grow, while their objects may be large. */
const [carefulLength, growth] = [16, 4];

/** Chooses the lengths of pages so that none has much more than some bytes, however large the objects are. */
export class PageLength {
  readonly #bytes: number;
  #value = carefulLength;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** The number of objects of the next page. */
  get value(): number {
    return this.#value;
  }

  /** Records a page that had these bytes. */
  took(bytes: number): void {
    const fitting = Math.floor((this.#value * this.#bytes) / Math.max(1, bytes));
    this.#value = Math.max(1, Math.min(pageLength, growth * this.#value, fitting));
  }
}
