/**
 * Deletions of the objects of one resource, in one or two phases: an object with finalizers or a grace period first gets
 * a deletion mark, and goes later.
 */
import { jsonEquals } from "#apply/json-value.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import { type Unstructured, nextGeneration } from "#meta/object-meta.ts";
import { conflict, notFound, StatusError } from "#meta/status-error.ts";
import { timestampOf, Timestamps } from "#meta/time.ts";
import type { Clock } from "#std/clock.ts";
import { Yielder } from "#std/cooperative.ts";
import { bigIntOf, type Int64, nearestNumber } from "#std/int64.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { CacheReader, CacheWriter, Entry } from "#storage/watch-cache.ts";

import type { CheckedDeleteOptions } from "../delete-options.ts";
import type { ResourceDefinition } from "../resource-definition.ts";
import type { Caller, StoredObjects } from "../stored-object.ts";
import { writeWhile } from "../conditional-write.ts";
import { turnOf } from "./allocation.ts";
import type { Author, DeletionNotes } from "./deletion-notes.ts";
import type { EntryWriter, Outcome } from "./entry-writer.ts";
import { withMeta } from "./metadata.ts";
import type { ObjectReader, StoreOptions } from "./object-reader.ts";

export interface DeleteRequest extends Partial<CheckedDeleteOptions> {
  readonly caller?: Caller & Author;
  readonly dryRun: boolean;
  /** Whether the object is one of a collection that is deleted. */
  readonly isOfMany?: boolean;
  /** Refuses the deletion by throwing; it is given the object that will be deleted. */
  readonly admit?: ((old: Unstructured) => MaybePromise<void>) | undefined;
}

export interface Deleted {
  /** The object in the answer: after the deletion mark, or as it was when it was removed. */
  readonly object: Unstructured;
  readonly entry: Entry | undefined;
  /** Whether the object was removed; false while it waits for finalizers or its grace period. */
  readonly removed: boolean;
}

/** The number of concurrent deletes of one collection: enough to fill group commits, too few to starve others. */
const deleteWorkers = 256;

export class ObjectDeleter {
  readonly #reader: ObjectReader;
  readonly #entries: EntryWriter;
  readonly #definition: ResourceDefinition;
  readonly #cache: CacheReader & CacheWriter;
  readonly #objects: StoredObjects;
  readonly #clock: Clock;
  readonly #timestamps: Timestamps;
  readonly #collectsGarbage: boolean;
  readonly #notes: DeletionNotes | undefined;

  constructor(reader: ObjectReader, entries: EntryWriter, options: StoreOptions) {
    this.#reader = reader;
    this.#entries = entries;
    this.#definition = options.definition;
    this.#cache = options.cache;
    this.#objects = options.objects;
    this.#clock = options.clock;
    this.#timestamps = new Timestamps(options.clock);
    this.#collectsGarbage = options.collectsGarbage !== false;
    this.#notes = options.deletionNotes;
  }

