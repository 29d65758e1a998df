/** Where a field is in an object, as findings name it: `spec.ports[0].name`, `data[key]`. */

export class FieldPath {
  readonly #parent: FieldPath | undefined;
  readonly #step: string;

  private constructor(parent: FieldPath | undefined, step: string) {
    this.#parent = parent;
    this.#step = step;
  }

  /** The path of a field of the object itself, and of fields below it. */
  static of(first: string, ...more: readonly string[]): FieldPath {
    return new FieldPath(undefined, first).child(...more);
  }

  child(...names: readonly string[]): FieldPath {
    let path: FieldPath = this;
    for (const name of names) path = new FieldPath(path, `.${name}`);
    return path;
  }

  /** A member of a list. */
  index(at: number): FieldPath {
    return new FieldPath(this, `[${at}]`);
  }

  /** A member of a map. */
  key(key: string): FieldPath {
    return new FieldPath(this, `[${key}]`);
  }

  toString(): string {
    return this.#parent === undefined ? this.#step : this.#parent.toString() + this.#step;
  }
}
