/**
 * The keys whose current values would be stored in another form if they were written again (`LogStore.isStale`), as a
 * process knows them that does not store them. The owner tells of single keys; when its form has changed, all keys count as
 * stale until they are written.
 */
export class StaleKeys {
  /** The form of the owner: one text for as long as it does not change. */
  #form: string | undefined;
  /** Whether all keys are stale but those of `#keys`; else only those are. */
  #isInverted = false;
  readonly #keys = new Set<string>();

  has(key: string): boolean {
    return this.#keys.has(key) !== this.#isInverted;
  }

  /** Takes the form that the owner has now; an empty one says nothing. */
  use(form: string): void {
    if (form === "") return;
    const isOther = this.#form !== undefined && form !== this.#form;
    this.#form = form;
    if (!isOther) return;
    this.#isInverted = true;
    this.#keys.clear();
  }

  /** Takes the stale keys of a state that was read as a whole. */
  reset(keys: readonly string[]): void {
    this.#isInverted = false;
    this.#keys.clear();
    for (const key of keys) this.#keys.add(key);
  }

  /** Takes what the owner tells of a key that was written. */
  note(key: string, isStale: boolean): void {
    if (isStale === this.#isInverted) this.#keys.delete(key);
    else this.#keys.add(key);
  }

  /** Notes that a key does not exist any more. */
  forget(key: string): void {
    this.#keys.delete(key);
  }
}
