/**
 * The generic behaviour of a resource: create, get, list, update and delete on the watch cache, with hooks of the
 * kind's `Strategy`. It knows keys and revisions, but no HTTP. Source of the rules: upstream's generic registry. The three
 * stories have files of their own: reads and lists, writes, deletions.
 *
 * Hot path: a create or update decodes nothing twice and encodes the object once.
 */
import type { Unstructured } from "#meta/object-meta.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Revision } from "#storage/log-store.ts";
import type { Entry, IndexMatch, Range } from "#storage/watch-cache.ts";

import type { WriteAttributes } from "./resource-definition.ts";
import { EntryWriter } from "./store/entry-writer.ts";
import { type Deleted, type DeleteRequest, ObjectDeleter } from "./store/object-deleter.ts";
import { type ListCounts, type Listed, type ListRequest, ObjectLists } from "./store/object-lists.ts";
import { ObjectReader, type StoreOptions } from "./store/object-reader.ts";
import { ObjectWriter, type Stored, type Updated, type UpdateOptions } from "./store/object-writer.ts";

export type { Deleted } from "./store/object-deleter.ts";
export type { EntryFilter, ListCount, Listed, ListRequest } from "./store/object-lists.ts";
export type { NewObject, StoreOptions } from "./store/object-reader.ts";
export { LostTurn } from "./store/allocation.ts";
export { checkUid, type Stored } from "./store/object-writer.ts";

/** The objects of one resource. `ObjectReader` has the reads of single objects. */
export class Store extends ObjectReader {
  readonly #lists: ObjectLists;
  readonly #writer: ObjectWriter;
  readonly #deleter: ObjectDeleter;
  readonly #entries: EntryWriter;

  constructor(options: StoreOptions) {
    super(options);
    this.#lists = new ObjectLists(this, options.cache, options.clock);
    this.#entries = new EntryWriter(this, options);
    this.#writer = new ObjectWriter(this, this.#entries, options);
    this.#deleter = new ObjectDeleter(this, this.#entries, options);
  }

  /** Counts of the lists since this store was made. */
  get listCounts(): ListCounts {
    return this.#lists.counts;
  }

  /** Lists one chunk of a collection at one revision. The caller has checked the combination of options. */
  list(request: ListRequest): Promise<Listed> {
    return this.#lists.list(request);
  }

  /** Returns the entries of a collection, for a watch that begins with them, and at least those that match. */
  all(namespace: string, matching: readonly IndexMatch[]): Promise<Range> {
    return this.#lists.all(namespace, matching);
  }

  /**
   * Creates an object. `validate` is the validating half of admission. Throws `alreadyExists`, `invalid` and errors of
   * hooks.
   */
  create(
    object: Unstructured,
    attributes: WriteAttributes,
    validate?: (object: Unstructured) => MaybePromise<void>,
  ): Promise<Stored> {
    return this.#writer.create(object, attributes, validate);
  }

  /**
   * Replaces an object by the result of `transform`, retrying after concurrent writes unless the new object insists on
   * a version. `transform` gets `undefined` when there is no object and the definition allows creation by update (then
   * `created` is true); otherwise a missing object throws `notFound`.
   */
  update(namespace: string, name: string, attributes: WriteAttributes, options: UpdateOptions): Promise<Updated> {
    return this.#writer.update(namespace, name, attributes, options);
  }

  /** Deletes an object in one or two phases. Throws `notFound`, `conflict` for preconditions, and errors of `admit`. */
  delete(namespace: string, name: string, request: DeleteRequest): Promise<Deleted> {
    return this.#deleter.delete(namespace, name, request);
  }

  /** Resolves when a write that was done elsewhere is in force, so that it may be answered. */
  inForce(revision: Revision): MaybePromise<void> {
    return this.#entries.inForce(revision);
  }

  /**
   * Removes an object that can no longer be decoded, whatever its finalizers. Throws the error of `readable` when the
   * object can be decoded after all, or does not exist. `admit` is given the known part of the object. Watches, which
   * would show its last state, end with an error. Refuses when `caller` may no longer write.
   */
  removeUnreadable(...args: Parameters<ObjectDeleter["removeUnreadable"]>): Promise<void> {
    return this.#deleter.removeUnreadable(...args);
  }

  /** Deletes everything that a list request finds, many objects at a time. Returns the objects that it found. */
  async deleteCollection(
    request: ListRequest,
    remove: (object: Unstructured, entry: Entry) => Promise<unknown>,
  ): Promise<Listed> {
    const listed = await this.#lists.list(request);
    await this.#deleter.deleteAll(listed.entries, remove);
    return listed;
  }
}
