/**
 * One copy of a collection for several controllers: followed once, starting with the first listener, and kept without
 * unused fields.
 */
import type { ApiObject } from "#meta/object-meta.ts";
import type { ControllerEnvironment } from "./controller.ts";
import { follow } from "./reconcile.ts";

/**
 * Called with each change. `before` is absent for an object that is new to the listener, `after` for one that is gone.
 * Both are versions of one object.
 */
type InformerListener<T extends ApiObject> = (before: T | undefined, after: T | undefined) => void;

/** `T` is the type of the objects. */
interface SharedInformerOptions<T extends ApiObject> {
  /** The objects, for logs: `pods`. */
  readonly what: string;
  /** The path of the collection in all namespaces. */
  readonly path: string;
  /** Returns the part of an object that is kept. */
  trim(object: T): T;
}

/** `T` is the type of the objects, which are shared and read-only. */
export class SharedInformer<T extends ApiObject> {
  readonly #environment: Omit<ControllerEnvironment, "client">;
  readonly #options: SharedInformerOptions<T>;
  /** The objects by namespace, then by name. */
  readonly #objects = new Map<string, Map<string, T>>();
  readonly #listeners: InformerListener<T>[] = [];
  readonly #synced = Promise.withResolvers<void>();

  constructor(environment: Omit<ControllerEnvironment, "client">, options: SharedInformerOptions<T>) {
    this.#environment = environment;
    this.#options = options;
    environment.signal.addEventListener("abort", () => this.#synced.resolve(), { once: true });
  }

  /** Resolves when all objects have been read once, or when the server stops. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  /** Calls the listener for every present object, and for each change, in order. */
  listen(listener: InformerListener<T>): void {
    this.#listeners.push(listener);
    if (this.#listeners.length === 1) void this.#follow();
    else for (const object of this.all()) listener(undefined, object);
  }

  get(namespace: string, name: string): T | undefined {
    return this.#objects.get(namespace)?.get(name);
  }

  /** Yields the objects of a namespace; those of the whole cluster for cluster-scoped kinds and "". */
  in(namespace: string): Iterable<T> {
    return this.#objects.get(namespace)?.values() ?? [];
  }

  *all(): Iterable<T> {
    for (const objects of this.#objects.values()) yield* objects.values();
  }

  #follow(): Promise<void> {
    const { what, path, trim } = this.#options;
    return follow<T>(this.#environment, {
      what,
      path,
      trim,
      replaced: (objects) => this.#replace(objects),
      changed: (type, object) => this.#set(object, type === "DELETED" ? undefined : object),
    });
  }

  #replace(objects: readonly T[]): void {
    const here = new Set(objects.map(keyOf));
    for (const object of this.all()) if (!here.has(keyOf(object))) this.#set(object, undefined);
    for (const object of objects) {
      const { namespace = "", name = "", resourceVersion } = object.metadata;
      if (this.get(namespace, name)?.metadata.resourceVersion !== resourceVersion) this.#set(object, object);
    }
    this.#synced.resolve();
  }

  #set({ metadata: { namespace = "", name = "" } }: T, after: T | undefined): void {
    const current = this.get(namespace, name);
    // It is another object of that name: the one before was deleted while nobody followed.
    if (current !== undefined && after !== undefined && current.metadata.uid !== after.metadata.uid)
      this.#set(current, undefined);
    const objects = this.#objects.get(namespace) ?? new Map<string, T>();
    const before = objects.get(name);
    if (after === undefined) objects.delete(name);
    else objects.set(name, after);
    if (objects.size === 0) this.#objects.delete(namespace);
    else this.#objects.set(namespace, objects);
    if (before === undefined && after === undefined) return;
    for (const listener of this.#listeners) listener(before, after);
  }
}

/** Returns the key of an object in queues: its namespace, which may be empty, and its name. */
export const keyOf = ({ metadata: { namespace = "", name = "" } }: ApiObject): string => `${namespace}/${name}`;
