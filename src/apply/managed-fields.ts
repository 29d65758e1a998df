/**
 * Updates managedFields after a write that is not an apply. The writer gains the fields it added or changed; every
 * manager loses fields that changed value or were removed. Hot path: cost is proportional to the change. Source:
 * upstream's `util/managedfields` and structured-merge-diff's `merge.Updater`.
 */
import type { ManagedFieldsEntry, ObjectMeta } from "#meta/object-meta.ts";
import type { Schema } from "#schema/schema.ts";
import { isObject } from "#std/is-object.ts";
import { difference, type FieldSet, isEmptySet, recursiveDifference, union } from "./field-set.ts";
import { type JsonObject, jsonEquals } from "./json-value.ts";
import { reconcileFields } from "./schema-fields.ts";
export { managersProblem } from "./field-managers.ts";
import { fold, identify, type FieldManager, readFieldManagers, writeFieldManagers } from "./field-managers.ts";
import { compareObjects, type FieldChanges } from "./typed-fields.ts";

/** The maximum length of the name of a manager, in bytes. */
const managerBytesMax = 128;

/** The part of an API object that concerns ownership. */
export type OwnedObject = JsonObject & { readonly metadata?: Pick<ObjectMeta, "managedFields"> };

/** Thrown when an object cannot be converted to a version of its field managers. */
export class ConversionProblem extends Error {}

/** The versions of an object's kind. */
export interface ObjectVersions {
  /**
   * Returns the whole type of the object in a version. `undefined`: entries written in that version are dropped. Throws
   * `ConversionProblem` when nothing can be known about the owners of an object with such entries.
   */
  schemaFor(apiVersion: string): Schema | undefined;
  /**
   * Converts the object to another version that has a type, for entries written in that version. Left out: versions
   * have the same fields. Throws `ConversionProblem`.
   */
  convert?(object: OwnedObject, from: string, to: string): OwnedObject;
  /** The fields that this endpoint never changes (`f:status` on the main resource), with all below them. */
  readonly resetFields?: FieldSet;
  /**
   * Whether `resetFields` applies only to the version of the request; for managers of other versions these fields then
   * count as changed. Upstream does so for custom kinds.
   */
  readonly resetsOneVersion?: boolean;
}

/** Returns the fields that are ignored for managers of a version. */
export function resetIn(versions: ObjectVersions, own: string, apiVersion: string): FieldSet | undefined {
  return versions.resetsOneVersion === true && apiVersion !== own ? undefined : versions.resetFields;
}

export interface FieldUpdate extends ObjectVersions {
  /** The object that is replaced, in the version of the request; `undefined` for a create. */
  readonly old: OwnedObject | undefined;
  /** The new object, decoded and defaulted, with the managedFields that the client sent. */
  readonly next: OwnedObject;
  /** The version of the request. */
  readonly apiVersion: string;
  /** The subresource; empty for the main resource. */
  readonly subresource: string;
  /** The name of the writer; see `ManagerNames`. */
  readonly manager: string;
  /** The time in RFC 3339, in UTC and whole seconds. */
  readonly now: string;
}

/** Makes manager names. Names derived from user agents are cached, since every client sends the same one each time. */
export class ManagerNames {
  readonly #ofAgents = new Map<string, string>();

