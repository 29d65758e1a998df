/**
 * Indexes of the entries of one resource, by values that the layer above derives from them: a label, a field. An index
 * is made in the background once ranges have asked for it twice, and from then on kept up to date by every change.
 *
 *     index "label app":   web ──> { …/pods/shop/a, …/pods/shop/c }
 *                          db  ──> …/pods/shop/b                        a single key has no set of its own
 *                          unreadable: { …/pods/shop/x }                is among the candidates of every value
 *
 * While it is made, keys before `#madeTo` are in it; changes of later ones are seen when the scan reaches them.
 */
import type { Clock } from "#std/clock.ts";
import { Yielder } from "#std/cooperative.ts";
import type { Entry, IndexFunction, IndexMatch } from "../watch-cache.ts";

/** The present entries of a resource. */
interface IndexedEntries {
  count(): number;
  /** Calls `visit` with the entries whose keys are at least `from`, in key order, until it returns false. */
  scan(from: string, visit: (entry: Entry) => boolean): void;
}

/** The maximum number of indexes of a resource. */
const indexesMax = 32;
/** The maximum number of keys of all indexes for each entry, when one more is made. A key takes 40 to 70 bytes. */
const keysPerEntryMax = 4;
/** The time for which an index stays at least once it was used. Until then others are not made if there is no room. */
const usedMsMin = 60_000;
/** The time after which an index that nobody uses is dropped, since every change costs what it takes to keep it. */
const unusedMsMax = 10 * 60_000;
/** The number of changes between two looks for such indexes. */
const changesPerLook = 1024;
/** The maximum number of indexes that were asked for once. */
const askedMax = 128;
/** The number of entries, and of bytes of their values, that are added between two looks at the clock. */
const stepLength = 64;
const stepBytes = 256 * 1024;

export class EntryIndexes {
  readonly #entries: IndexedEntries;
  readonly #clock: Clock;
  /** The indexes by the names of their functions; the one used last is the last. */
  readonly #indexes = new Map<string, EntryIndex>();
  /** The names of indexes that were asked for once. */
  readonly #asked = new Set<string>();
  #changes = 0;

  constructor(entries: IndexedEntries, clock: Clock) {
    this.#entries = entries;
    this.#clock = clock;
  }

