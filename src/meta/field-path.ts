/**
 * Paths of fields in objects, as error messages show them: `spec.ports[0].name`, `data[key]`. A path is cheap to make,
 * since most are never shown: its text is built at the first request.
 */

export class FieldPath {
  /** The path of the object itself, the only one without text. */
  static readonly root = new FieldPath(undefined, "", false);

  readonly #parent: FieldPath | undefined;
  readonly #step: string | number;
  /** Whether the last step is a member of a list or a map, which is shown in brackets. */
  readonly #isMember: boolean;
  /** The text, kept once a path directly below was shown, for its siblings. */
  #text: string | undefined;

  private constructor(parent: FieldPath | undefined, step: string | number, isMember: boolean) {
    this.#parent = parent;
    this.#step = step;
    this.#isMember = isMember;
    this.#text = parent === undefined ? "" : undefined;
  }

  /** Returns the path of a field of the object itself, or of a field below it. */
  static of(first: string, second?: string, third?: string, fourth?: string): FieldPath {
    return FieldPath.root.child(first, second, third, fourth);
  }

  /** Returns the path of a field, or of one that is some steps below it. */
  child(name: string, second?: string, third?: string, fourth?: string): FieldPath {
    // A list of the names would be made for each of some hundred paths of a pod.
    const path = this.#field(name);
    if (second === undefined) return path;
    const below = path.#field(second);
    if (third === undefined) return below;
    return fourth === undefined ? below.#field(third) : below.#field(third).#field(fourth);
  }

  /** Returns the path of a member of a list. */
  index(at: number): FieldPath {
    return new FieldPath(this, at, true);
  }

  /** Returns the path of a member of a map. */
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

  /** Returns the text of the last step. */
  #last(): string {
    if (this.#isMember) return `[${this.#step}]`;
    return this.#parent === FieldPath.root ? String(this.#step) : `.${this.#step}`;
  }

  /** Returns the whole text, without recursion, since objects may nest deeply. */
  static #joined(path: FieldPath): string {
    const texts: string[] = [];
    let at = path;
    for (; at.#text === undefined; at = at.#parent!) texts.push(at.#last()); // the root has its text
    return [at.#text, ...texts.reverse()].join("");
  }
}
