/**
 * An index of the stored objects of one kind by namespace. Plugins use it at every write, and most namespaces have no
 * such object.
 */

export class NamespaceIndex<T> {
  readonly #namespaces = new Map<string, Map<string, T>>();
  /** The objects of a namespace by name, sorted when they are first needed. */
  readonly #sorted = new Map<string, readonly T[]>();

  /** Returns the objects of a namespace, by name; `undefined` when there are none. */
  of(namespace: string): readonly T[] | undefined {
    const objects = this.#namespaces.get(namespace);
    if (objects === undefined) return undefined;
    let sorted = this.#sorted.get(namespace);
    if (sorted === undefined) {
      sorted = [...objects].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, object]) => object);
      this.#sorted.set(namespace, sorted);
    }
    return sorted;
  }

  get(namespace: string, name: string): T | undefined {
    return this.#namespaces.get(namespace)?.get(name);
  }

  /** Sets an object, or removes it when it is `undefined`. */
  set(namespace: string, name: string, object: T | undefined): void {
    let objects = this.#namespaces.get(namespace);
    this.#sorted.delete(namespace);
    if (object === undefined) {
      objects?.delete(name);
      if (objects?.size === 0) this.#namespaces.delete(namespace);
      return;
    }
    if (objects === undefined) this.#namespaces.set(namespace, (objects = new Map()));
    objects.set(name, object);
  }

  clear(): void {
    this.#namespaces.clear();
    this.#sorted.clear();
  }
}
