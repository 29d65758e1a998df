/**
 * The generic behaviour of a resource: create, get, list, update and delete on the watch cache, with hooks of the
 * kind's `Strategy`. Knows keys and revisions, but no HTTP. Source of the rules: upstream's generic registry.
 *
 * Hot path: a create or update decodes nothing twice and encodes the object once.
 */
import { timestampOf, Timestamps } from "#meta/time.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import { nameSuffix, type Random } from "#std/random.ts";
import type { Clock } from "#std/clock.ts";
import { bigIntOf, type Int64, nearestNumber } from "#std/int64.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import { Yielder, yieldToEventLoop } from "#std/cooperative.ts";
import { type FieldError, GoSyntax, invalid, printFieldError, printValue } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { type Unstructured, nextGeneration, type ObjectMeta } from "#meta/object-meta.ts";
import {
  alreadyExists,
  badRequest,
  conflict,
  expired,
  expiredContinue,
  invalidObject,
  notFound,
  objectTooLarge,
  StatusError,
  tooLargeResourceVersion,
  unclassified,
} from "#meta/status-error.ts";
import { validateObjectMeta, validateObjectMetaUpdate } from "#meta/validate-object-meta.ts";
import { isCompacted, type Revision } from "#storage/log-store.ts";
import type { Encoded, Entry, Range, WatchCache, WriteResult } from "#storage/watch-cache.ts";
import { decodeContinue, encodeContinue } from "./continue-token.ts";
import type { CheckedDeleteOptions } from "./delete-options.ts";

import {
  type Allocated,
  type ResourceDefinition,
  updateStrategy,
  type WriteAttributes,
} from "./resource-definition.ts";
import type { Caller, ConvertedObjects, StoredObjects } from "./stored-object.ts";

/** A written or read object: decoded in the definition's version, and the entry whose bytes answer it. */
export interface Stored {
  readonly object: Unstructured;
  /** Absent after a dry run. */
  readonly entry: Entry | undefined;
}

export interface DeleteRequest extends Partial<CheckedDeleteOptions> {
  readonly caller?: Caller;
  readonly dryRun: boolean;
  /** Refuses by throwing; sees the object that is about to go. */
  readonly admit?: ((old: Unstructured) => Promise<void> | void) | undefined;
}

export interface Deleted {
  /** The object as the answer shows it: after the deletion mark, or as it was when removed. */
  readonly object: Unstructured;
  readonly entry: Entry | undefined;
  /** False when the object is still there, waiting for finalizers or its grace period. */
  readonly removed: boolean;
}

/** An updated object. */
export interface Updated extends Stored {
  readonly created: boolean;
}

/** How one attempt of a write ended. */
type Outcome<T> =
  | { readonly written: T }
  /** Nothing needs to be written, or the write is refused, provided the entry was the newest one. */
  | { readonly unwritten: T }
  | { readonly refused: unknown }
  /** A concurrent writer was faster and wrote this. */
  | { readonly lostTo: Entry | undefined };

/** A selector over stored entries; `undefined` keeps everything. */
export type EntryFilter = ((entry: Entry) => boolean) | undefined;

export interface ListRequest {
  readonly namespace: string;
  /** Reads at most this one object (a field selector on the name). */
  readonly name?: string | undefined;
  /** 0 for no limit. */
  readonly limit: number;
  readonly continue: string;
  /** Empty for unset. */
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly filter: EntryFilter;
  readonly caller?: Caller;
}

export interface Listed {
  readonly entries: readonly Entry[];
  readonly revision: Revision;
  /** Empty on the last page. */
  readonly continue: string;
  readonly remainingItemCount: number | undefined;
  /** A webhook converted these for this list; the entries can be read in the definition's version while it is held. */
  readonly held?: ConvertedObjects | readonly ConvertedObjects[];
}

export interface UpdateOptions {
  transform(current: Unstructured | undefined): Promise<Unstructured> | Unstructured;
  /** Called again with the newest object after a concurrent write. */
  readonly validate?: (object: Unstructured, old: Unstructured | undefined) => Promise<void> | void;
  /** Whether a missing object is created. */
  readonly allowCreate: boolean;
  /** A uid in the new object is a precondition (PUT); otherwise another one is a finding like any other. */
  readonly uidIsPrecondition: boolean;
  /** The uid that the new object names, where an object that is gone is a conflict with it. */
  readonly uid?: string | undefined;
}

/** The object with what its kind gives it; called once for every attempt of a write. */
type Allocate = (object: Unstructured, old: Unstructured | undefined) => MaybePromise<Unstructured>;

export interface StoreOptions {
  readonly definition: ResourceDefinition;
  readonly cache: WatchCache;
  readonly objects: StoredObjects;
  readonly clock: Clock;
  readonly random: Random;
  /** The maximum size of a stored object. */
  readonly objectBytesMax: number;
}

/** How long a read waits for a revision the store has not reached. */
const freshWaitMs = 3000;
const generatedNameTries = 8;
/** Entries between two reads of the clock, which cost as much as a short selector. */
const entriesPerLook = 32;
/** Going through so many takes a millisecond. */
const manyEntries = 5000;
const modified = "the object has been modified; please apply your changes to the latest version and try again";

