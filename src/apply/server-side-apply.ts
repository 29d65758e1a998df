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
  ConversionProblem,
  type ObjectVersions,
  type OwnedObject,
  resetIn,
  knownManagers,
  updateManagedFields,
} from "./managed-fields.ts";
import { mergeApplied } from "./merge-applied.ts";
import { identify, type FieldManager, readFieldManagers, writeFieldManagers } from "./field-managers.ts";
import { removeFields } from "./remove-fields.ts";
import { markReconciled, withStructs } from "./schema-fields.ts";
import { compareTyped, type FieldChanges, fieldsOf, unownedMetadata, zeroOf } from "./typed-fields.ts";

export interface FieldApply extends ObjectVersions {
  /** The present object in the version of the request; `undefined` to create one. */
  readonly live: OwnedObject | undefined;
  /** The applied configuration; it passed `checkApplied` and has no managedFields. */
  readonly applied: JsonObject;
  /** Version of the request, which is that of `applied`. */
  readonly apiVersion: string;
  /** Empty for the main resource. */
  readonly subresource: string;
  readonly manager: string;
  /** Takes fields away from other managers instead of conflicting. */
  readonly force: boolean;
  /** RFC 3339 in UTC and whole seconds. */
  readonly now: string;
  /** Where kubectl keeps what it applied on the client's side. */
  readonly lastAppliedAnnotation: string;
}

export type AppliedResult =
  | { readonly ok: false; readonly conflicts: ConflictReport }
  | {
      readonly ok: true;
      /**
       * The merged object with its managedFields, as JSON values of both sides, neither decoded nor defaulted. `live`
       * itself when nothing changed at all.
       */
      readonly object: OwnedObject;
      /** Whether more than ownership may have changed. */
      readonly changed: boolean;
    };

/** The manager of fields that had none before the object's first apply. */
const earlierManager = "before-first-apply";

/** Fields that only the server sets, which no applier owns. */
const neverOwned: FieldSet = fieldSetOf([
  ["f:apiVersion"],
  ["f:kind"],
  ["f:metadata"],
  ...[...unownedMetadata].map((name) => ["f:metadata", `f:${name}`]),
]);