  /** Takes a change of a key. `before` and `now` are its entries, `undefined` where it does not exist. */
  changed(key: string, before: Entry | undefined, now: Entry | undefined): void {
    for (const index of this.#indexes.values()) index.changed(key, before, now);
    if (++this.#changes % changesPerLook === 0) this.#dropUnused();
  }

  /**
   * Returns the keys of a set that has, among others, every entry that meets all of `matches`, in no order; `undefined`
   * when no index has fewer than `keysMax` of them. Then an index is made for a later call.
   */
  candidates(matches: readonly IndexMatch[], keysMax: number): readonly string[] | undefined {
    let best: EntryIndex | undefined;
    let bestMatch: IndexMatch | undefined;
    let bestCount = keysMax;
    let missing: IndexFunction | undefined;
    let isMaking = false;
    for (const match of matches) {
      const index = this.#indexes.get(match.by.name);
      if (index === undefined) missing ??= match.by;
      else if (!index.isComplete) isMaking = true;
      else {
        const count = index.count(match.values);
        if (count >= bestCount) continue;
        best = index;
        bestMatch = match;
        bestCount = count;
      }
    }
    if (best === undefined || bestMatch === undefined) {
      if (missing !== undefined && !isMaking) this.#ask(missing);
      return undefined;
    }
    this.#indexes.delete(best.name);
    this.#indexes.set(best.name, best);
    best.usedMs = this.#clock.monotonic();
    return best.keys(bestMatch.values);
  }

  /** Forgets all indexes, because entries were replaced without a change. */
  clear(): void {
    for (const index of this.#indexes.values()) this.#drop(index);
  }

  #drop(index: EntryIndex): void {
    index.isDropped = true;
    this.#indexes.delete(index.name);
  }

  #dropUnused(): void {
    const nowMs = this.#clock.monotonic();
    for (const index of this.#indexes.values()) if (nowMs - index.usedMs > unusedMsMax) this.#drop(index);
  }

  #ask(by: IndexFunction): void {
    const { name } = by;
    if (!this.#asked.delete(name)) {
      this.#asked.add(name);
      if (this.#asked.size > askedMax) this.#asked.delete(first(this.#asked.keys()));
      return;
    }
    if (!this.#makeRoom()) return;
    const index = new EntryIndex(by, this.#clock.monotonic());
    this.#indexes.set(name, index);
    void this.#make(index);
  }

  /** Drops the indexes that were not used for the longest time until one more has room. Returns whether it has. */
  #makeRoom(): boolean {
    const count = this.#entries.count();
    for (const oldest of this.#indexes.values()) {
      let size = 0;
      for (const index of this.#indexes.values()) size += index.isComplete ? index.size : count;
      if (size + count <= keysPerEntryMax * count && this.#indexes.size < indexesMax) return true;
      if (this.#clock.monotonic() - oldest.usedMs < usedMsMin) return false;
      this.#drop(oldest);
    }
    return true;
  }

  async #make(index: EntryIndex): Promise<void> {
    const yielder = new Yielder(this.#clock);
    for (;;) {
      await yielder.pause();
      do {
        if (index.isDropped || !this.#addNext(index)) return;
      } while (!yielder.isDue);
    }
  }

  /** Adds the next entries; returns false when the index is complete. */
  #addNext(index: EntryIndex): boolean {
    let count = 0;
    let bytes = 0;
    index.isComplete = true;
    this.#entries.scan(index.madeTo, (entry) => {
      index.add(entry);
      bytes += entry.valueLength;
      if (++count < stepLength && bytes < stepBytes) return true;
      index.isComplete = false;
      index.madeTo = `${entry.key}\0`;
      return false;
    });
    return !index.isComplete;
  }
}

class EntryIndex {
  readonly #by: IndexFunction;
  readonly #keys = new Map<string, string | Set<string>>();
  /** The keys of entries whose value cannot be read. */
  readonly #unreadable = new Set<string>();
  /** The key up to which entries have been added, while the index is made. */
  madeTo = "";
  isComplete = false;
  /** Whether nobody uses this index any more. */
  isDropped = false;
  /** The time of the monotonic clock at which it was used, or begun. */
  usedMs: number;
  #size = 0;

  constructor(by: IndexFunction, nowMs: number) {
    this.#by = by;
    this.usedMs = nowMs;
  }

  /** The number of keys in it. */
  get size(): number {
    return this.#size;
  }

  get name(): string {
    return this.#by.name;
  }

  /** Returns the number of keys that `keys` returns. */
  count(values: readonly string[]): number {
    let count = this.#unreadable.size;
    for (const value of values) {
      const keys = this.#keys.get(value);
      if (keys !== undefined) count += typeof keys === "string" ? 1 : keys.size;
    }
    return count;
  }

  /** Returns the keys of the entries with one of `values`, each once, and of those whose value cannot be read. */
  keys(values: readonly string[]): string[] {
    const all = [...this.#unreadable];
    for (const value of values) {
      const keys = this.#keys.get(value);
      if (typeof keys === "string") all.push(keys);
      else if (keys !== undefined) for (const key of keys) all.push(key);
    }
    return all;
  }

  /** Adds an entry that a scan found. */
  add(entry: Entry): void {
    this.#put(entry.key, indexedValue(this.#by, entry, false));
  }

  changed(key: string, before: Entry | undefined, now: Entry | undefined): void {
    if (!this.isComplete && key >= this.madeTo) return;
    const old = before === undefined ? absent : indexedValue(this.#by, before, true);
    const value = now === undefined ? absent : indexedValue(this.#by, now, true);
    if (old === value) return;
    this.#remove(key, old);
    this.#put(key, value);
  }

  #put(key: string, value: IndexedValue): void {
    if (value !== absent) this.#size++;
    if (value === unreadable) this.#unreadable.add(key);
    if (typeof value !== "string") return;
    const keys = this.#keys.get(value);
    if (keys === undefined) this.#keys.set(value, key);
    else if (typeof keys === "string") this.#keys.set(value, new Set([keys, key]));
    else keys.add(key);
  }

  #remove(key: string, value: IndexedValue): void {
    if (value !== absent) this.#size--;
    if (value === unreadable) this.#unreadable.delete(key);
    if (typeof value !== "string") return;
    const keys = this.#keys.get(value);
    if (typeof keys !== "object") {
      this.#keys.delete(value);
      return;
    }
    keys.delete(key);
    if (keys.size === 1) this.#keys.set(value, first(keys.values()));
  }
}

/** Stands for the value of an entry that has none. */
const absent = Symbol("absent");
/** Stands for the value of an entry that cannot be read. It is given to everybody who asks for some value, and reports it. */
export const unreadable = Symbol("unreadable");

/** Returns the value of an entry. It never throws. */
export function indexedValue(
  by: IndexFunction,
  entry: Entry,
  isKept: boolean,
): string | typeof absent | typeof unreadable {
  try {
    return by.valueOf(entry, isKept) ?? absent;
  } catch {
    return unreadable;
  }
}

export type IndexedValue = ReturnType<typeof indexedValue>;

/** Returns the first of several texts. The caller knows that there is one. */
const first = (texts: Iterator<string>): string => texts.next().value as string;
