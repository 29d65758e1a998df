/**
 * Server-side apply: merges a configuration into the current object, removes fields that its manager dropped and no
 * other manager owns, and returns the new field managers or the conflicts. Pure functions on JSON values; the caller decodes
 * and defaults the result. Hot path; figures in docs/performance.md. Source: structured-merge-diff's `merge.Updater`
 * and upstream's `util/managedfields`.
 */
import type { ManagedFieldsEntry } from "#meta/object-meta.ts";
import type { Schema } from "#schema/schema.ts";
import { type Conflict, type ConflictReport, reportConflicts } from "./conflicts.ts";
import {
  difference,
  emptyFieldSet,
  equalSets,
  type FieldSet,
  fieldSetOf,
  intersection,
  isEmptySet,
  recursiveDifference,
  union,
  unionAll,
} from "./field-set.ts";
import { type JsonObject, jsonEquals } from "./json-value.ts";
import { kubectlManager, lastAppliedFields, withLastApplied } from "./last-applied.ts";
import {
  changesWithout,
  type ObjectVersions,
  type OwnedObject,
  resetIn,
  knownManagers,
  updateManagedFields,
} from "./managed-fields.ts";
import { mergeApplied } from "./merge-applied.ts";
import { identify, type FieldManager, readFieldManagers, writeFieldManagers } from "./field-managers.ts";
import { markReconciled, withStructs } from "./schema-fields.ts";
import { compareTyped, type FieldChanges, fieldsOf, unownedMetadata, zeroOf } from "./typed-fields.ts";
import { VersionedObject } from "./versioned-object.ts";

export interface FieldApply extends ObjectVersions {
  /** The present object in the version of the request; `undefined` to create one. */
  readonly live: OwnedObject | undefined;
  /** The applied configuration; it passed `checkApplied` and has no managedFields. */
  readonly applied: JsonObject;
  /** The version of the request, which is that of `applied`. */
  readonly apiVersion: string;
  /** The subresource; empty for the main resource. */
  readonly subresource: string;
  readonly manager: string;
  /** Whether fields are taken from other managers instead of reporting conflicts. */
  readonly force: boolean;
  /** The time in RFC 3339, in UTC and whole seconds. */
  readonly now: string;
  /** The annotation in which kubectl keeps what it applied on the client's side. */
  readonly lastAppliedAnnotation: string;
}

export type AppliedResult =
  | { readonly ok: false; readonly conflicts: ConflictReport }
  | {
      readonly ok: true;
      /**
       * The merged object with its managedFields, made of JSON values of both sides, neither decoded nor defaulted. It
       * is `live` itself when nothing changed at all.
       */
      readonly object: OwnedObject;
      /** Whether more than ownership may have changed. */
      readonly changed: boolean;
    };

/** The manager that owns fields which had none before the object's first apply. */
const earlierManager = "before-first-apply";

/** Fields that only the server sets, and no applier owns. */
const neverOwned: FieldSet = fieldSetOf([
  ["f:apiVersion"],
  ["f:kind"],
  ["f:metadata"],
  ...[...unownedMetadata].map((name) => ["f:metadata", `f:${name}`]),
]);

/** Applies a configuration; conflicts are a result, not an error. Throws `ConversionProblem`. */
export function applyFields(apply: FieldApply): AppliedResult {
  const schema = apply.schemaFor(apply.apiVersion);
  if (schema === undefined) throw new Error(`no schema of ${apply.apiVersion}`);
  const { live, lastAppliedAnnotation: annotation } = apply;
  const present: OwnedObject = live ?? zeroOf(schema);
  const merge = new Merge(apply, schema, present);
  let { conflicts } = merge;
  if (apply.force) conflicts = [];
  else if (conflicts.length > 0 && apply.manager === kubectlManager) {
    const allowed = lastAppliedFields(schema, present, apply.apiVersion, annotation);
    if (allowed !== undefined) conflicts = conflictsOutside(conflicts, allowed);
  }
  if (conflicts.length > 0) return { ok: false, conflicts: reportConflicts(conflicts) };
  const changed = merge.object !== present || live === undefined;
  const object =
    apply.manager === kubectlManager ? withLastApplied(merge.object, apply.applied, annotation) : merge.object;
  const list = present.metadata?.managedFields;
  return { ok: true, changed, object: withManagedFields(object, writeFieldManagers(merge.managers, list), list) };
}

function withManagedFields(
  object: OwnedObject,
  next: readonly ManagedFieldsEntry[] | undefined,
  list: readonly ManagedFieldsEntry[] | undefined,
): OwnedObject {
  if (next === list) return object;
  const { managedFields: _old, ...metadata } = object.metadata ?? {};
  return { ...object, metadata: next === undefined ? metadata : { ...metadata, managedFields: next } };
}

/**
 * Returns the field managers before the apply. For an object without any manager, one is invented that owns all of it;
 * none is invented if there are managers of unknown versions.
 */
function managersBefore(apply: FieldApply, present: OwnedObject): readonly FieldManager[] {
  const managers = readFieldManagers(present.metadata?.managedFields ?? []) ?? [];
  if (managers.length > 0 || apply.live === undefined) return knownManagers(apply, managers);
  const { metadata, ...rest } = present;
  const { managedFields: _none, ...bare } = metadata ?? {};
  const list = updateManagedFields({
    ...apply,
    old: undefined,
    next: { ...rest, metadata: bare },
    manager: earlierManager,
  });
  return list === undefined ? [] : (readFieldManagers(list) ?? []);
}

/** One apply: it takes the fields it needs, and finds those that other managers lose. */
class Merge {
  /** The merged object; `present` itself when it does not change. */
  readonly object: OwnedObject;
  /** The field managers afterwards. */
  readonly managers: FieldManager[] = [];
  readonly conflicts: Conflict[] = [];
  readonly #apply: FieldApply;
  readonly #schema: Schema;
  readonly #present: OwnedObject;
  readonly #others: readonly FieldManager[];