export class Store {
  readonly definition: ResourceDefinition;
  /** `/registry/<group>/<resource>/` */
  readonly prefix: string;
  readonly #cache: WatchCache;
  readonly #objects: StoredObjects;
  readonly #clock: Clock;
  readonly #timestamps: Timestamps;
  readonly #random: Random;
  readonly #objectBytesMax: number;

  constructor(options: StoreOptions) {
    this.definition = options.definition;
    this.#cache = options.cache;
    this.#objects = options.objects;
    this.#clock = options.clock;
    this.#timestamps = new Timestamps(options.clock);
    this.#random = options.random;
    this.#objectBytesMax = options.objectBytesMax;
    const { storage } = options.definition;
    this.prefix = `/registry/${storage.group === "" ? "core" : storage.group}/${storage.resource}/`;
  }

  /** Key of one object. */
  key(namespace: string, name: string): string {
    return this.definition.namespaced ? `${this.prefix}${namespace}/${name}` : `${this.prefix}${name}`;
  }

  /** Prefix of a collection: one namespace's, or all. */
  collection(namespace: string): string {
    return this.definition.namespaced && namespace !== "" ? `${this.prefix}${namespace}/` : this.prefix;
  }

  /** The objects of a namespace, or all, that cannot be read, `max` of them at most. */
  damaged(namespace: string, max: number): readonly { readonly key: string; readonly problem: string }[] {
    const found: { readonly key: string; readonly problem: string }[] = [];
    for (const entry of this.peekEntries(namespace)) {
      const damage = this.#objects.damage(this.definition, entry);
      if (damage !== undefined) found.push(damage);
      if (found.length === max) break;
    }
    return found;
  }

  /** Present entry, without waiting. */
  peek(namespace: string, name: string): Entry | undefined {
    return this.#cache.get(this.key(namespace, name));
  }

  /** All current objects, decoded; for small collections. */
  *peekAll(): Generator<Unstructured> {
    for (const entry of this.peekEntries()) yield this.object(entry);
  }

  /** Their entries, or those of a namespace. */
  peekEntries(namespace = ""): readonly Entry[] {
    return this.#cache.range(this.collection(namespace)).entries;
  }

  /** How many objects there are at present. */
  count(): number {
    return this.#cache.count(this.prefix);
  }

  /** One object, at least as new as `resourceVersion` (empty: the newest). Throws `notFound`. */
  get(namespace: string, name: string, resourceVersion: string, caller?: Caller): MaybePromise<Entry> {
    const reached =
      resourceVersion === "" ? this.#cache.fresh() : resourceVersion === "0" ? undefined : this.reach(resourceVersion);
    return andThen<unknown, Entry>(reached, () => {
      const entry = this.#cache.get(this.key(namespace, name));
      if (entry === undefined) throw notFound(this.definition, name);
      return andThen(this.#convertAnew(entry, caller), () => entry);
    });
  }

  /** Waits until reads see `resourceVersion`. */
  async reach(resourceVersion: string): Promise<Revision> {
    const revision = this.parseVersion(resourceVersion);
    if (revision > this.#cache.revision && !(await this.#cache.waitFor(revision, freshWaitMs))) {
      throw tooLargeResourceVersion(resourceVersion, String(this.#cache.revision));
    }
    return revision;
  }

  /** Reads a client's `resourceVersion`; throws for what is no unsigned 64-bit integer. */
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

  /** One chunk of a collection at one revision. The caller has checked the combination of options. */
  async list(request: ListRequest): Promise<Listed> {
    const prefix = this.collection(request.namespace);
    const waiting = this.#inTurn(prefix, request.limit);
    if (waiting !== undefined) await waiting;
    if (request.continue !== "") return this.#listContinued(prefix, request);
    const { resourceVersion, resourceVersionMatch, limit } = request;
    const exact = resourceVersionMatch === "Exact" || (resourceVersionMatch === "" && limit > 0);
    if (resourceVersion !== "" && resourceVersion !== "0") {
      const revision = await this.reach(resourceVersion);
      if (exact && revision !== this.#cache.revision) return this.#listAt(prefix, request, revision, "");
    } else if (resourceVersion === "") {
      await this.#cache.fresh();
    }
    return this.#listPresent(prefix, request, "");
  }

  /** Serves one of several large lists at the same time in each turn of the event loop. */
  #inTurn(prefix: string, limit: number): MaybePromise<void> {
    const count = this.#cache.count(prefix);
    return count > manyEntries && (limit === 0 || limit > manyEntries) ? yieldToEventLoop() : undefined;
  }

  /** Everything in a collection, for a watch that begins with it. */
  async all(namespace: string): Promise<Range> {
    const prefix = this.collection(namespace);
    await this.#inTurn(prefix, 0);
    return this.#cache.range(prefix);
  }

  /** The state there is now, or was when the first of several reads began. */
  #listPresent(prefix: string, request: ListRequest, start: string): Promise<Listed> {
    let at: Revision | undefined;
    return this.#collect(prefix, request, start, async (from, count) => {
      const options = { from, ...(count === undefined ? {} : { limit: count }) };
      if (at !== undefined && at !== this.#cache.revision) {
        const range = await this.#cache.rangeAt(prefix, { ...options, at });
        if (isCompacted(range)) throw expired("The resourceVersion for the provided list is too old.");
        return range;
      }
      const range = this.#cache.range(prefix, options);
      at = range.revision;
      return range;
    });
  }