  /** See `Store.delete`. */
  delete(namespace: string, name: string, request: DeleteRequest): Promise<Deleted> {
    const { caller } = request;
    return this.#entries.fromNewest(
      this.#reader.key(namespace, name),
      caller,
      async (entry): Promise<Outcome<Deleted>> => {
        if (entry === undefined) throw notFound(this.#definition, name);
        const old = this.#reader.object(entry);
        this.#checkPreconditions(old, name, request);
        if (this.#definition.strategy.isEnding?.(old) === true)
          return { unwritten: { object: old, entry, removed: false } };
        await request.admit?.(old);
        const end = this.#endOf(old, request.gracePeriodSeconds);
        if (end === undefined) return { unwritten: { object: old, entry, removed: false } };
        const next = this.#mark(old, end, request);
        if (next === undefined) return this.#remove(entry, this.#lastState(old, end), request);
        if (next === old) return { unwritten: { object: old, entry, removed: false } };
        if (request.dryRun) return { unwritten: { object: next, entry: undefined, removed: false } };
        const encoded = await this.#entries.encodeForDeletion(next, caller);
        const result = await writeWhile(caller, (conditions) =>
          this.#cache.put(entry.key, entry.revision, encoded, {
            ...conditions,
            ...turnOf(this.#definition, next),
            isForDeletion: true,
          }),
        );
        if (!result.ok) return { lostTo: result.current };
        this.#notes?.marked(old, caller);
        await this.#entries.awaitEffects(result.entry, caller);
        return { written: { object: this.#reader.object(result.entry), entry: result.entry, removed: false } };
      },
    );
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
    const old = this.#reader.object(entry);
    const note = this.#notes?.removed(old, caller);
    const marks = !jsonEquals(last, old);
    if (marks) {
      const encoded = await this.#entries.encodeForDeletion(last, caller);
      const marked = await writeWhile(caller, (conditions) =>
        this.#cache.put(entry.key, entry.revision, encoded, { ...conditions, isForDeletion: true }),
      );
      if (!marked.ok) return { lostTo: marked.current };
      ({ revision } = marked.entry);
    }
    const expected = revision;
    const result = await writeWhile(caller, (conditions) =>
      this.#cache.remove(entry.key, expected, { ...conditions, ...turnOf(this.#definition, last), note }),
    );
    if (result.ok) {
      ({ revision } = result.entry);
      await this.#entries.awaitEffects(result.entry, caller);
    } else if (!marks || this.#isOf(last, result.current)) {
      return { lostTo: result.current };
    }
    const object = withMeta(last, { resourceVersion: String(revision) });
    return { written: { object, entry: undefined, removed: true } };
  }

  /** Whether an entry is of this object, and not of a later one with its name. */
  #isOf(object: Unstructured, entry: Entry | undefined): boolean {
    return entry !== undefined && this.#reader.metadataOf(entry).uid === object.metadata.uid;
  }

  /** See `Store.removeUnreadable`. */
  async removeUnreadable(
    namespace: string,
    name: string,
    readable: () => StatusError,
    admit?: (last: Unstructured) => Promise<void>,
    caller?: Caller & Author,
  ): Promise<void> {
    const { kind, group, version } = this.#definition;
    const metadata = { name, ...(namespace === "" ? {} : { namespace }) };
    const note = this.#notes?.removed({ metadata }, caller);
    let isAdmitted = false;
    for (let entry = this.#cache.get(this.#reader.key(namespace, name)); ; ) {
      if (entry === undefined || this.#objects.isReadable(entry)) throw readable();
      if (!isAdmitted) await admit?.({ kind, apiVersion: apiVersionOf({ group, version }), metadata });
      isAdmitted = true;
      const { key, revision } = entry;
      const removed = await writeWhile(caller, (conditions) =>
        this.#cache.remove(key, revision, { ...conditions, note }),
      );
      if (removed.ok) return;
      entry = removed.current;
    }
  }

  /** Removes all entries, many at a time. Objects that are already gone count as removed. */
  async deleteAll(
    entries: readonly Entry[],
    remove: (object: Unstructured, entry: Entry) => Promise<unknown>,
  ): Promise<void> {
    // An entry that cannot be read stops the deletion before it has begun.
    for (const entry of entries) this.#objects.checkShape(this.#definition, entry);
    let next = 0;
    const yielder = new Yielder(this.#clock);
    const worker = async (): Promise<void> => {
      for (;;) {
        if (yielder.isDue) await yielder.pause();
        const entry = entries[next++];
        if (entry === undefined) return;
        try {
          await remove(this.#reader.object(entry), entry);
        } catch (error) {
          if (!(error instanceof StatusError) || error.status.code !== 404) throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(deleteWorkers, entries.length) }, worker));
  }

  #checkPreconditions(old: Unstructured, name: string, { preconditions: wanted, isOfMany }: DeleteRequest): void {
    if (wanted === undefined) return;
    const isOwn = this.#definition.strategy.terminate !== undefined && isOfMany !== true;
    // Upstream: the error names the stored kind, so that an event of the newer group has no group in it.
    const of = { group: this.#definition.storage.group, resource: this.#definition.kind };
    for (const [field, title, change] of preconditions) {
      const [asked, present] = [wanted[field], old.metadata[field]];
      if (asked === undefined || asked === present) continue;
      if (isOwn) {
        // Upstream: kinds with their own way to terminate check preconditions by themselves.
        const failed = `Precondition failed: ${title} in precondition: ${asked}, ${title} in object meta: ${present}`;
        throw conflict(this.#definition, name, failed);
      }
      const mismatch = `the ${title} in the precondition (${asked}) does not match the ${title} in record (${present})`;
      throw conflict(of, name, `${mismatch}. The object might have been ${change}`);
    }
  }

  /**
   * Returns the object in its deletion event: kinds with graceful deletion have the mark there even without a grace
   * period.
   */
  #lastState(old: Unstructured, { deletionTimestamp }: End): Unstructured {
    if (this.#definition.strategy.graceSeconds === undefined) return old;
    return withMeta(old, { deletionTimestamp, deletionGracePeriodSeconds: 0 });
  }

  /**
   * Returns the object with its deletion mark: the same object when it has one already, `undefined` to remove it now.
   */
  #mark(old: Unstructured, end: End, request: DeleteRequest): Unstructured | undefined {
    const definition = this.#definition;
    const { strategy } = definition;
    const meta = old.metadata;
    const finalizers = this.#deletionFinalizers(meta.finalizers ?? [], request);
    const pending = finalizers.length + (strategy.pendingFinalizers?.(old).length ?? 0);
    if (pending === 0 && end.graceSeconds === 0) return undefined;
    const isFirst = meta.deletionTimestamp === undefined;
    // A kind with its own way to terminate (a namespace) gets a grace period only by a later deletion.
    const terminate = isFirst ? strategy.terminate : undefined;
    const graceBefore = meta.deletionGracePeriodSeconds ?? (strategy.terminate === undefined ? 0 : undefined);
    const isMarked = !isFirst && graceBefore === end.graceSeconds;
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
              ...(terminate === undefined ? { deletionGracePeriodSeconds: end.graceSeconds } : {}),
              ...(meta.generation !== undefined && isFirst ? { generation: nextGeneration(meta) } : {}),
            }),
      },
    };
    return terminate === undefined ? marked : terminate(marked, old);
  }