  constructor(apply: FieldApply, schema: Schema, present: OwnedObject) {
    this.#apply = apply;
    this.#schema = schema;
    this.#present = present;
    const { applied, apiVersion, subresource, manager } = apply;
    const id = identify(manager, true, apiVersion, subresource);
    const before = managersBefore(apply, present);
    const last = before.find((fieldManager) => fieldManager.id === id);
    this.#others = before.filter((fieldManager) => fieldManager !== last);
    const named = fieldsOfApplied(apply, schema);
    const set = markReconciled(schema, difference(named, neverOwned));
    const mergedObject = mergeApplied(schema, present, applied) as OwnedObject; // both are objects
    const object = last === undefined ? mergedObject : this.#prune(mergedObject, named, last);
    const isSame = object === present || jsonEquals(object, present);
    this.object = isSame ? present : object;
    if (isSame) this.managers.push(...this.#others);
    else this.#takeOver();
    if (isEmptySet(set)) return;
    const isKept = isSame && last !== undefined && last.apiVersion === apiVersion && equalSets(last.set, set);
    const time = isSame ? (last?.time ?? "") : apply.now;
    this.managers.push(
      isKept ? last : { id, manager, isApplier: true, apiVersion, subresource, time, set, entry: undefined },
    );
  }

  /** Finds the fields that other managers keep, and those that they lose when conflicts are forced. */
  #takeOver(): void {
    const byVersion = new Map<string, { readonly taken: FieldSet; readonly removed: FieldSet }>();
    for (const fieldManager of this.#others) {
      let changes = byVersion.get(fieldManager.apiVersion);
      if (changes === undefined) {
        const { added, modified, removed } = this.#changesIn(fieldManager.apiVersion);
        changes = { taken: union(modified, added), removed };
        byVersion.set(fieldManager.apiVersion, changes);
      }
      const fields = intersection(fieldManager.set, changes.taken);
      if (!isEmptySet(fields)) this.conflicts.push({ fieldManager, fields });
      const set = difference(difference(fieldManager.set, fields), changes.removed);
      if (set === fieldManager.set) this.managers.push(fieldManager);
      else if (!isEmptySet(set)) this.managers.push({ ...fieldManager, set, entry: undefined });
    }
  }

  #changesIn(apiVersion: string): FieldChanges {
    const from = this.#own(this.#present).in(apiVersion);
    const to = this.#own(this.object).in(apiVersion);
    return changesWithout(resetIn(this.#apply, this.#apply.apiVersion, apiVersion), from.schema, from.value, to.value);
  }

  /** Returns an object in the version of the request. */
  #own(object: OwnedObject): VersionedObject {
    return new VersionedObject(this.#apply, this.#apply.apiVersion, this.#schema, object);
  }

  /**
   * Removes fields that the applier owned last time, does not apply now, and no other manager owns. A struct is removed
   * with its last field, a list item with its keys. `named` has all applied fields.
   */
  #prune(mergedObject: OwnedObject, named: FieldSet, last: FieldManager): OwnedObject {
    const { apiVersion: own } = this.#apply;
    // A manager that still applies all its fields removes nothing; parents are applied with them.
    if (last.apiVersion === own && isEmptySet(difference(last.set, named))) return mergedObject;

    const owned = new Map<string, FieldSet[]>([[last.apiVersion, []]]);
    const addOwned = (apiVersion: string, fields: FieldSet): void => {
      const same = owned.get(apiVersion);
      if (same === undefined) owned.set(apiVersion, [fields]);
      else same.push(fields);
    };
    addOwned(own, named);
    for (const other of this.#others) addOwned(other.apiVersion, other.set);

    const start = this.#own(mergedObject).in(last.apiVersion, toLastVersion("merged"));
    const lastFields = withStructs(start.schema, last.set);
    let pruned = start.without(lastFields);
    let whole = start;
    for (const [apiVersion, sets] of owned) {
      const failed = (which: string): string =>
        `failed add back owned items: failed to convert ${which} object at version ${apiVersion}`;
      whole = whole.in(apiVersion, failed("merged"));
      pruned = pruned.in(apiVersion, failed("pruned"));
      // The conversion set a field that has another value now, in place of one that was removed.
      const filledIn =
        apiVersion === last.apiVersion ? emptyFieldSet : compareTyped(whole.schema, whole.value, pruned.value).modified;
      const keptFields = union(difference(pruned.fields, filledIn), withStructs(whole.schema, unionAll(sets)));
      pruned = whole.without(difference(whole.fields, keptFields));
    }
    pruned = pruned.in(last.apiVersion, `failed add back dangling items: ${toLastVersion("pruned")}`);
    const result = start.without(intersection(difference(start.fields, pruned.fields), lastFields));
    // Another version may lack a part of it: then the rest is not applied.
    return result.value === mergedObject ? mergedObject : result.in(own).value;
  }
}

const toLastVersion = (which: string): string => `failed to convert ${which} object to last applied version`;

/** Returns the applied fields, with fields that cannot be owned, so that the structs around them are not removed. */
function fieldsOfApplied(apply: FieldApply, schema: Schema): FieldSet {
  const all = fieldsOf(schema, apply.applied);
  return apply.resetFields === undefined ? all : recursiveDifference(all, apply.resetFields);
}

const conflictsOutside = (conflicts: readonly Conflict[], allowed: FieldSet): Conflict[] =>
  conflicts
    .map(({ fieldManager, fields }) => ({ fieldManager, fields: difference(fields, allowed) }))
    .filter(({ fields }) => !isEmptySet(fields));