  async #listContinued(prefix: string, request: ListRequest): Promise<Listed> {
    const token = decodeContinue(request.continue);
    if (token.revision === -1) {
      return this.#listPresent(prefix, request, token.start);
    }
    if (token.revision > this.#cache.revision) {
      throw tooLargeResourceVersion(String(token.revision), String(this.#cache.revision));
    }
    return this.#listAt(prefix, request, token.revision, token.start);
  }

  #listAt(prefix: string, request: ListRequest, at: Revision, start: string): Promise<Listed> {
    return this.#collect(prefix, request, start, async (from, count) => {
      const range = await this.#cache.rangeAt(prefix, { at, from, ...(count === undefined ? {} : { limit: count }) });
      if (!isCompacted(range)) return range;
      if (start === "") throw expired("The resourceVersion for the provided list is too old.");
      throw expiredContinue(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
        encodeContinue({ revision: -1, start }),
      );
    });
  }

  /**
   * With pauses: reads ranges until `limit` entries pass the filter, the only possible match was seen, or the range
   * ends.
   */
  async #collect(
    prefix: string,
    request: ListRequest,
    start: string,
    read: (from: string, count: number | undefined) => Promise<Range>,
  ): Promise<Listed> {
    const { limit, filter, name, caller } = request;
    if (name !== undefined && (request.namespace !== "" || !this.definition.namespaced)) {
      const key = `${prefix}${name}`;
      const range = await read(key, 1);
      const held = await this.ready(range.entries, caller);
      const entry = range.entries[0];
      const found = entry !== undefined && entry.key === key && (filter === undefined || filter(entry));
      const entries = found ? [entry] : [];
      return { entries, revision: range.revision, continue: "", remainingItemCount: undefined, held };
    }
    let from = prefix + start;
    if (filter === undefined) {
      const range = await read(from, limit === 0 ? undefined : limit);
      const last = range.entries.at(-1);
      return {
        entries: range.entries,
        revision: range.revision,
        continue: range.more && last !== undefined ? this.#next(prefix, last, range.revision) : "",
        remainingItemCount: range.more ? range.remaining : undefined,
        held: await this.ready(range.entries, caller),
      };
    }
    const entries: Entry[] = [];
    const held: ConvertedObjects[] = [];
    const yielder = new Yielder(this.#clock);
    for (;;) {
      const range = await read(from, limit === 0 ? undefined : Math.max(limit * 2, 512));
      held.push(await this.ready(range.entries, caller));
      for (let i = 0; i < range.entries.length; i++) {
        const entry = range.entries[i]!;
        if (i % entriesPerLook === 0 && yielder.isDue) await yielder.pause();
        if (!filter(entry)) continue;
        entries.push(entry);
        if (limit > 0 && entries.length === limit) {
          const more = range.more || i + 1 < range.entries.length;
          return {
            entries,
            revision: range.revision,
            continue: more ? this.#next(prefix, entry, range.revision) : "",
            remainingItemCount: undefined,
            held,
          };
        }
      }
      const last = range.entries.at(-1);
      if (!range.more || last === undefined) {
        return { entries, revision: range.revision, continue: "", remainingItemCount: undefined, held };
      }
      from = `${last.key}\0`;
    }
  }

  #next(prefix: string, last: Entry, revision: Revision): string {
    return encodeContinue({ revision, start: `${last.key.slice(prefix.length)}\0` });
  }

  /** Has entries converted that a webhook must convert: `StoredObjects.ready`. */
  ready(entries: readonly Entry[], caller?: Caller): MaybePromise<ConvertedObjects> {
    return this.#objects.ready(this.definition, entries, caller);
  }

  /** Upstream: single objects are converted each time, as what the webhook says may have changed. */
  #convertAnew(entry: Entry, caller: Caller | undefined): MaybePromise<ConvertedObjects> {
    return this.#objects.ready(this.definition, [entry], caller, true);
  }

  /** Decoded object of an entry. */
  object(entry: Entry): Unstructured {
    return this.#objects.object(this.definition, entry);
  }

  /** Runs a write; its allocations are held until it has ended. */
  #allocating<T>(attributes: WriteAttributes, write: (allocate: Allocate) => Promise<T>): Promise<T> {
    const { strategy } = this.definition;
    if (strategy.allocate === undefined) return write((object) => object);
    let held: Allocated | undefined;
    return write((object, old) => {
      held?.release();
      return andThen(strategy.allocate?.(object, old, attributes), (allocated) => {
        held = allocated;
        return allocated?.object ?? object;
      });
    }).finally(() => held?.release());
  }

  /** Metadata of an entry, in the version it is stored in. */
  metadataOf(entry: Entry): ObjectMeta {
    return this.#objects.stored(entry).metadata;
  }

  /** Creates. `validate` is the validating half of admission. Throws `alreadyExists`, `invalid` and errors of hooks. */
  create(
    object: Unstructured,
    attributes: WriteAttributes,
    validate?: (object: Unstructured) => Promise<void> | void,
  ): Promise<Stored> {
    return this.#allocating(attributes, (allocate) => this.#create(object, attributes, allocate, validate));
  }

  async #create(
    object: Unstructured,
    attributes: WriteAttributes,
    allocate: Allocate,
    validate: ((object: Unstructured) => Promise<void> | void) | undefined,
  ): Promise<Stored> {
    const { definition } = this;
    const { strategy } = definition;
    const { resourceVersion = "" } = object.metadata;
    let created = this.#fillSystemFields(object);
    // Upstream: it is for the store to refuse a version, and a dry run does not come to it.
    if (attributes.dryRun && resourceVersion !== "") created = withMeta(created, { resourceVersion });
    if (strategy.prepareForCreate !== undefined) created = strategy.prepareForCreate(created, attributes);
    if (definition.generation) created = withMeta(created, { generation: 1 });
    const { generateName } = created.metadata;
    const generates = (created.metadata.name ?? "") === "" && generateName !== undefined && generateName !== "";
    for (let attempt = 1; ; attempt++) {
      const identified = generates ? withMeta(created, { name: this.#generateName(generateName) }) : created;
      const allocated = allocate(strategy.canonicalize?.(identified) ?? identified, undefined);
      const candidate = allocated instanceof Promise ? await allocated : allocated;
      const found = strategy.validate?.(candidate, attributes) ?? [];
      const late = strategy.checkRules?.(candidate, undefined, found, attributes) ?? [];
      this.#check(candidate, [
        ...validateObjectMeta(candidate.metadata, {
          namespaced: definition.namespaced,
          nameRule: definition.nameRule,
          standardFinalizers: definition.anyFinalizers !== true,
        }),
        ...found,
        ...(late instanceof Promise ? await late : late),
      ]);
      if (attempt === 1) {
        for (const text of strategy.warningsOnCreate?.(candidate, attributes) ?? []) attributes.context.warn(text);
      }
      await validate?.(candidate);
      if (!attributes.dryRun && isVersion(resourceVersion)) {
        throw unclassified("resourceVersion should not be set on objects to be created");
      }
      const stored = await this.#insert(strategy.complete?.(candidate) ?? candidate, attributes);
      if (stored !== undefined) return stored;
      if (!generates || attempt === generatedNameTries) throw this.#exists(candidate);
    }
  }

  /** Writes a new key; `undefined` when it exists. */
  async #insert(object: Unstructured, attributes: WriteAttributes): Promise<Stored | undefined> {
    const { definition } = this;
    const key = this.key(object.metadata.namespace ?? "", object.metadata.name ?? "");
    if (attributes.dryRun) {
      await this.#cache.fresh();
      // Asked for like this since a thread of large requests knows no other object by itself.
      const found = await this.#cache.getAt(key, this.#cache.revision);
      if (found !== undefined) return undefined;
      return { object: await this.#objects.afterDryRun(definition, object, attributes.context), entry: undefined };
    }
    const ttl = definition.strategy.ttlSeconds?.(object) ?? 0;
    const encoded = this.#encode(object, attributes);
    const value = encoded instanceof Promise ? await encoded : encoded;
    const result = await this.#cache.put(key, 0, value, { ttlSeconds: ttl, mayWrite: attributes.context.mayWrite });
    if (!result.ok) return undefined;
    await this.#settle(result.entry, attributes.context);
    return { object: this.object(result.entry), entry: result.entry };
  }

  /**
   * Encodes a client's object, which takes the place of `old` or is new. Throws when it is too large to be stored; deletions
   * skip that check.
   */
  #encode(object: Unstructured, attributes: WriteAttributes, old?: Entry): MaybePromise<Encoded> {
    return andThen(this.#objects.toStored(this.definition, object, attributes.context), (made) => {
      const { conversion } = this.definition;
      const hub =
        old === undefined || conversion?.keep === undefined
          ? made
          : conversion.keep(made, this.#objects.stored(old), attributes.subresource);
      const encoded = this.#objects.encode(this.definition, hub, old === undefined);
      if (encoded.bytes.length <= this.#objectBytesMax) return encoded;
      const { managedFields, ...metadata } = object.metadata;
      if (attributes.dropsManagedFields !== true || managedFields === undefined)
        throw objectTooLarge(this.#objectBytesMax);
      return this.#encode({ ...object, metadata }, { ...attributes, dropsManagedFields: false }, old);
    });
  }

  /** Encodes an object that is about to go. */
  async #encodeLast(object: Unstructured, caller: Caller | undefined): Promise<Encoded> {
    return this.#objects.encode(this.definition, await this.#objects.toStored(this.definition, object, caller));
  }

  /** Before a write is acknowledged: waits for a kind's `afterCommit`, and for webhooks that convert what was written. */
  #settle(entry: Entry, caller: Caller | undefined): MaybePromise<ConvertedObjects | void> {
    const settled = this.definition.strategy.afterCommit?.(entry.revision);
    return settled ?? this.ready([entry], caller);
  }

  #exists(object: Unstructured): StatusError {
    const { name = "", generateName = "" } = object.metadata;
    const error = alreadyExists(this.definition, name, generateName !== "");
    const entry = this.peek(object.metadata.namespace ?? "", name);
    if (entry === undefined || !this.#objects.isReadable(entry)) return error;
    if (this.#objects.stored(entry).metadata.deletionTimestamp === undefined) return error;
    return new StatusError({ ...error.status, message: `object is being deleted: ${error.status.message}` });
  }

  #generateName(prefix: string): string {
    // Invariant: five characters of suffix always fit into the 63 a name may have.
    return prefix.slice(0, 58) + nameSuffix(this.#random, 5);
  }

  #fillSystemFields(object: Unstructured): Unstructured {
    return {
      ...object,
      metadata: {
        ...withoutServerFields(object.metadata),
        uid: this.#random.uuid(),
        creationTimestamp: this.#timestamps.now(),
      },
    };
  }

  #check(object: Unstructured, errors: readonly FieldError[]): void {
    // Findings name the stored kind: an event is a core event, whatever group it was sent to.
    if (errors.length > 0) throw invalidObject(this.definition.storage, object.metadata.name ?? "", errors);
  }

  /**
   * Replaces an object by the result of `transform`, retrying after concurrent writes unless the new object insists on
   * a version. `transform` gets `undefined` when there is no object and the definition allows creation by update (then
   * `created` is true); otherwise a missing object throws `notFound`.
   */
  update(namespace: string, name: string, attributes: WriteAttributes, options: UpdateOptions): Promise<Updated> {
    return this.#allocating(attributes, (allocate) => this.#update(namespace, name, attributes, allocate, options));
  }

  #update(
    namespace: string,
    name: string,
    attributes: WriteAttributes,
    allocate: Allocate,
    options: UpdateOptions,
  ): Promise<Updated> {
    return this.#fromNewest(this.key(namespace, name), attributes.context, async (entry) => {
      if (entry === undefined) return this.#createInstead(name, attributes, options);
      const next = await this.#changed(entry, name, attributes, allocate, options);
      return this.#write(entry, next, attributes);
    });
  }

  /**
   * Runs a write on the cached version. When other processes write to the store as well, it may be outdated. The write
   * then loses its comparison, and a refusal or a write without changes is tried again when the cache is fresh.
   */
  async #fromNewest<T>(
    key: string,
    caller: Caller | undefined,
    attempt: (entry: Entry | undefined) => Promise<Outcome<T>>,
  ): Promise<T> {
    let entry = this.#cache.get(key);
    for (let isNewest = false; ; isNewest = true) {
      let outcome: Outcome<T>;
      try {
        const ready = entry && this.#convertAnew(entry, caller);
        if (ready instanceof Promise) await ready;
        outcome = await attempt(entry);
      } catch (error) {
        outcome = { refused: error };
      }
      if ("written" in outcome) return outcome.written;
      if ("lostTo" in outcome) {
        entry = outcome.lostTo;
        continue;
      }
      if (!isNewest) {
        await this.#cache.fresh();
        const newest = this.#cache.get(key);
        if (newest !== entry) {
          entry = newest;
          continue;
        }
      }
      if ("refused" in outcome) throw outcome.refused;
      return outcome.unwritten;
    }
  }

  /** An update of what does not exist. */
  async #createInstead(
    name: string,
    attributes: WriteAttributes,
    { allowCreate, transform, uid, validate }: UpdateOptions,
  ): Promise<Outcome<Updated>> {
    const { definition } = this;
    if (!allowCreate)
      throw uid === undefined || uid === "" ? notFound(definition, name) : uidOfNone(definition, name, uid);
    const fresh = await transform(undefined);
    if ((fresh.metadata.uid ?? "") !== "") throw uidOfNone(definition, name, fresh.metadata.uid!);
    // Whatever version the client last saw is gone with the object that had it; it must be one all the same.
    const { resourceVersion = "" } = fresh.metadata;
    if (resourceVersion !== "") this.parseVersion(resourceVersion);
    const unversioned = withMeta(fresh, { resourceVersion: "" });
    const validated = validate === undefined ? undefined : (object: Unstructured) => validate(object, undefined);
    const stored = await this.#createOrFind(unversioned, attributes, validated);
    if (stored !== undefined) return { written: { ...stored, created: true } };
    await this.#cache.fresh();
    return { lostTo: this.#cache.get(this.key(fresh.metadata.namespace ?? "", name)) };
  }

  /** The updated form of an entry. */
  async #changed(
    entry: Entry,
    name: string,
    attributes: WriteAttributes,
    allocate: Allocate,
    options: UpdateOptions,
  ): Promise<Unstructured> {
    const { definition } = this;
    const hooks = updateStrategy(definition.strategy, attributes.subresource);
    const old = this.object(entry);
    const wanted = await options.transform(old);
    if (options.uidIsPrecondition) checkUid(definition, wanted, old);
    this.#checkVersion(wanted, entry, name);
    const kept = allocate(this.#keepSystemFields(wanted, old), old);
    let next = kept instanceof Promise ? await kept : kept;
    if (hooks.prepareForUpdate !== undefined) next = hooks.prepareForUpdate(next, old, attributes);
    const found = hooks.validateUpdate?.(next, old, attributes) ?? [];
    const late = hooks.checkRules?.(next, old, found, attributes) ?? [];
    this.#check(next, [
      ...validateObjectMetaUpdate(next.metadata, old.metadata, {
        standardFinalizers: definition.anyFinalizers !== true,
      }),
      ...found,
      ...(late instanceof Promise ? await late : late),
    ]);
    for (const text of hooks.warningsOnUpdate?.(next, old, attributes) ?? []) attributes.context.warn(text);
    await options.validate?.(next, old);
    return next;
  }

  /** Replaces an entry by `next`, or removes it when no finalizer or grace period holds it any more. */
  async #write(entry: Entry, next: Unstructured, attributes: WriteAttributes): Promise<Outcome<Updated>> {
    const old = this.object(entry);
    const isFinished = this.#isFinished(next);
    // An object that is stored in an outdated form or version is written again, so that keys and versions can be
    // changed.
    const isCurrent = (): boolean =>
      attributes.dryRun || (!this.#cache.isStale(entry.key) && this.#objects.isInStoredVersion(this.definition, entry));
    if (!isFinished && jsonEquals(next, old) && isCurrent()) {
      return { unwritten: { object: old, entry, created: false } };
    }
    if (attributes.dryRun) {
      const object = await this.#objects.afterDryRun(this.definition, next, attributes.context);
      return { unwritten: { object, entry: undefined, created: false } };
    }
    // Upstream: watchers are told of what was there, the writer of what it would have written.
    const result = isFinished
      ? await this.#cache.remove(entry.key, entry.revision, attributes.context)
      : await this.#replace(entry, next, attributes);
    if (!result.ok) return { lostTo: result.current };
    const settled = this.#settle(result.entry, attributes.context);
    if (settled !== undefined) await settled;
    if (isFinished) return { written: { object: next, entry: undefined, created: false } };
    return { written: { object: this.object(result.entry), entry: result.entry, created: false } };
  }

  #replace(entry: Entry, next: Unstructured, attributes: WriteAttributes): MaybePromise<WriteResult> {
    return andThen(this.#encode(next, attributes, entry), (encoded) =>
      this.#cache.put(entry.key, entry.revision, encoded, {
        ttlSeconds: this.definition.strategy.ttlSeconds?.(next) ?? 0,
        isForDeletion: next.metadata.deletionTimestamp !== undefined,
        mayWrite: attributes.context.mayWrite,
      }),
    );
  }

  /** `undefined` when a concurrent writer was faster. */
  async #createOrFind(...args: Parameters<Store["create"]>): Promise<Stored | undefined> {
    try {
      return await this.create(...args);
    } catch (error) {
      if (error instanceof StatusError && error.status.reason === "AlreadyExists") return undefined;
      throw error;
    }
  }

  /** Throws when the new object insists on a version that is not the present one. */
  #checkVersion(wanted: Unstructured, entry: Entry, name: string): void {
    const { definition } = this;
    const { resourceVersion = "" } = wanted.metadata;
    if (resourceVersion === "" || resourceVersion === "0") {
      if (definition.unconditionalUpdate) return;
      throw invalidObject({ group: definition.group, kind: definition.resource }, name, [
        invalid(FieldPath.of("metadata", "resourceVersion"), new GoSyntax("0x0"), "must be specified for an update"),
      ]);
    }
    if (resourceVersion !== String(entry.revision)) {
      if (!/^[0-9]+$/.test(resourceVersion)) this.parseVersion(resourceVersion);
      throw conflict(definition, name, modified);
    }
  }

  /** Copies immutable metadata from the old object. */
  #keepSystemFields(wanted: Unstructured, old: Unstructured): Unstructured {
    const { metadata } = wanted;
    const before = old.metadata;
    const meta: Record<string, unknown> = { ...metadata };
    if ((metadata.uid ?? "") === "") meta["uid"] = before.uid;
    delete meta["selfLink"];
    meta["creationTimestamp"] = before.creationTimestamp;
    meta["resourceVersion"] = before.resourceVersion;
    if (before.generation === undefined) delete meta["generation"];
    else meta["generation"] = before.generation;
    if (before.deletionTimestamp !== undefined) meta["deletionTimestamp"] = before.deletionTimestamp;
    if (before.deletionGracePeriodSeconds !== undefined && metadata.deletionGracePeriodSeconds === undefined) {
      meta["deletionGracePeriodSeconds"] = before.deletionGracePeriodSeconds;
    }
    return { ...wanted, kind: this.definition.kind, apiVersion: apiVersionOf(this.definition), metadata: meta };
  }

  /** Whether a deleted object can be removed. */
  #isFinished(object: Unstructured): boolean {
    const { deletionTimestamp, finalizers, deletionGracePeriodSeconds } = object.metadata;
    if (deletionTimestamp === undefined) return false;
    return (
      (finalizers?.length ?? 0) === 0 &&
      (deletionGracePeriodSeconds ?? 0) === 0 &&
      (this.definition.strategy.pendingFinalizers?.(object).length ?? 0) === 0
    );
  }

  /** Deletes in one or two phases. Throws `notFound`, `conflict` for preconditions, and errors of `admit`. */
  delete(namespace: string, name: string, request: DeleteRequest): Promise<Deleted> {
    const { caller } = request;
    return this.#fromNewest(this.key(namespace, name), caller, async (entry): Promise<Outcome<Deleted>> => {
      if (entry === undefined) throw notFound(this.definition, name);
      const old = this.object(entry);
      this.#checkPreconditions(old, name, request.preconditions);
      await request.admit?.(old);
      const end = this.#endOf(old, request.gracePeriodSeconds);
      if (end === undefined) return { unwritten: { object: old, entry, removed: false } };
      const next = this.#marked(old, end, request);
      if (next === undefined) return this.#remove(entry, this.#atItsEnd(old, end), request);
      if (next === old) return { unwritten: { object: old, entry, removed: false } };
      if (request.dryRun) return { unwritten: { object: next, entry: undefined, removed: false } };
      const encoded = await this.#encodeLast(next, caller);
      const { mayWrite } = caller ?? {};
      const result = await this.#cache.put(entry.key, entry.revision, encoded, { isForDeletion: true, mayWrite });
      if (!result.ok) return { lostTo: result.current };
      await this.#settle(result.entry, caller);
      return { written: { object: this.object(result.entry), entry: result.entry, removed: false } };
    });
  }

  /**
   * Removes an entry; for kinds with graceful deletion, watchers first see the deletion mark. Upstream: when another
   * writer ends the marked object first, this deletion has succeeded all the same.
   */
  async #remove(
    entry: Entry,
    last: Unstructured,
    { dryRun, caller }: Pick<DeleteRequest, "dryRun" | "caller">,
  ): Promise<Outcome<Deleted>> {
    if (dryRun) return { unwritten: { object: last, entry: undefined, removed: true } };
    let { revision } = entry;
    const marks = !jsonEquals(last, this.object(entry));
    if (marks) {
      const encoded = await this.#encodeLast(last, caller);
      const { mayWrite } = caller ?? {};
      const marked = await this.#cache.put(entry.key, revision, encoded, { isForDeletion: true, mayWrite });
      if (!marked.ok) return { lostTo: marked.current };
      ({ revision } = marked.entry);
    }
    const result = await this.#cache.remove(entry.key, revision, caller);
    if (result.ok) {
      ({ revision } = result.entry);
      await this.#settle(result.entry, caller);
    } else if (!marks || this.#is(last, result.current)) {
      return { lostTo: result.current };
    }
    const object = withMeta(last, { resourceVersion: String(revision) });
    return { written: { object, entry: undefined, removed: true } };
  }

  /** Whether an entry is of this object, and not of a later one of its name. */
  #is(object: Unstructured, entry: Entry | undefined): boolean {
    return entry !== undefined && this.metadataOf(entry).uid === object.metadata.uid;
  }

  /**
   * Removes an object that can no longer be decoded, whatever its finalizers. Throws the error of `readable` when the
   * object can be decoded after all, or is not there. `admit` is given what is known of it. Watches, which would show its
   * last state, end with an error. Refused where
   * `caller` may no longer write.
   */
  async removeUnreadable(
    namespace: string,
    name: string,
    readable: () => StatusError,
    admit?: (last: Unstructured) => Promise<void>,
    caller?: Caller,
  ): Promise<void> {
    const { kind, group, version } = this.definition;
    const metadata = { name, ...(namespace === "" ? {} : { namespace }) };
    let isAdmitted = false;
    for (let entry = this.#cache.get(this.key(namespace, name)); ; ) {
      if (entry === undefined || this.#objects.isReadable(entry)) throw readable();
      if (!isAdmitted) await admit?.({ kind, apiVersion: apiVersionOf({ group, version }), metadata });
      isAdmitted = true;
      const removed = await this.#cache.remove(entry.key, entry.revision, caller);
      if (removed.ok) return;
      entry = removed.current;
    }
  }

  #checkPreconditions(old: Unstructured, name: string, wanted: DeleteRequest["preconditions"]): void {
    if (wanted === undefined) return;
    const of = { group: this.definition.group, resource: this.definition.kind };
    const { uid, resourceVersion } = old.metadata;
    if (wanted.uid !== undefined && wanted.uid !== uid) {
      throw conflict(
        of,
        name,
        `the UID in the precondition (${wanted.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
      );
    }
    if (wanted.resourceVersion !== undefined && wanted.resourceVersion !== resourceVersion) {
      throw conflict(
        of,
        name,
        `the ResourceVersion in the precondition (${wanted.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`,
      );
    }
  }

  /** The object in its deletion event: kinds with graceful deletion carry the mark even with no grace period. */
  #atItsEnd(old: Unstructured, { deletionTimestamp }: End): Unstructured {
    if (this.definition.strategy.graceSeconds === undefined) return old;
    return withMeta(old, { deletionTimestamp, deletionGracePeriodSeconds: 0 });
  }

  /** The object with its deletion mark, the same object when it has one already, `undefined` to remove it now. */
  #marked(old: Unstructured, end: End, request: DeleteRequest): Unstructured | undefined {
    const { definition } = this;
    const { strategy } = definition;
    const meta = old.metadata;
    const finalizers = this.#deletionFinalizers(meta.finalizers ?? [], request);
    const pending = finalizers.length + (strategy.pendingFinalizers?.(old).length ?? 0);
    if (pending === 0 && end.graceSeconds === 0) return undefined;
    const isMarked =
      meta.deletionTimestamp !== undefined && (meta.deletionGracePeriodSeconds ?? 0) === end.graceSeconds;
    if (isMarked && jsonEquals(finalizers, meta.finalizers ?? [])) return old;
    const { finalizers: _finalizers, ...rest } = meta;
    const marked: Unstructured = {
      ...old,
      metadata: {
        ...rest,
        ...(finalizers.length === 0 ? {} : { finalizers }),
        ...(isMarked
          ? {}
          : {
              deletionTimestamp: end.deletionTimestamp,
              // A kind with a termination of its own (a namespace) has no grace period.
              ...(strategy.terminate === undefined ? { deletionGracePeriodSeconds: end.graceSeconds } : {}),
              ...(meta.generation !== undefined && meta.deletionTimestamp === undefined
                ? { generation: nextGeneration(meta) }
                : {}),
            }),
      },
    };
    return strategy.terminate === undefined ? marked : strategy.terminate(marked, old);
  }

  /**
   * When a deleted object ends, finalizers aside. `undefined` when an earlier deletion continues unchanged: a second
   * one can only shorten the grace period, which counts from the first.
   */
  #endOf(old: Unstructured, asked: Int64 | undefined): End | undefined {
    const { strategy } = this.definition;
    const { deletionTimestamp: end, deletionGracePeriodSeconds: left } = old.metadata;
    if (strategy.graceSeconds === undefined || (end !== undefined && (left ?? 0) === 0)) {
      return { deletionTimestamp: end ?? this.#timestamps.now(), graceSeconds: 0 };
    }
    const requested = asked !== undefined && nearestNumber(asked) < 0 ? 1 : asked;
    if (end === undefined || left === undefined) {
      const graceSeconds = strategy.graceSeconds(old, requested);
      return { deletionTimestamp: timestampOf(this.#clock.now() + milliseconds(graceSeconds)), graceSeconds };
    }
    if (requested === undefined || bigIntOf(requested) >= bigIntOf(left)) return undefined;
    const deletedMs = Date.parse(end) - milliseconds(left);
    return { deletionTimestamp: timestampOf(deletedMs + milliseconds(requested)), graceSeconds: requested };
  }

  /** Finalizers after a policy has been turned into `orphan` or `foregroundDeletion`. */
  #deletionFinalizers(before: readonly string[], request: DeleteRequest): readonly string[] {
    const { defaultPropagation } = this.definition;
    const kept = before.filter((text) => text !== orphan && text !== foreground);
    if (defaultPropagation === "Unsupported") return kept.length === before.length ? before : kept;
    const { orphanDependents, propagationPolicy } = request;
    let wanted: string | undefined;
    if (orphanDependents !== undefined) wanted = orphanDependents ? orphan : undefined;
    else if (propagationPolicy !== undefined) wanted = policyFinalizers[propagationPolicy];
    else wanted = [orphan, foreground].find((text) => before.includes(text)) ?? policyFinalizers[defaultPropagation];
    if (wanted === undefined) return kept;
    return before.includes(wanted) && kept.length + 1 === before.length ? before : [...kept, wanted];
  }

  /** Deletes everything a list request finds, many at a time. Answers what it found. */
  async deleteCollection(
    request: ListRequest,
    remove: (object: Unstructured, entry: Entry) => Promise<unknown>,
  ): Promise<Listed> {
    const listed = await this.list(request);
    // An entry that cannot be read stops the deletion before it has begun.
    for (const entry of listed.entries) this.#objects.checkShape(this.definition, entry);
    let next = 0;
    const yielder = new Yielder(this.#clock);
    const worker = async (): Promise<void> => {
      for (;;) {
        if (yielder.isDue) await yielder.pause();
        const entry = listed.entries[next++];
        if (entry === undefined) return;
        try {
          await remove(this.object(entry), entry);
        } catch (error) {
          if (!(error instanceof StatusError) || error.status.code !== 404) throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(deleteWorkers, listed.entries.length) }, worker));
    return listed;
  }
}

const orphan = "orphan";
const foreground = "foregroundDeletion";
/** The finalizer that a policy becomes. */
const policyFinalizers = { Orphan: orphan, Foreground: foreground, Background: undefined } as const;

/** Seconds as milliseconds. Of more than 292 years it takes what 64 bits of nanoseconds hold, as upstream does. */
const milliseconds = (seconds: Int64): number =>
  Number(BigInt.asIntN(64, bigIntOf(seconds) * 1_000_000_000n) / 1_000_000n);

/** Concurrent deletes of one collection: enough to fill group commits, too few to starve others. */
const deleteWorkers = 256;

/** When a deleted object ends, and how long that is after its deletion. */
interface End {
  readonly deletionTimestamp: string;
  readonly graceSeconds: Int64;
}

/** Throws `conflict` when the new object names another uid than the present one has. */
export function checkUid(definition: ResourceDefinition, wanted: Unstructured, old: Unstructured): void {
  const { uid = "", name = "" } = wanted.metadata;
  if (uid === "" || uid === old.metadata.uid) return;
  const reason = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid}`;
  throw conflict(definition, name, reason);
}

/** The conflict of an object that is gone with the uid of the new one. */
const uidOfNone = (definition: ResourceDefinition, name: string, uid: string): StatusError =>
  conflict(definition, name, `Precondition failed: UID in precondition: ${uid}, UID in object meta: `);

function withMeta(object: Unstructured, more: Partial<ObjectMeta>): Unstructured {
  return { ...object, metadata: { ...object.metadata, ...more } };
}

/** Without what a new object cannot have. Mostly there is none of it, and no need to copy. */
function withoutServerFields(meta: ObjectMeta): ObjectMeta {
  if (
    meta.deletionTimestamp === undefined &&
    meta.deletionGracePeriodSeconds === undefined &&
    meta.resourceVersion === undefined &&
    meta.selfLink === undefined
  ) {
    return meta;
  }
  const {
    deletionTimestamp: _deletion,
    deletionGracePeriodSeconds: _grace,
    resourceVersion: _version,
    selfLink: _link,
    ...rest
  } = meta;
  return rest;
}

/** Whether a text is the version of an object. Upstream: a create passes over what is none. */
const isVersion = (text: string): boolean =>
  /^\d{1,20}$/.test(text) && BigInt.asUintN(64, BigInt(text)) === BigInt(text) && BigInt(text) !== 0n;