  /** Returns the `fieldManager` parameter, or else the first part of the user agent. Never empty. */
  of(fieldManager: string, userAgent: string): string {
    if (fieldManager !== "") return fieldManager;
    let name = this.#ofAgents.get(userAgent);
    if (name === undefined) {
      name = agentName(userAgent);
      if (userAgent.length <= agentLengthMax) {
        if (this.#ofAgents.size >= agentsMax) this.#ofAgents.clear();
        this.#ofAgents.set(userAgent, name);
      }
    }
    return name;
  }
}

const agentsMax = 256;
const agentLengthMax = 256;

function agentName(userAgent: string): string {
  let name = "";
  let bytes = 0;
  for (const char of userAgent.split("/", 1)[0]!) {
    if (!/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(char)) continue;
    bytes += Buffer.byteLength(char);
    if (bytes > managerBytesMax) break;
    name += char;
  }
  return name === "" ? "unknown" : name;
}

/**
 * The list for the new object, in upstream's order; `undefined` for none. It is `old`'s own list when nothing changed.
 * - A list in `next` replaces the old one, unless it is empty, cannot be read, or the write goes to a subresource.
 * - One empty entry clears ownership; the writer then owns what this write changes.
 * - An object without field managers gains none by updates.
 */
export function updateManagedFields(update: FieldUpdate): readonly ManagedFieldsEntry[] | undefined {
  const { old, next, subresource } = update;
  const oldList = old?.metadata?.managedFields;
  const sentFields = subresource === "" ? next.metadata?.managedFields : undefined;
  let list = oldList;
  let managers: FieldManager[] | undefined;
  let isReset = false;
  if (sentFields !== undefined && sentFields !== null && sentFields !== oldList && sentFields.length > 0) {
    isReset = sentFields.length === 1 && isObject(sentFields[0]) && Object.keys(sentFields[0]).length === 0;
    if (isReset) list = undefined;
    else if (!jsonEquals(sentFields, oldList)) {
      managers = readFieldManagers(sentFields);
      if (managers !== undefined) list = sentFields;
    }
  }
  managers ??= list === undefined || list === null ? [] : (readFieldManagers(list) ?? []);
  if (managers.length === 0 && old !== undefined && !isReset) return undefined;

  const schema = update.schemaFor(update.apiVersion);
  if (schema === undefined) return list ?? undefined;
  const changes = changesWithout(update.resetFields, schema, old, next);
  const remaining = managers.length === 0 ? [] : takeChanged(update, schema, changes, knownManagers(update, managers));
  const gained = union(changes.modified, changes.added);
  if (!isEmptySet(gained)) gain(update, remaining, gained);
  return writeFieldManagers(fold(remaining), list);
}

/** Returns the field managers whose versions are known, with their sets adapted to the present schemas. */
export function knownManagers(versions: ObjectVersions, managers: readonly FieldManager[]): readonly FieldManager[] {
  const schemas = new Map<string, Schema | undefined>();
  const changed: FieldManager[] = [];
  for (const fieldManager of managers) {
    const { apiVersion, set } = fieldManager;
    if (!schemas.has(apiVersion)) schemas.set(apiVersion, versions.schemaFor(apiVersion));
    const schema = schemas.get(apiVersion);
    if (schema === undefined) continue;
    const reconciled = reconcileFields(schema, set);
    changed.push(reconciled === set ? fieldManager : { ...fieldManager, set: reconciled, entry: undefined });
  }
  return changed;
}

/**
 * Compares two objects, without the fields that the endpoint never changes (`reset`). `old` is `undefined` for a
 * create.
 */
export function changesWithout(
  reset: FieldSet | undefined,
  schema: Schema,
  old: OwnedObject | undefined,
  next: OwnedObject,
): FieldChanges {
  const changes = compareObjects(schema, old, next);
  if (reset === undefined) return changes;
  return {
    added: recursiveDifference(changes.added, reset),
    modified: recursiveDifference(changes.modified, reset),
    removed: recursiveDifference(changes.removed, reset),
  };
}

/** Returns the managers with the fields that they keep. Managers without fields are dropped. */
function takeChanged(
  update: FieldUpdate,
  schema: Schema,
  changes: FieldChanges,
  managers: readonly FieldManager[],
): FieldManager[] {
  const lost = lostBy(changes);
  const lostIn = new Map<string, FieldSet>();
  const remaining: FieldManager[] = [];
  for (const fieldManager of managers) {
    let gone: FieldSet | undefined = lost;
    if (fieldManager.apiVersion !== update.apiVersion) {
      gone = lostIn.get(fieldManager.apiVersion);
      if (gone === undefined) {
        gone = lostInVersion(update, schema, lost, fieldManager.apiVersion);
        lostIn.set(fieldManager.apiVersion, gone);
      }
    }
    const set = difference(fieldManager.set, gone);
    if (set === fieldManager.set) {
      if (!isEmptySet(set)) remaining.push(fieldManager);
    } else if (!isEmptySet(set)) {
      remaining.push({ ...fieldManager, set, entry: undefined });
    }
  }
  return remaining;
}

const lostBy = (changes: FieldChanges): FieldSet => union(union(changes.modified, changes.added), changes.removed);

/** Returns the lost fields in another version. */
function lostInVersion(update: FieldUpdate, schema: Schema, lost: FieldSet, apiVersion: string): FieldSet {
  const { old, next } = update;
  const other = update.schemaFor(apiVersion) ?? schema;
  const convert = (object: OwnedObject): OwnedObject =>
    update.convert?.(object, update.apiVersion, apiVersion) ?? object;
  const before = old === undefined ? undefined : convert(old);
  const after = convert(next);
  const reset = resetIn(update, update.apiVersion, apiVersion);
  if (other === schema && before === old && after === next && reset === update.resetFields) return lost;
  return lostBy(changesWithout(reset, other, before, after));
}

function gain(update: FieldUpdate, managers: FieldManager[], gained: FieldSet): void {
  const { manager, apiVersion, subresource, now } = update;
  const id = identify(manager, false, apiVersion, subresource);
  const at = managers.findIndex((fieldManager) => fieldManager.id === id);
  const set = at < 0 ? gained : union(managers[at]!.set, gained);
  const fieldManager = { id, manager, isApplier: false, apiVersion, subresource, time: now, set, entry: undefined };
  if (at < 0) managers.push(fieldManager);
  else managers[at] = fieldManager;
}
