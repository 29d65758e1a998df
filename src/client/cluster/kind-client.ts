/** The calls on the objects of one kind. */
import type { DeleteOptions } from "#api/meta/v1.ts";
import type { Scale } from "#api/autoscaling/v1.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { Apply, DeepPartial, Draft, Mutable, Patch, Replacement } from "../draft.ts";
import type { BodyKind, Kind } from "../kind.ts";
import { pageLength } from "../page-length.ts";
import { inPages, pagePath } from "../pages.ts";
import { jsonBody, type ObjectList } from "../rest-client.ts";
import { type Applied, apply, type ApplyCallOptions, change, create, get, isAbsent, patch, replace } from "./calls.ts";
import { SubresourceClient } from "./subresource-client.ts";
import {
  type CallOptions,
  type ClusterParts,
  collectionPath,
  itemCompleter,
  namespaceOf,
  objectPath,
  queryOf,
  type Selection,
  selectionQuery,
  type OutgoingObject,
  type CallTarget,
  type WriteCallOptions,
} from "./target.ts";
import { type Predicate, until, type UntilCallOptions } from "./until.ts";
import { watch, type WatchEvent, type WatchCallOptions } from "./watch.ts";

export interface ListCallOptions extends CallOptions, Selection {
  /** The objects of a page; 500 by default. */
  readonly pageSize?: number | undefined;
}

/** Options of a delete. */
export interface DeleteCallOptions extends CallOptions {
  readonly dryRun?: boolean | undefined;
  /** The fate of the objects that the object owns; by default that of its kind, usually `Background`. */
  readonly propagation?: "Background" | "Foreground" | "Orphan" | undefined;
  /** The object is deleted only if it has this identity and this version. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string } | undefined;
  readonly gracePeriodSeconds?: number | undefined;
}

export interface DeleteAllCallOptions extends Omit<DeleteCallOptions, "preconditions">, Selection {}

const scaleKind: BodyKind<Scale> = { group: "autoscaling", version: "v1", kind: "Scale" };

/**
 * The calls on the objects of one kind. A call names its namespace with `in`; without it, the namespace is that of
 * `in()`, that of the object that is sent, or that of the connection. Calls that read many objects read all namespaces
 * then. Kinds without namespaces ignore all of this.
 *
 * Two outcomes are values: `find` returns `undefined` where there is no object, and `apply` returns conflicts. All
 * other refusals throw `ApiError`. A call whose signal is aborted throws the reason of the signal.
 */
export class KindClient<T extends ApiObject> {
  readonly kind: Kind<T>;
  readonly #parts: ClusterParts;
  readonly #namespace: string | undefined;

  constructor(parts: ClusterParts, kind: Kind<T>, namespace?: string) {
    this.kind = kind;
    this.#parts = parts;
    this.#namespace = namespace;
  }

