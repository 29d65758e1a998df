/** Creates and updates the objects of one resource, with the hooks of its `Strategy`. */
import { jsonEquals } from "#apply/json-value.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import { type FieldError, GoSyntax, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { ObjectMeta, Unstructured } from "#meta/object-meta.ts";
import { alreadyExists, conflict, invalidObject, notFound, StatusError, unclassified } from "#meta/status-error.ts";
import { Timestamps } from "#meta/time.ts";
import { validateObjectMeta, validateObjectMetaUpdate } from "#meta/validate-object-meta.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import { nameSuffix, type Random } from "#std/random.ts";
import type { CacheReader, CacheWriter, Entry, WriteResult } from "#storage/watch-cache.ts";

import { type ResourceDefinition, updateStrategy, type WriteAttributes } from "../resource-definition.ts";
import type { StoredObjects } from "../stored-object.ts";
import { Allocation, TurnQueue } from "./allocation.ts";
import type { EntryWriter, Outcome } from "./entry-writer.ts";
import { writeWhile } from "../conditional-write.ts";
import { withMeta } from "./metadata.ts";
import type { ObjectReader, StoreOptions } from "./object-reader.ts";

/** A written or read object: decoded in the definition's version, and the entry whose bytes are the answer. */
export interface Stored {
  readonly object: Unstructured;
  /** The entry; absent after a dry run. */
  readonly entry: Entry | undefined;
}

/** An updated object. */
export interface Updated extends Stored {
  readonly created: boolean;
}

export interface UpdateOptions {
  transform(current: Unstructured | undefined): MaybePromise<Unstructured>;
  /** The validating half of admission; called again with the newest object after a concurrent write. */
  readonly validate?: (object: Unstructured, old: Unstructured | undefined) => MaybePromise<void>;
  /** Whether a missing object is created. */
  readonly allowCreate: boolean;
  /** The uid that the new object names; if there is no object, it causes a conflict. */
  readonly uid?: string | undefined;
}

/** The outcome of writing a new object. */
type Inserted = Stored | "exists" | "lost turn";

/** An update, and what it allocates. */
interface UpdateWrite {
  readonly namespace: string;
  readonly name: string;
  readonly attributes: WriteAttributes;
  readonly allocation: Allocation;
}

const generatedNameTries = 8;
const modified = "the object has been modified; please apply your changes to the latest version and try again";

export class ObjectWriter {
  readonly #reader: ObjectReader;
  readonly #entries: EntryWriter;
  readonly #definition: ResourceDefinition;
  readonly #cache: CacheReader & CacheWriter;
  readonly #objects: StoredObjects;
  readonly #timestamps: Timestamps;
  readonly #random: Random;
  readonly #notes: StoreOptions["deletionNotes"];
  readonly #options: ConstructorParameters<typeof Allocation>[0];

  constructor(reader: ObjectReader, entries: EntryWriter, options: StoreOptions) {
    this.#notes = options.deletionNotes;
    this.#options = { ...options, queue: new TurnQueue() };
    this.#reader = reader;
    this.#entries = entries;
    this.#definition = options.definition;
    this.#cache = options.cache;
    this.#objects = options.objects;
    this.#timestamps = new Timestamps(options.clock);
    this.#random = options.random;
  }

  /** See `Store.create`. */
  create(
    object: Unstructured,
    attributes: WriteAttributes,
    validate?: (object: Unstructured) => MaybePromise<void>,
  ): Promise<Stored> {
    return this.#allocating(attributes, (allocation) => this.#create(object, attributes, allocation, validate));
  }