/** Applies; conflicts are an answer, not an error. Throws `ConversionProblem`. */
export function applyFields(apply: FieldApply): AppliedResult {
  const schema = apply.schemaFor(apply.apiVersion);
  if (schema === undefined) throw new Error(`no schema of ${apply.apiVersion}`);
  const { live, lastAppliedAnnotation: annotation } = apply;
  const present: OwnedObject = live ?? zeroOf(schema);
  const managers = managersBefore(apply, present);
  let outcome = merge(apply, schema, present, managers, apply.force);
  if (!outcome.ok && apply.manager === kubectlManager) {
    const allowed = lastAppliedFields(schema, present, apply.apiVersion, annotation);
    if (allowed !== undefined) {
      const left = conflictsOutside(outcome.conflicts, allowed);
      outcome = left.length > 0 ? { ok: false, conflicts: left } : merge(apply, schema, present, managers, true);
    }
  }
  if (!outcome.ok) return { ok: false, conflicts: reportConflicts(outcome.conflicts) };
  let { object } = outcome;
  const changed = object !== present || live === undefined;
  if (apply.manager === kubectlManager) object = withLastApplied(object, apply.applied, annotation);
  const list = present.metadata?.managedFields;
  return { ok: true, changed, object: withManagedFields(object, writeFieldManagers(outcome.managers, list), list) };
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
 * Field managers before the apply. For an object without any, one is made up that owns all of it; managers whose
 * versions are not known are some, too.
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

type Outcome =
  | { readonly ok: false; readonly conflicts: readonly Conflict[] }
  | { readonly ok: true; readonly object: OwnedObject; readonly managers: FieldManager[] };

function merge(
  apply: FieldApply,
  schema: Schema,
  present: OwnedObject,
  before: readonly FieldManager[],
  force: boolean,
): Outcome {
  const { applied, apiVersion, subresource, manager } = apply;
  const id = identify(manager, true, apiVersion, subresource);
  const last = before.find((fieldManager) => fieldManager.id === id);
  const named = fieldsOfApplied(apply, schema);
  const set = markReconciled(schema, difference(named, neverOwned));
  const others = before.filter((fieldManager) => fieldManager !== last);
  const merged = mergeApplied(schema, present, applied) as OwnedObject; // both are objects
  const object = prune(apply, schema, merged, named, last, others);
  const isSame = object === present || jsonEquals(object, present);
  const managers: FieldManager[] = [];
  if (isSame) managers.push(...others);
  else {
    const conflicts = takeOver(apply, schema, present, object, others, managers);
    if (conflicts.length > 0 && !force) return { ok: false, conflicts };
  }
  if (!isEmptySet(set)) {
    const isKept = isSame && last !== undefined && last.apiVersion === apiVersion && equalSets(last.set, set);
    const time = isSame ? (last?.time ?? "") : apply.now;
    managers.push(
      isKept ? last : { id, manager, isApplier: true, apiVersion, subresource, time, set, entry: undefined },
    );
  }
  return { ok: true, object: isSame ? present : object, managers };
}

/** Includes fields that cannot be owned, so that the structs around them are not removed. */
function fieldsOfApplied(apply: FieldApply, schema: Schema): FieldSet {
  const all = fieldsOf(schema, apply.applied);
  return apply.resetFields === undefined ? all : recursiveDifference(all, apply.resetFields);
}

/** Puts what other managers keep into `kept`; returns the fields that they lose when conflicts are forced. */
function takeOver(
  apply: FieldApply,
  schema: Schema,
  present: OwnedObject,
  object: OwnedObject,
  others: readonly FieldManager[],
  kept: FieldManager[],
): Conflict[] {
  const byVersion = new Map<string, { readonly taken: FieldSet; readonly removed: FieldSet }>();
  const conflicts: Conflict[] = [];
  for (const fieldManager of others) {
    let changes = byVersion.get(fieldManager.apiVersion);
    if (changes === undefined) {
      const { added, modified, removed } = changesFor(apply, schema, present, object, fieldManager.apiVersion);
      changes = { taken: union(modified, added), removed };
      byVersion.set(fieldManager.apiVersion, changes);
    }
    const fields = intersection(fieldManager.set, changes.taken);
    if (!isEmptySet(fields)) conflicts.push({ fieldManager, fields });
    const set = difference(difference(fieldManager.set, fields), changes.removed);
    if (set === fieldManager.set) kept.push(fieldManager);
    else if (!isEmptySet(set)) kept.push({ ...fieldManager, set, entry: undefined });
  }
  return conflicts;
}

function changesFor(
  apply: FieldApply,
  schema: Schema,
  present: OwnedObject,
  object: OwnedObject,
  apiVersion: string,
): FieldChanges {
  const from = inVersion(apply, schema, present, apiVersion);
  const to = inVersion(apply, schema, object, apiVersion);
  return changesWithout(resetIn(apply, apply.apiVersion, apiVersion), from.schema, from.object, to.object);
}

interface Versioned {
  readonly schema: Schema;
  readonly object: OwnedObject;
}

/** The object as `apiVersion` has it, a known version. */
function inVersion(apply: FieldApply, schema: Schema, object: OwnedObject, apiVersion: string): Versioned {
  if (apiVersion === apply.apiVersion) return { schema, object };
  const other = apply.schemaFor(apiVersion) ?? schema;
  return { schema: other, object: convert(apply, object, apply.apiVersion, apiVersion) };
}

/** `what` begins the message of a problem, in upstream's words. */
function convert(apply: FieldApply, object: OwnedObject, from: string, to: string, what = ""): OwnedObject {
  if (from === to || apply.convert === undefined) return object;
  try {
    return apply.convert(object, from, to);
  } catch (error) {
    if (what === "" || !(error instanceof ConversionProblem)) throw error;
    throw new ConversionProblem(`failed to prune fields: ${what}: ${error.message}`, { cause: error });
  }
}

/**
 * Removes fields that the applier owned last time, does not apply now, and no other manager owns. A struct goes with
 * its last field, a list item with its keys. `set` holds all applied fields.
 */
function prune(
  apply: FieldApply,
  schema: Schema,
  merged: OwnedObject,
  set: FieldSet,
  last: FieldManager | undefined,
  others: readonly FieldManager[],
): OwnedObject {
  if (last === undefined) return merged;
  // A manager that still applies all of it removes nothing; parents are applied with it.
  if (last.apiVersion === apply.apiVersion && isEmptySet(difference(last.set, set))) return merged;

  const owned = new Map<string, FieldSet[]>([[last.apiVersion, []]]);
  const addOwned = (apiVersion: string, fields: FieldSet): void => {
    const same = owned.get(apiVersion);
    if (same === undefined) owned.set(apiVersion, [fields]);
    else same.push(fields);
  };
  addOwned(apply.apiVersion, set);
  for (const other of others) addOwned(other.apiVersion, other.set);

  const start = {
    schema: apply.schemaFor(last.apiVersion) ?? schema,
    object: convert(apply, merged, apply.apiVersion, last.apiVersion, toLastVersion("merged")),
  };
  const startFields = fieldsWithStructs(start.schema, start.object);
  const lastFields = withStructs(start.schema, last.set);
  let pruned = without(start.schema, start.object, lastFields);
  let whole = start.object;
  let at = last.apiVersion;
  for (const [apiVersion, sets] of owned) {
    const here = apply.schemaFor(apiVersion) ?? schema;
    const failed = (which: string): string =>
      `failed add back owned items: failed to convert ${which} object at version ${apiVersion}`;
    whole = convert(apply, whole, at, apiVersion, failed("merged"));
    pruned = convert(apply, pruned, at, apiVersion, failed("pruned"));
    at = apiVersion;
    const left = fieldsWithStructs(here, pruned);
    // A field that has another value now was filled in by the conversion, in the place of one that went.
    const own = apiVersion === last.apiVersion ? left : difference(left, compareTyped(here, whole, pruned).modified);
    const kept = union(own, withStructs(here, unionAll(sets)));
    const isStart = whole === start.object && here === start.schema;
    const all = isStart ? startFields : fieldsWithStructs(here, whole);
    pruned = without(here, whole, difference(all, kept));
  }
  const what = `failed add back dangling items: ${toLastVersion("pruned")}`;
  pruned = convert(apply, pruned, at, last.apiVersion, what);
  const gone = difference(startFields, fieldsWithStructs(start.schema, pruned));
  const result = without(start.schema, start.object, intersection(gone, lastFields));
  // Another version may not hold all of it: then the rest is not applied.
  return result === merged ? merged : convert(apply, result, last.apiVersion, apply.apiVersion);
}

const toLastVersion = (which: string): string => `failed to convert ${which} object to last applied version`;

const fieldsWithStructs = (schema: Schema, object: OwnedObject): FieldSet =>
  withStructs(schema, fieldsOf(schema, object));

const without = (schema: Schema, object: OwnedObject, fields: FieldSet): OwnedObject =>
  isEmptySet(fields) ? object : ((removeFields(schema, object, fields) ?? {}) as OwnedObject); // an object stays one

const conflictsOutside = (conflicts: readonly Conflict[], allowed: FieldSet): Conflict[] =>
  conflicts
    .map(({ fieldManager, fields }) => ({ fieldManager, fields: difference(fields, allowed) }))
    .filter(({ fields }) => !isEmptySet(fields));
