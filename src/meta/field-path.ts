/** Paths of fields in objects, as error messages show them: `spec.ports[0].name`, `data[key]`. */

export class FieldPath {
  readonly #parent: FieldPath | undefined;
  readonly #step: string;

  private constructor(parent: FieldPath | undefined, step: string) {
    this.#parent = parent;
    this.#step = step;
  }

  /** The path of a field of the object itself, and of fields below it. */
  static of(first: string, ...more: readonly string[]): FieldPath {
    let path = new FieldPath(undefined, first);
    for (const name of more) path = path.child(name);
    return path;
  }

  child(name: string, ...more: readonly string[]): FieldPath {
    let path = new FieldPath(this, `.${name}`);
    for (const next of more) path = new FieldPath(path, `.${next}`);
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