  /** Returns the same calls, in this namespace unless a call names another one. */
  in(namespace: string): KindClient<T> {
    return new KindClient(this.#parts, this.kind, namespace);
  }

  /** Reads an object. Throws `ApiError` with the reason `NotFound` if it does not exist. */
  get(name: string, options: CallOptions = {}): Promise<T> {
    return get(this.#target(), name, options);
  }

  /** Reads an object; `undefined` if it does not exist. Throws if the kind itself is not served. */
  async find(name: string, options: CallOptions = {}): Promise<T | undefined> {
    try {
      return await this.get(name, options);
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  /**
   * Yields the objects of a namespace, or of all, page by page; only one page is in memory. While no page expires, the
   * objects are those of one moment, that of the first page. A page expires after some minutes, or when the server
   * forgets its history: then the list goes on behind the last object with the objects as they are now, or, if the
   * server cannot do that, begins again without those that were yielded. The caller sees no object twice; it may miss
   * objects that were created meanwhile, and sees objects that were deleted after it got them.
   */
  async *list(options: ListCallOptions = {}): AsyncGenerator<T, void, undefined> {
    const target = this.#target();
    const { pageSize = pageLength, signal } = options;
    const path = await collectionPath(target, options.in ?? this.#namespace, signal);
    const complete = await itemCompleter<T>(target);
    const selected = path + queryOf(selectionQuery(options));
    const read = (token: string): Promise<ObjectList<T>> => {
      signal?.throwIfAborted();
      return this.#parts.rest.call({
        method: "GET",
        path: pagePath(selected, token, pageSize),
        signal: options.signal,
      });
    };
    for await (const item of inPages(read, pageSize)) yield complete(item);
  }

  /**
   * Creates an object and returns it as it was stored. Kinds that are not stored, such as reviews and bindings, are
   * created in the same way; what is returned is the answer.
   */
  async create(object: Draft<T>, options: WriteCallOptions = {}): Promise<T> {
    options.signal?.throwIfAborted();
    const target = this.#target();
    const sent = object as OutgoingObject; // drafts of all kinds have these fields
    const path = await collectionPath(target, namespaceOf(target, options, sent), options.signal);
    return create<T>(target, path, sent, options);
  }

  /**
   * Replaces an object. With a `resourceVersion` it is refused (`Conflict`) when somebody else has changed the object
   * since.
   */
  replace(object: Replacement<T>, options: WriteCallOptions = {}): Promise<T> {
    return replace(this.#target(), object, options);
  }

  /**
   * Applies fields, which the manager then owns; it creates the object if there is none. Fields that it owned and that
   * are absent now are removed. Fields of other managers with other values are conflicts, which are returned, unless
   * `force` takes them.
   */
  apply(object: Apply<T>, options: ApplyCallOptions = {}): Promise<Applied<T>> {
    return apply(this.#target(), object, options);
  }

  /** Patches an object with a merge patch, a JSON patch or a strategic merge patch. */
  patch(name: string, change: Patch<T>, options: WriteCallOptions = {}): Promise<T> {
    return patch(this.#target(), name, change, options);
  }

  /**
   * Reads an object, lets `edit` change it (or promise to), and writes it. If somebody else wrote in between, all of it
   * happens again, up to ten times; `edit` gets a fresh object each time. Nothing is written if nothing has changed. Whole
   * numbers beyond 2^53 stay as they are: in the object that `edit` gets they are `{ rawJSON: "9007199254740993" }`.
   */
  change(name: string, edit: (object: Mutable<T>) => unknown, options: WriteCallOptions = {}): Promise<T> {
    return change<T>(this.#target(), name, edit, options);
  }

  /** The calls on the status of objects. */
  get status(): SubresourceClient<T> {
    return this.subresource("status");
  }

  /** The calls on the number of replicas, for kinds that can be scaled. */
  get scale(): ScaleClient {
    const client = new SubresourceClient<Scale>({ ...this.#target("scale"), body: scaleKind });
    return {
      async get(name, options = {}) {
        return (await client.get(name, options)).spec.replicas ?? 0;
      },
      async set(name, replicas, options = {}) {
        await client.patch(name, { merge: { spec: { replicas } } }, options);
      },
    };
  }

  /** Returns the calls on a subresource, whose objects have the kind of the object itself. */
  subresource(name: string): SubresourceClient<T>;
  /** Returns the calls on a subresource with objects of another kind: `subresource("token", TokenRequest)`. */
  subresource<S extends ApiObject>(name: string, kind: BodyKind<S>): SubresourceClient<S>;
  subresource(name: string, kind: BodyKind = this.kind): SubresourceClient<ApiObject> {
    return new SubresourceClient({ ...this.#target(name), body: kind });
  }

  /**
   * Deletes an object. Returns whether it existed: an object with finalizers is deleted when they are gone. Preconditions
   * that do not hold throw `ApiError` with the reason `Conflict`.
   */
  async delete(name: string, options: DeleteCallOptions = {}): Promise<boolean> {
    options.signal?.throwIfAborted();
    const target = this.#target();
    try {
      const path = await objectPath(target, name, options);
      await this.#parts.rest.call({ method: "DELETE", path, ...removalBody(options), signal: options.signal });
      return true;
    } catch (error) {
      if (isAbsent(error)) return false;
      throw error;
    }
  }

  /** Deletes all objects of one namespace, or of a kind without namespaces, that the selectors name. */
  async deleteAll(options: DeleteAllCallOptions = {}): Promise<void> {
    options.signal?.throwIfAborted();
    const target = this.#target();
    const query = queryOf(selectionQuery(options));
    const path = (await collectionPath(target, namespaceOf(target, options), options.signal)) + query;
    await this.#parts.rest.call({ method: "DELETE", path, ...removalBody(options), signal: options.signal });
  }

  /**
   * Waits until the object is as wanted, and returns it; `undefined` if the predicate was true for no object. The
   * predicate is called with the present state and then with every change; what it throws ends the waiting (see
   * `outcome`). When the time is over, the object is read once more, unless the predicate is still busy. Throws
   * `WaitTimeoutError` then.
   */
  until(name: string, predicate: Predicate<T>, options: UntilCallOptions = {}): Promise<T | undefined> {
    return until(this.#target(), name, predicate, options);
  }

  /**
   * Yields the objects that there are, as `added`, and then every change, until the signal is aborted. A watch that ends
   * or is cut goes on after the last change. If the server has forgotten its history, the objects are listed again:
   * those that have gone are `deleted`, with their last known state, and of several changes of an object the last one
   * is told. A caller that is slow loses nothing. Throws `ApiError` when the first list fails or when the server refuses
   * the watch later (codes of 400 to 499 but 408, 409, 410 and 429); other failures are told to `failed`, and the watch
   * goes on after a pause.
   */
  watch(options: WatchCallOptions = {}): AsyncGenerator<WatchEvent<T>, void, undefined> {
    return watch<T>(this.#target(), options);
  }

  #target(subresource = ""): CallTarget {
    return { parts: this.#parts, kind: this.kind, body: this.kind, namespace: this.#namespace, subresource };
  }
}

/** The number of replicas that an object should have. */
interface ScaleClient {
  /** Returns the wanted number of replicas. */
  get(name: string, options?: CallOptions): Promise<number>;
  /** Sets the wanted number of replicas. */
  set(name: string, replicas: number, options?: WriteCallOptions): Promise<void>;
}

function removalBody({ propagation, preconditions, gracePeriodSeconds, dryRun = false }: DeleteCallOptions) {
  const options: DeepPartial<DeleteOptions> = {
    propagationPolicy: propagation,
    preconditions,
    gracePeriodSeconds,
    dryRun: dryRun ? ["All"] : undefined,
  };
  return jsonBody(options);
}
