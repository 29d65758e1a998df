/**
 * Reads of the objects of one resource: keys, single objects, and decoded ones. It is the base class of `Store`, so
 * that a GET goes straight to the cache.
 */
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import { invalid, printFieldError, printValue } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { ObjectMeta, Unstructured } from "#meta/object-meta.ts";
import { badRequest, notFound, tooLargeResourceVersion } from "#meta/status-error.ts";
import type { KeyCondition, Revision } from "#storage/log-store.ts";
import type { CacheRanges, CacheReader, CacheWriter, Entry } from "#storage/watch-cache.ts";
import type { Clock } from "#std/clock.ts";
import type { Random } from "#std/random.ts";

import type { NamespaceCondition } from "../conditional-write.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import type { Caller, ConvertedObjects, StoredObjects } from "../stored-object.ts";
import type { DeletionNotes } from "./deletion-notes.ts";

export interface StoreOptions {
  readonly definition: ResourceDefinition;
  readonly cache: CacheReader & CacheRanges & CacheWriter;
  readonly objects: StoredObjects;
  readonly clock: Clock;
  readonly random: Random;
  /** The maximum size of a stored object. */
  readonly objectBytesMax: number;
  /** Whether deletions leave finalizers for the garbage collector; true when left out. */
  readonly collectsGarbage?: boolean;
  /** Returns the condition under which an object is created in a namespace. Left out: in all at all times. */
  readonly conditionOf?: (object: NewObject) => KeyCondition;
  /**
   * Returns what the answer to a write of a resource waits for, before the `afterCommit` of its strategy: that decisions about
   * requests follow it. Left out: nothing.
   */
  readonly effectsOf?: (definition: ResourceDefinition) => Effects;
  /** Makes notes of who deleted objects. Left out: none are made. */
  readonly deletionNotes?: DeletionNotes;
}

/** Waits until decisions about requests follow all writes of a resource up to a revision. */
export type Effects = (revision: Revision) => MaybePromise<void>;

/** A new object in a namespace. */
export interface NewObject {
  readonly definition: ResourceDefinition;
  readonly namespace: string;
  readonly name: string;
}

/** The maximum time for which a read waits for a revision that the store has not reached. */
const freshWaitMs = 3000;

export class ObjectReader {
  readonly definition: ResourceDefinition;
  /** `/registry/<group>/<resource>/` */
  readonly prefix: string;
  readonly #cache: StoreOptions["cache"];
  readonly #objects: StoredObjects;
  readonly #conditionOf: StoreOptions["conditionOf"];

  constructor({ definition, cache, objects, conditionOf }: StoreOptions) {
    this.definition = definition;
    this.#cache = cache;
    this.#objects = objects;
    this.#conditionOf = conditionOf;
    const { storage } = definition;
    this.prefix = `/registry/${storage.group === "" ? "core" : storage.group}/${storage.resource}/`;
  }

  /** Returns the key of one object. */
  key(namespace: string, name: string): string {
    return this.definition.namespaced ? `${this.prefix}${namespace}/${name}` : `${this.prefix}${name}`;
  }

  /** Returns the prefix of a collection: of one namespace, or of all. */
  collection(namespace: string): string {
    return this.definition.namespaced && namespace !== "" ? `${this.prefix}${namespace}/` : this.prefix;
  }

  /** Returns the condition under which an object is created; `undefined` for none. */
  creationIn(namespace: string, name: string): NamespaceCondition | undefined {
    const { definition } = this;
    const conditionOf = this.#conditionOf;
    if (conditionOf === undefined || !definition.namespaced) return undefined;
    return () => conditionOf({ definition, namespace, name });
  }

  /** Finds objects of a namespace, or of all, that cannot be read, at most `max`. */
  findDamaged(namespace: string, max: number): readonly { readonly key: string; readonly problem: string }[] {
    const damaged: { readonly key: string; readonly problem: string }[] = [];
    for (const entry of this.peekEntries(namespace)) {
      const damage = this.#objects.findDamage(this.definition, entry);
      if (damage !== undefined) damaged.push(damage);
      if (damaged.length === max) break;
    }
    return damaged;
  }

  /** Returns the present entry, without waiting. */
  peek(namespace: string, name: string): Entry | undefined {
    return this.#cache.get(this.key(namespace, name));
  }

  /** Yields all current objects, decoded; for small collections. */
  *peekAll(): Generator<Unstructured> {
    for (const entry of this.peekEntries()) yield this.object(entry);
  }

  /** Returns the entries of all current objects, or of those of a namespace. */
  peekEntries(namespace = ""): readonly Entry[] {
    return this.#cache.range(this.collection(namespace)).entries;
  }

  /** The present number of objects. */
  count(): number {
    return this.#cache.count(this.prefix);
  }

  /** Returns the entry of one object, at least as new as `resourceVersion` (empty: the newest). Throws `notFound`. */
  get(namespace: string, name: string, resourceVersion: string, caller?: Caller): MaybePromise<Entry> {
    const key = this.key(namespace, name);
    return andThen(this.#getAsNewAs(key, resourceVersion), (entry) => {
      if (entry === undefined) throw notFound(this.definition, name);
      return andThen(this.convertAnew(entry, caller), () => entry);
    });
  }

  #getAsNewAs(key: string, resourceVersion: string): MaybePromise<Entry | undefined> {
    if (resourceVersion === "") return this.#cache.getFresh(key);
    if (resourceVersion === "0") return this.#cache.get(key);
    return this.reach(resourceVersion).then(() => this.#cache.get(key));
  }

  /** Waits until reads see `resourceVersion`. */
  async reach(resourceVersion: string): Promise<Revision> {
    const revision = this.parseVersion(resourceVersion);
    if (revision > this.#cache.revision) await this.#cache.fresh();
    if (revision > this.#cache.revision && !(await this.#cache.waitFor(revision, freshWaitMs))) {
      throw tooLargeResourceVersion(resourceVersion, String(this.#cache.revision));
    }
    return revision;
  }

  /** Reads a client's `resourceVersion`; throws for a text that is no unsigned 64-bit integer. */
  parseVersion(text: string): Revision {
    if (!/^[0-9]{1,20}$/.test(text) || BigInt(text) > 18446744073709551615n) {
      const reason = /^[0-9]+$/.test(text) ? "value out of range" : "invalid syntax";
      const error = invalid(
        FieldPath.of("resourceVersion"),
        text,
        `strconv.ParseUint: parsing ${printValue(text)}: ${reason}`,
      );
      throw badRequest(printFieldError(error));
    }
    return Number(text);
  }

  /** See `StoredObjects.convertWithWebhook`. */
  convertWithWebhook(entries: readonly Entry[], caller?: Caller): MaybePromise<ConvertedObjects> {
    return this.#objects.convertWithWebhook(this.definition, entries, caller);
  }

  /**
   * Converts an entry again. Upstream: single objects are converted each time, since the webhook may answer otherwise
   * now.
   */
  convertAnew(entry: Entry, caller: Caller | undefined): MaybePromise<ConvertedObjects> {
    return this.#objects.convertWithWebhook(this.definition, [entry], caller, true);
  }

  /** Returns the decoded object of an entry. */
  object(entry: Entry): Unstructured {
    return this.#objects.object(this.definition, entry);
  }

  /** Returns the metadata of an entry, in its stored version. */
  metadataOf(entry: Entry): ObjectMeta {
    return this.#objects.stored(entry).metadata;
  }
}
