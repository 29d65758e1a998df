/**
 * The steps that writes and deletions share: attempts on the newest version, encoding, and effects that an answer waits
 * for.
 */
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { objectTooLarge } from "#meta/status-error.ts";
import { type Revision, StorageFailure } from "#storage/log-store.ts";
import type { CacheReader, Encoded, Entry } from "#storage/watch-cache.ts";

import type { ResourceDefinition, WriteAttributes } from "../resource-definition.ts";
import type { Caller, ConvertedObjects, StoredObjects } from "../stored-object.ts";
import type { Effects, ObjectReader, StoreOptions } from "./object-reader.ts";

/** The outcome of one attempt to write. */
export type Outcome<T> =
  | { readonly written: T }
  /** Nothing needs to be written, or the write is refused, provided that the entry was the newest one. */
  | { readonly unwritten: T }
  | { readonly refusal: unknown }
  /** A concurrent writer was faster; this is its entry. */
  | { readonly lostTo: Entry | undefined };

export class EntryWriter {
  readonly #reader: ObjectReader;
  readonly #definition: ResourceDefinition;
  readonly #cache: CacheReader;
  readonly #objects: StoredObjects;
  readonly #objectBytesMax: number;
  readonly #effects: Effects | undefined;

  constructor(reader: ObjectReader, { definition, cache, objects, objectBytesMax, effectsOf }: StoreOptions) {
    this.#reader = reader;
    this.#definition = definition;
    this.#cache = cache;
    this.#objects = objects;
    this.#objectBytesMax = objectBytesMax;
    this.#effects = effectsOf?.(definition);
  }

  /**
   * Attempts a write on the cached version, which may be outdated if other processes write to the store as well. The
   * write then loses its comparison, and a refusal or a write without changes is tried again when the cache is fresh.
   */
  async fromNewest<T>(
    key: string,
    caller: Caller | undefined,
    attempt: (entry: Entry | undefined) => Promise<Outcome<T>>,
  ): Promise<T> {
    let entry = this.#cache.get(key);
    for (let isNewest = false; ; isNewest = true) {
      let outcome: Outcome<T>;
      try {
        if (entry !== undefined) await this.#reader.convertAnew(entry, caller);
        outcome = await attempt(entry);
      } catch (error) {
        // It is not known whether a write was done, so the newest entry may be the one that it wrote.
        if (error instanceof StorageFailure) throw error;
        outcome = { refusal: error };
      }
      if ("written" in outcome) return outcome.written;
      if ("lostTo" in outcome) {
        entry = outcome.lostTo;
        continue;
      }
      if (!isNewest) {
        const newest = await this.#cache.getFresh(key);
        if (newest !== entry) {
          entry = newest;
          continue;
        }
      }
      if ("refusal" in outcome) throw outcome.refusal;
      return outcome.unwritten;
    }
  }

  /**
   * Encodes a client's object, which replaces `old` or is new. Throws when it is too large to be stored; deletions skip
   * that check.
   */
  encode(object: Unstructured, attributes: WriteAttributes, old?: Entry): MaybePromise<Encoded> {
    return andThen(this.#objects.toStored(this.#definition, object, attributes.context), (current) => {
      const { conversion } = this.#definition;
      const hub =
        old === undefined || conversion?.keep === undefined
          ? current
          : conversion.keep(current, this.#objects.stored(old), attributes.subresource);
      const encoded = this.#objects.encode(this.#definition, hub, old === undefined);
      if (encoded.bytes.length <= this.#objectBytesMax) return encoded;
      const { managedFields, ...metadata } = object.metadata;
      if (attributes.dropsManagedFields !== true || managedFields === undefined)
        throw objectTooLarge(this.#objectBytesMax);
      return this.encode({ ...object, metadata }, { ...attributes, dropsManagedFields: false }, old);
    });
  }

  /** Waits until decisions about requests follow a write, and for the `afterCommit` of its kind. */
  inForce(revision: Revision): MaybePromise<void> {
    return andThen(this.#effects?.(revision), () => this.#definition.strategy.afterCommit?.(revision));
  }

  /** Encodes an object that is being deleted, whatever its size. */
  async encodeForDeletion(object: Unstructured, caller: Caller | undefined): Promise<Encoded> {
    return this.#objects.encode(this.#definition, await this.#objects.toStored(this.#definition, object, caller));
  }

  /**
   * Runs before a write is acknowledged: waits until it is in force, or for webhooks that convert what was written.
   */
  awaitEffects(entry: Entry, caller: Caller | undefined): MaybePromise<ConvertedObjects | void> {
    caller?.wrote?.(entry.key, entry.revision);
    const effects = this.inForce(entry.revision);
    return effects ?? this.#reader.convertWithWebhook([entry], caller);
  }
}