  /**
   * Returns when a deleted object ends, finalizers aside; `undefined` when an earlier deletion continues unchanged. A
   * second deletion can only shorten the grace period, which counts from the first.
   */
  #endOf(old: Unstructured, asked: Int64 | undefined): End | undefined {
    const { strategy } = this.#definition;
    const { deletionTimestamp: end, deletionGracePeriodSeconds: secondsLeft } = old.metadata;
    if (strategy.graceSeconds === undefined || (end !== undefined && (secondsLeft ?? 0) === 0)) {
      return { deletionTimestamp: end ?? this.#timestamps.now(), graceSeconds: 0 };
    }
    const requested = asked !== undefined && nearestNumber(asked) < 0 ? 1 : asked;
    if (end === undefined || secondsLeft === undefined) {
      const graceSeconds = strategy.graceSeconds(old, requested);
      return { deletionTimestamp: timestampOf(this.#clock.now() + milliseconds(graceSeconds)), graceSeconds };
    }
    if (requested === undefined || bigIntOf(requested) >= bigIntOf(secondsLeft)) return undefined;
    const deletedMs = Date.parse(end) - milliseconds(secondsLeft);
    return { deletionTimestamp: timestampOf(deletedMs + milliseconds(requested)), graceSeconds: requested };
  }

  /** Returns the finalizers, with the propagation policy as `orphan` or `foregroundDeletion`. */
  #deletionFinalizers(before: readonly string[], request: DeleteRequest): readonly string[] {
    if (!this.#collectsGarbage) return before;
    const { defaultPropagation } = this.#definition;
    const others = before.filter((text) => text !== orphan && text !== foreground);
    if (defaultPropagation === "Unsupported") return others.length === before.length ? before : others;
    const { orphanDependents, propagationPolicy } = request;
    let wanted: string | undefined;
    if (orphanDependents !== undefined) wanted = orphanDependents ? orphan : undefined;
    else if (propagationPolicy !== undefined) wanted = policyFinalizers[propagationPolicy];
    else wanted = [orphan, foreground].find((text) => before.includes(text)) ?? policyFinalizers[defaultPropagation];
    if (wanted === undefined) return others;
    return before.includes(wanted) && others.length + 1 === before.length ? before : [...others, wanted];
  }
}

/** The fields of preconditions: their titles in messages, and what another value may come from. */
const preconditions = [
  ["uid", "UID", "deleted and then recreated"],
  ["resourceVersion", "ResourceVersion", "modified"],
] as const;

const orphan = "orphan";
const foreground = "foregroundDeletion";
/** The finalizer for each propagation policy. */
const policyFinalizers = { Orphan: orphan, Foreground: foreground, Background: undefined } as const;

/**
 * Converts seconds to milliseconds. As upstream does, it cuts more than 292 years to what 64 bits of nanoseconds can
 * express.
 */
const milliseconds = (seconds: Int64): number =>
  Number(BigInt.asIntN(64, bigIntOf(seconds) * 1_000_000_000n) / 1_000_000n);

/** The time at which a deleted object ends, and the seconds from its deletion to this time. */
interface End {
  readonly deletionTimestamp: string;
  readonly graceSeconds: Int64;
}
