/**
 * A copy of a collection in memory, kept up to date by a reflector: objects by key, indexes of the caller, and changes
 * for listeners. It never stops by itself: failures are reported, and it goes on.
 */
import type { ApiObject } from "#meta/object-meta.ts";
import { reflect, type ReflectorOptions } from "./reflector.ts";

/** Returns the values under which an object is found: `informer.by("owner", "ann")`. */
export type IndexBy<T> = (object: T) => readonly string[];

export interface InformerOptions<T extends ApiObject> extends Omit<ReflectorOptions<T>, "replaced" | "changed"> {
  /** The indexes, by name. */
  readonly index?: Readonly<Record<string, IndexBy<T>>> | undefined;
}

/** A change of the copy. Objects are shared and read-only. */
export type InformerEvent<T> =
  | { readonly type: "added"; readonly object: T }
  | { readonly type: "changed"; readonly object: T; readonly previous: T }
  /** `object` is the last known state; after a lost connection the very last may be unknown. */
  | { readonly type: "deleted"; readonly object: T };

export type InformerListener<T> = (event: InformerEvent<T>) => void;

/** Returns the object of an event, and before it what it was before a change. */
export const statesOf = <T>(event: InformerEvent<T>): readonly T[] =>
  event.type === "changed" ? [event.previous, event.object] : [event.object];

/** Returns the key of an object: `namespace/name`, or `name` for a cluster-scoped object. */
export const keyOf = ({ metadata: { namespace, name = "" } }: ApiObject): string =>
  namespace === undefined ? name : `${namespace}/${name}`;

export class Informer<T extends ApiObject> {
  /** Resolves when all objects have been read for the first time; rejects when the informer is closed before. */
  readonly synced: Promise<void>;
  /** The objects by namespace, which is empty for cluster-scoped ones, then by name. */
  readonly #objects = new Map<string, Map<string, T>>();
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
        if (type === "DELETED") this.#delete(object);
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
    return this.#objects.values().reduce((sum, objects) => sum + objects.size, 0);
  }

  /** Returns the object of a key: `namespace/name`, or `name`. */
  get(key: string): T | undefined {
    const slash = key.indexOf("/");
    return this.#objects.get(key.slice(0, Math.max(slash, 0)))?.get(key.slice(slash + 1));
  }

  /** Returns all objects, in no order. */
  list(): T[] {
    return this.#objects
      .values()
      .flatMap((objects) => objects.values())
      .toArray();
  }

  /** Returns the objects of a namespace, in no order. */
  in(namespace: string): T[] {
    return [...(this.#objects.get(namespace)?.values() ?? [])];
  }

  /** Returns the objects that an index has under a value. Throws `RangeError` for an unknown index. */
  by(index: string, value: string): T[] {
    const found = this.#indexes.get(index);
    if (found === undefined) throw new RangeError(`the informer has no index ${JSON.stringify(index)}`);
    return found.keys(value).map((key) => this.get(key)!); // an index has keys of present objects only
  }

  /**
   * Calls the listener with each object that is there as an added one, and then with every change. The returned function
   * ends this. A listener that throws is called again with the next change; its error goes to `failed`.
   */
  subscribe(listener: InformerListener<T>): () => void {
    for (const object of this.list()) this.#call(listener, { type: "added", object });
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
    for (const object of this.list()) if (!keys.has(keyOf(object))) this.#delete(object);
    for (const object of objects) this.#put(object);
  }

  #put(object: T): void {
    const previous = this.get(keyOf(object));
    if (previous !== undefined && isSameVersion(previous, object)) return;
    // An object that was deleted and created again in the meantime is another one.
    const isOther = previous !== undefined && previous.metadata.uid !== object.metadata.uid;
    if (isOther) this.#delete(previous);
    const replaced = isOther ? undefined : previous;
    this.#set(object, replaced, object);
    this.#tell(replaced === undefined ? { type: "added", object } : { type: "changed", object, previous: replaced });
  }

  /** Removes an object, whose last known state is given. */
  #delete(last: T): void {
    const previous = this.get(keyOf(last));
    if (previous === undefined) return;
    this.#set(last, previous, undefined);
    this.#tell({ type: "deleted", object: last });
  }

  /** Sets what is stored for an object, in place of what was. */
  #set(object: T, previous: T | undefined, next: T | undefined): void {
    const { namespace = "", name = "" } = object.metadata;
    const siblings = this.#objects.get(namespace) ?? new Map<string, T>();
    if (next === undefined) siblings.delete(name);
    else siblings.set(name, next);
    if (siblings.size === 0) this.#objects.delete(namespace);
    else this.#objects.set(namespace, siblings);
    for (const index of this.#indexes.values()) index.replace(keyOf(object), previous, next);
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
