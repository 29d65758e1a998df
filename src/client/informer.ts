/**
 * A copy of a collection in memory, kept up to date by a reflector: objects by key, indexes of the caller, and changes
 * for listeners. It never stops by itself: failures are reported, and it goes on.
 */
import type { ApiObject } from "#meta/object-meta.ts";
import { reflect, type ReflectorOptions } from "./reflector.ts";

/** Returns the values under which an object is found: `informer.by("owner", "ann")`. */
export type IndexBy<T> = (object: T) => readonly string[];

interface InformerOptions<T extends ApiObject> extends Omit<ReflectorOptions<T>, "replaced" | "changed"> {
  /** The indexes, by name. */
  readonly index?: Readonly<Record<string, IndexBy<T>>>;
}

/** A change of the copy. Objects are shared and read-only. */
export type InformerEvent<T> =
  | { readonly type: "added"; readonly object: T }
  | { readonly type: "changed"; readonly object: T; readonly previous: T }
  /** `object` is the last known state; after a lost connection the very last may be unknown. */
  | { readonly type: "deleted"; readonly object: T };

export type InformerListener<T> = (event: InformerEvent<T>) => void;

/** Returns the key of an object: `namespace/name`, or `name` for a cluster-scoped object. */
export const keyOf = ({ metadata: { namespace, name = "" } }: ApiObject): string =>
  namespace === undefined ? name : `${namespace}/${name}`;

export class Informer<T extends ApiObject> {
  /** Resolves when all objects have been read for the first time; rejects when the informer is closed before. */
  readonly synced: Promise<void>;
  readonly #objects = new Map<string, T>();
  readonly #indexes: ReadonlyMap<string, Index<T>>;
  readonly #listeners = new Set<InformerListener<T>>();
  readonly #options: InformerOptions<T>;
  readonly #running: Promise<void>;
  readonly #stop = new AbortController();
  #lastFailure: unknown;
  #isSynced = false;

  /** Starts to follow the collection. */
  constructor(options: InformerOptions<T>) {
    const { index = {}, signal, failed, ...rest } = options;
    this.#options = options;
    this.#indexes = new Map(Object.entries(index).map(([name, by]) => [name, new Index(by)]));
    const closed = AbortSignal.any([signal, this.#stop.signal]);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.synced = promise;
    // Nobody has to wait for it.
    promise.catch(() => undefined);
    const refuse = (): void => reject(closed.reason as Error);
    if (closed.aborted) refuse();
    closed.addEventListener("abort", refuse, { once: true });
    this.#running = reflect<T>({
      ...rest,
      signal: closed,
      failed: (error) => {
        this.#lastFailure = error;
        failed?.(error);
      },
      replaced: (objects) => {
        this.#replace(objects);
        this.#isSynced = true;
        resolve();
      },
      changed: (type, object) => {
        if (type === "DELETED") this.#delete(keyOf(object), object);
        else this.#put(object);
      },
    });
  }

  /** Whether all objects have been read. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** The last failure of a list or a watch, which another attempt followed; `undefined` when there was none. */
  get lastFailure(): unknown {
    return this.#lastFailure;
  }

  get size(): number {
    return this.#objects.size;
  }

  /** Returns the object of a key: `namespace/name`, or `name`. */
  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  /** Returns all objects, in no order. */
  list(): T[] {
    return [...this.#objects.values()];
  }

  /** Returns the objects that an index has under a value. Throws `RangeError` for an unknown index. */
  by(index: string, value: string): T[] {
    const found = this.#indexes.get(index);
    if (found === undefined) throw new RangeError(`the informer has no index ${JSON.stringify(index)}`);
    return found.keys(value).map((key) => this.#objects.get(key)!); // an index has keys of present objects only
  }

  /**
   * Calls the listener with each object that is there as an added one, and then with every change. The returned function
   * ends this. A listener that throws is called again with the next change; its error goes to `failed`.
   */
  subscribe(listener: InformerListener<T>): () => void {
    for (const object of this.#objects.values()) this.#call(listener, { type: "added", object });
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Stops following. The copy stays as it is. */
  async close(): Promise<void> {
    this.#stop.abort(new Error("the informer is closed"));
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Takes all objects after a list: those that it does not have were deleted in the meantime. */
  #replace(objects: readonly T[]): void {
    const keys = new Set(objects.map(keyOf));
    for (const key of this.#objects.keys()) if (!keys.has(key)) this.#delete(key, undefined);
    for (const object of objects) this.#put(object);
  }

  #put(object: T): void {
    const key = keyOf(object);
    const previous = this.#objects.get(key);
    if (previous !== undefined && isSameVersion(previous, object)) return;
    // An object that was deleted and created again in the meantime is another one.
    if (previous !== undefined && previous.metadata.uid !== object.metadata.uid) this.#delete(key, undefined);
    const replaced = this.#objects.get(key);
    this.#objects.set(key, object);
    for (const index of this.#indexes.values()) index.replace(key, replaced, object);
    this.#tell(replaced === undefined ? { type: "added", object } : { type: "changed", object, previous: replaced });
  }

  #delete(key: string, last: T | undefined): void {
    const previous = this.#objects.get(key);
    if (previous === undefined) return;
    this.#objects.delete(key);
    for (const index of this.#indexes.values()) index.replace(key, previous, undefined);
    this.#tell({ type: "deleted", object: last ?? previous });
  }

  #tell(event: InformerEvent<T>): void {
    for (const listener of this.#listeners) this.#call(listener, event);
  }

  #call(listener: InformerListener<T>, event: InformerEvent<T>): void {
    try {
      listener(event);
    } catch (error) {
      this.#options.failed?.(error);
    }
  }
}

const isSameVersion = (a: ApiObject, b: ApiObject): boolean =>
  a.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion;

/** The keys of objects by the values that a function finds in them. */
class Index<T> {
  readonly #by: IndexBy<T>;
  readonly #keys = new Map<string, Set<string>>();

  constructor(by: IndexBy<T>) {
    this.#by = by;
  }

  keys(value: string): string[] {
    return [...(this.#keys.get(value) ?? [])];
  }

  /** Notes the values of the object that has a key now, in place of those of an earlier one. */
  replace(key: string, previous: T | undefined, next: T | undefined): void {
    const before = previous === undefined ? noValues : this.#by(previous);
    const after = next === undefined ? noValues : this.#by(next);
    for (const value of before) {
      if (after.includes(value)) continue;
      const keys = this.#keys.get(value);
      if (keys?.delete(key) === true && keys.size === 0) this.#keys.delete(value);
    }
    for (const value of after) {
      const keys = this.#keys.get(value);
      if (keys === undefined) this.#keys.set(value, new Set([key]));
      else keys.add(key);
    }
  }
}

const noValues: readonly string[] = [];
