/**
 * Paths of fields in objects, as error messages show them: `spec.ports[0].name`, `data[key]`. Making one costs little,
 * since most are never shown: texts are put together when they are asked for.
 */

export class FieldPath {
  /** The object itself: the only path without text. */
  static readonly root = new FieldPath(undefined, "", false);

  readonly #parent: FieldPath | undefined;
  readonly #step: string | number;
  /** A member of a list or a map is shown in brackets. */
  readonly #isMember: boolean;
  /** Kept once a path just below was shown, for others there. */
  #text: string | undefined;

  private constructor(parent: FieldPath | undefined, step: string | number, isMember: boolean) {
    this.#parent = parent;
    this.#step = step;
    this.#isMember = isMember;
    this.#text = parent === undefined ? "" : undefined;
  }

  /** The path of a field of the object itself, and of fields below it. */
  static of(first: string, ...more: readonly string[]): FieldPath {
    return FieldPath.root.child(first, ...more);
  }

  child(name: string, ...more: readonly string[]): FieldPath {
    let path = this.#field(name);
    for (const next of more) path = path.#field(next);
    return path;
  }

  /** A member of a list. */
  index(at: number): FieldPath {
    return new FieldPath(this, at, true);
  }

  /** A member of a map. */
  key(key: string): FieldPath {
    return new FieldPath(this, key, true);
  }

  toString(): string {
    const parent = this.#parent;
    if (parent === undefined) return "";
    parent.#text ??= FieldPath.#joined(parent);
    return parent.#text + this.#last();
  }

  #field(name: string): FieldPath {
    return name === "" && this === FieldPath.root ? this : new FieldPath(this, name, false);
  }

  /** The text of the last step. */
  #last(): string {
    if (this.#isMember) return `[${this.#step}]`;
    return this.#parent === FieldPath.root ? String(this.#step) : `.${this.#step}`;
  }

  /** A text in one piece. Needs no stack: objects may nest deeply. */
  static #joined(path: FieldPath): string {
    const texts: string[] = [];
    let at = path;
    for (; at.#text === undefined; at = at.#parent!) texts.push(at.#last()); // the root has its text
    return [at.#text, ...texts.reverse()].join("");
  }
}