  async #create(
    object: Unstructured,
    attributes: WriteAttributes,
    allocation: Allocation,
    validate: ((object: Unstructured) => MaybePromise<void>) | undefined,
  ): Promise<Stored> {
    const definition = this.#definition;
    const { strategy } = definition;
    const { resourceVersion = "" } = object.metadata;
    let created = this.#fillSystemFields(object);
    // Upstream: the store refuses versions in new objects, and a dry run does not reach it.
    if (attributes.dryRun && resourceVersion !== "") created = withMeta(created, { resourceVersion });
    if (strategy.prepareForCreate !== undefined) created = strategy.prepareForCreate(created, attributes);
    if (definition.generation) created = withMeta(created, { generation: 1 });
    const { generateName } = created.metadata;
    const generates = (created.metadata.name ?? "") === "" && generateName !== undefined && generateName !== "";
    for (let names = 1, isFirst = true; ; isFirst = false) {
      const identified = generates ? withMeta(created, { name: this.#generateName(generateName) }) : created;
      const candidate = await allocation.allocate(
        strategy.canonicalize?.(identified, generates) ?? identified,
        undefined,
      );
      const errors = strategy.validate?.(candidate, attributes) ?? [];
      const ruleErrors = (await strategy.checkRules?.(candidate, undefined, errors, attributes)) ?? [];
      this.#check(candidate, [
        ...validateObjectMeta(candidate.metadata, {
          namespaced: definition.namespaced,
          nameRule: definition.nameRule,
          standardFinalizers: definition.anyFinalizers !== true,
        }),
        ...errors,
        ...ruleErrors,
      ]);
      if (isFirst) {
        for (const text of strategy.warningsOnCreate?.(candidate, attributes) ?? []) attributes.context.warn(text);
      }
      await validate?.(candidate);
      if (!attributes.dryRun && isVersion(resourceVersion)) {
        throw unclassified("resourceVersion should not be set on objects to be created");
      }
      const inserted = await this.#insert(strategy.complete?.(candidate) ?? candidate, attributes, allocation);
      if (inserted === "lost turn") await allocation.lostTurn();
      else if (inserted !== "exists") return inserted;
      else if (!generates || names++ === generatedNameTries) throw this.#exists(candidate);
    }
  }

  /** Writes a new key, unless it exists. */
  async #insert(object: Unstructured, attributes: WriteAttributes, allocation: Allocation): Promise<Inserted> {
    const definition = this.#definition;
    const { namespace = "", name = "" } = object.metadata;
    const key = this.#reader.key(namespace, name);
    if (attributes.dryRun) {
      if ((await this.#cache.getFresh(key)) !== undefined) return "exists";
      return { object: await this.#objects.afterDryRun(definition, object, attributes.context), entry: undefined };
    }
    const ttl = definition.strategy.ttlSeconds?.(object) ?? 0;
    const encoded = await this.#entries.encode(object, attributes);
    const result = await writeWhile(
      attributes.context,
      (conditions) =>
        this.#cache.put(key, 0, encoded, { ...conditions, ...allocation.turnOf(object), ttlSeconds: ttl }),
      this.#reader.creationIn(namespace, name),
    );
    if (!result.ok) return result.failed === "turn" ? "lost turn" : "exists";
    await this.#entries.awaitEffects(result.entry, attributes.context);
    return { object: this.#reader.object(result.entry), entry: result.entry };
  }

  #exists(object: Unstructured): StatusError {
    const { name = "", generateName = "" } = object.metadata;
    const error = alreadyExists(this.#definition, name, generateName !== "");
    const entry = this.#reader.peek(object.metadata.namespace ?? "", name);
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
    if (errors.length > 0) throw invalidObject(this.#definition.storage, object.metadata.name ?? "", errors);
  }

  /** See `Store.update`. */
  update(namespace: string, name: string, attributes: WriteAttributes, options: UpdateOptions): Promise<Updated> {
    return this.#allocating(attributes, (allocation) =>
      this.#update({ namespace, name, attributes, allocation }, options),
    );
  }

  #update({ namespace, ...write }: UpdateWrite, options: UpdateOptions): Promise<Updated> {
    const { name, attributes } = write;
    return this.#entries.fromNewest(this.#reader.key(namespace, name), attributes.context, async (entry) => {
      if (entry === undefined) {
        // The creation allocates by itself, and must not wait in the queue for this update.
        write.allocation.end();
        return this.#createInstead(name, attributes, options);
      }
      return this.#write(entry, await this.#updated(entry, write, options), write);
    });
  }

  /** Runs a write whose kind may allocate values. The reservation of its last attempt ends with the write. */
  #allocating<T>(attributes: WriteAttributes, write: (allocation: Allocation) => Promise<T>): Promise<T> {
    const allocation = new Allocation(this.#options, attributes);
    const writing = write(allocation);
    const { allocate, turn } = this.#definition.strategy;
    return allocate === undefined && turn === undefined ? writing : writing.finally(() => allocation.end());
  }

  /** Creates the object of an update that does not exist. */
  async #createInstead(
    name: string,
    attributes: WriteAttributes,
    { allowCreate, transform, uid, validate }: UpdateOptions,
  ): Promise<Outcome<Updated>> {
    const definition = this.#definition;
    if (!allowCreate)
      throw uid === undefined || uid === "" ? notFound(definition, name) : uidOfNone(definition, name, uid);
    const fresh = await transform(undefined);
    if ((fresh.metadata.uid ?? "") !== "") throw uidOfNone(definition, name, fresh.metadata.uid!);
    // The version that the client last saw is gone with its object; it must be a valid version all the same.
    const { resourceVersion = "" } = fresh.metadata;
    if (resourceVersion !== "") this.#reader.parseVersion(resourceVersion);
    const unversioned = withMeta(fresh, { resourceVersion: "" });
    const validated = validate === undefined ? undefined : (object: Unstructured) => validate(object, undefined);
    const stored = await this.#createOrFind(unversioned, attributes, validated);
    if (stored !== undefined) return { written: { ...stored, created: true } };
    return { lostTo: await this.#cache.getFresh(this.#reader.key(fresh.metadata.namespace ?? "", name)) };
  }

  /** Returns the updated form of an entry. */
  async #updated(
    entry: Entry,
    { name, attributes, allocation }: Omit<UpdateWrite, "namespace">,
    options: UpdateOptions,
  ): Promise<Unstructured> {
    const definition = this.#definition;
    const hooks = updateStrategy(definition.strategy, attributes.subresource);
    const old = this.#reader.object(entry);
    const wanted = await options.transform(old);
    this.#checkVersion(wanted, entry, name);
    let next = await allocation.allocate(this.#keepSystemFields(wanted, old), old);
    if (hooks.prepareForUpdate !== undefined) next = hooks.prepareForUpdate(next, old, attributes);
    const errors = hooks.validateUpdate?.(next, old, attributes) ?? [];
    const ruleErrors = (await hooks.checkRules?.(next, old, errors, attributes)) ?? [];
    this.#check(next, [
      ...validateObjectMetaUpdate(next.metadata, old.metadata, {
        standardFinalizers: definition.anyFinalizers !== true && hooks.takesAnyFinalizers !== true,
        generateNameRule: hooks.checksGenerateName === true ? definition.nameRule : undefined,
      }),
      ...errors,
      ...ruleErrors,
    ]);
    for (const text of hooks.warningsOnUpdate?.(next, old, attributes) ?? []) attributes.context.warn(text);
    await options.validate?.(next, old);
    return hooks.complete?.(next) ?? next;
  }

  /** Replaces an entry by `next`, or removes it when neither a finalizer nor a grace period keeps it any more. */
  async #write(
    entry: Entry,
    next: Unstructured,
    { attributes, allocation }: Pick<UpdateWrite, "attributes" | "allocation">,
  ): Promise<Outcome<Updated>> {
    const old = this.#reader.object(entry);
    const isFinished = this.#isFinished(next);
    // An object that is stored in an outdated form or version is written again, so that keys and versions can be
    // changed.
    const isCurrent = (): boolean =>
      attributes.dryRun ||
      (!this.#cache.isStale(entry.key) && this.#objects.isInStoredVersion(this.#definition, entry));
    if (!isFinished && jsonEquals(next, old) && isCurrent()) {
      return { unwritten: { object: old, entry, created: false } };
    }
    if (attributes.dryRun) {
      const object = await this.#objects.afterDryRun(this.#definition, next, attributes.context);
      return { unwritten: { object, entry: undefined, created: false } };
    }
    // Upstream: watchers see the object as it was, and the writer sees the object it would have written.
    const result = isFinished
      ? await writeWhile(attributes.context, (conditions) =>
          this.#cache.remove(entry.key, entry.revision, {
            ...conditions,
            note: this.#notes?.removed(old, attributes.context),
          }),
        )
      : await this.#replace(entry, next, attributes, allocation);
    if (!result.ok) {
      if (result.failed === "turn") await allocation.lostTurn();
      return { lostTo: result.current };
    }
    await this.#entries.awaitEffects(result.entry, attributes.context);
    if (isFinished) return { written: { object: next, entry: undefined, created: false } };
    return { written: { object: this.#reader.object(result.entry), entry: result.entry, created: false } };
  }

  #replace(
    entry: Entry,
    next: Unstructured,
    attributes: WriteAttributes,
    allocation: Allocation,
  ): MaybePromise<WriteResult> {
    return andThen(this.#entries.encode(next, attributes, entry), (encoded) =>
      writeWhile(attributes.context, (conditions) =>
        this.#cache.put(entry.key, entry.revision, encoded, {
          ...conditions,
          ...allocation.turnOf(next),
          ttlSeconds: this.#definition.strategy.ttlSeconds?.(next) ?? 0,
          isForDeletion: next.metadata.deletionTimestamp !== undefined,
        }),
      ),
    );
  }

  /** Creates an object; `undefined` when a concurrent writer was faster. */
  async #createOrFind(...args: Parameters<ObjectWriter["create"]>): Promise<Stored | undefined> {
    try {
      return await this.create(...args);
    } catch (error) {
      if (error instanceof StatusError && error.status.reason === "AlreadyExists") return undefined;
      throw error;
    }
  }

  /** Throws when the new object demands a version that is not the present one. */
  #checkVersion(wanted: Unstructured, entry: Entry, name: string): void {
    const definition = this.#definition;
    const { resourceVersion = "" } = wanted.metadata;
    if (resourceVersion === "" || resourceVersion === "0") {
      if (definition.unconditionalUpdate) return;
      throw invalidObject({ group: definition.group, kind: definition.resource }, name, [
        invalid(FieldPath.of("metadata", "resourceVersion"), new GoSyntax("0x0"), "must be specified for an update"),
      ]);
    }
    if (resourceVersion !== String(entry.revision)) {
      if (!/^[0-9]+$/.test(resourceVersion)) this.#reader.parseVersion(resourceVersion);
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
    return { ...wanted, kind: this.#definition.kind, apiVersion: apiVersionOf(this.#definition), metadata: meta };
  }

  /** Whether a deleted object can be removed. */
  #isFinished(object: Unstructured): boolean {
    const { deletionTimestamp, finalizers, deletionGracePeriodSeconds } = object.metadata;
    if (deletionTimestamp === undefined) return false;
    return (
      (finalizers?.length ?? 0) === 0 &&
      (deletionGracePeriodSeconds ?? 0) === 0 &&
      (this.#definition.strategy.pendingFinalizers?.(object).length ?? 0) === 0
    );
  }
}

/** Throws `conflict` when the new object names another uid than that of the present object. */
export function checkUid(definition: ResourceDefinition, wanted: Unstructured, old: Unstructured): void {
  const { uid = "", name = "" } = wanted.metadata;
  if (uid === "" || uid === old.metadata.uid) return;
  const reason = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid}`;
  throw conflict(definition, name, reason);
}

/** Makes the conflict of an update whose object names a uid and does not exist. */
const uidOfNone = (definition: ResourceDefinition, name: string, uid: string): StatusError =>
  conflict(definition, name, `Precondition failed: UID in precondition: ${uid}, UID in object meta: `);

/** Returns metadata without fields that a new object cannot have. Most objects have none of them, and need no copy. */
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

/** Whether a text is the version of an object. Upstream: a create ignores other texts. */
const isVersion = (text: string): boolean =>
  /^\d{1,20}$/.test(text) && BigInt.asUintN(64, BigInt(text)) === BigInt(text) && BigInt(text) !== 0n;
