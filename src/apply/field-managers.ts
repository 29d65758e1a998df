/**
 * Converts managedFields entries to field managers with field sets, and back: identity and order of entries, and the
 * limit on update entries. Source: upstream's `util/managedfields`.
 */
import { goQuote } from "#meta/field-error.ts";
import type { ManagedFieldsEntry } from "#meta/object-meta.ts";
import { compareCodePoints } from "#std/code-points.ts";
import { type FieldSet, parseFieldSet, rememberSet, union } from "./field-set.ts";

/** The maximum number of entries of updates in an object; the oldest are merged into one for their version. */
const updateManagersMax = 10;

const foldedManager = "ancient-changes";

/** One entry of managedFields, parsed. */
export interface FieldManager {
  readonly id: string;
  readonly manager: string;
  readonly isApplier: boolean;
  readonly apiVersion: string;
  readonly subresource: string;
  /** The time of the entry; empty for none. */
  readonly time: string;
  readonly set: FieldSet;
  /** The entry from which this was parsed, while it is unchanged. */
  readonly entry: ManagedFieldsEntry | undefined;
}

/**
 * Returns the identity of an entry. Appliers are the same in every version. Upstream sorts by this text when it merges
 * entries.
 */
export function identify(manager: string, isApplier: boolean, apiVersion: string, subresource: string): string {
  let text = `{"manager":${JSON.stringify(manager)},"operation":"${isApplier ? "Apply" : "Update"}"`;
  if (!isApplier) text += `,"apiVersion":${JSON.stringify(apiVersion)}`;
  if (subresource !== "") text += `,"subresource":${JSON.stringify(subresource)}`;
  return `${text}}`;
}

/** Returns why the list cannot be read; `undefined` when it can. Source: upstream's `managedfields/internal`. */
export function managersProblem(list: readonly ManagedFieldsEntry[]): string | undefined {
  for (const [at, { operation, apiVersion = "", fieldsType = "", fieldsV1 }] of list.entries()) {
    if (operation !== "Apply" && operation !== "Update") return "operation must be `Apply` or `Update`";
    if (apiVersion === "") return "apiVersion must not be empty";
    if (fieldsType === "") return `missing fieldsType in managed fields entry ${at}`;
    if (fieldsType !== "FieldsV1") return `invalid fieldsType ${goQuote(fieldsType)} in managed fields entry ${at}`;
    if (parseFieldSet(fieldsV1 ?? {}) === undefined) return "fieldsV1 must be a set of fields";
  }
  return undefined;
}

/**
 * Parses entries; `undefined` when one of them is invalid. A later entry of the same field manager replaces an earlier
 * one.
 */
export function readFieldManagers(list: readonly ManagedFieldsEntry[]): FieldManager[] | undefined {
  const managers: FieldManager[] = [];
  const indexById = new Map<string, number>();
  for (const entry of list) {
    const { manager = "", operation, apiVersion = "", time, fieldsType, fieldsV1, subresource = "" } = entry;
    if (operation !== "Apply" && operation !== "Update") return undefined;
    if (apiVersion === "" || fieldsType !== "FieldsV1") return undefined;
    const set = parseFieldSet(fieldsV1 ?? {}); // as upstream, none is the same as an empty one
    if (set === undefined) return undefined;
    const isApplier = operation === "Apply";
    const id = identify(manager, isApplier, apiVersion, subresource);
    const own = set === fieldsV1 ? entry : undefined;
    const fieldManager = { id, manager, isApplier, apiVersion, subresource, time: time ?? "", set, entry: own };
    const index = indexById.get(id);
    if (index !== undefined) {
      managers[index] = fieldManager;
      continue;
    }
    indexById.set(id, managers.length);
    managers.push(fieldManager);
  }
  return managers;
}

/** Merges the oldest updaters of a version into one until there are few enough. */
export function fold(managers: FieldManager[]): FieldManager[] {
  if (managers.length <= updateManagersMax) return managers;
  const updaters = managers.filter((fieldManager) => !fieldManager.isApplier);
  let count = updaters.length;
  if (count <= updateManagersMax) return managers;
  updaters.sort((a, b) => compareCodePoints(a.time, b.time) || compareCodePoints(a.id, b.id));
  const unmatched = new Map(managers.map((fieldManager) => [fieldManager.id, fieldManager]));
  const first = new Map<string, string>();
  for (const fieldManager of updaters) {
    if (count <= updateManagersMax) break;
    const { apiVersion } = fieldManager;
    const oldest = first.get(apiVersion);
    if (oldest === undefined) {
      first.set(apiVersion, fieldManager.id);
      continue;
    }
    const id = identify(foldedManager, false, apiVersion, "");
    let set = fieldManager.set;
    for (const other of [id, oldest]) {
      const match = unmatched.get(other);
      if (match === undefined) continue;
      set = union(set, match.set);
      unmatched.delete(other);
    }
    unmatched.delete(fieldManager.id);
    unmatched.set(id, { ...fieldManager, id, manager: foldedManager, subresource: "", set, entry: undefined });
    first.set(apiVersion, id);
    count--;
  }
  return [...unmatched.values()];
}

/**
 * Returns the entries in upstream's order; `list` itself when it is unchanged, `undefined` for none. Sorts `managers`.
 */
export function writeFieldManagers(
  managers: FieldManager[],
  list: readonly ManagedFieldsEntry[] | undefined,
): readonly ManagedFieldsEntry[] | undefined {
  if (managers.length === 0) return undefined;
  managers.sort(compareManagers);
  const entries = managers.map((fieldManager) => fieldManager.entry ?? writeFieldManager(fieldManager));
  const isSame = list?.length === entries.length && entries.every((entry, i) => entry === list[i]);
  return isSame ? list : entries;
}

/** Compares managers: appliers first, then by time, manager, version, subresource. */
function compareManagers(a: FieldManager, b: FieldManager): number {
  if (a.isApplier !== b.isApplier) return a.isApplier ? -1 : 1;
  return (
    compareCodePoints(a.time, b.time) ||
    compareCodePoints(a.manager, b.manager) ||
    compareCodePoints(a.apiVersion, b.apiVersion) ||
    compareCodePoints(a.subresource, b.subresource)
  );
}

/** Makes the entry of a manager, with its members in the order of upstream's JSON. */
function writeFieldManager(fieldManager: FieldManager): ManagedFieldsEntry {
  return {
    ...(fieldManager.manager === "" ? {} : { manager: fieldManager.manager }),
    operation: fieldManager.isApplier ? "Apply" : "Update",
    apiVersion: fieldManager.apiVersion,
    ...(fieldManager.time === "" ? {} : { time: fieldManager.time }),
    fieldsType: "FieldsV1",
    fieldsV1: rememberSet(fieldManager.set),
    ...(fieldManager.subresource === "" ? {} : { subresource: fieldManager.subresource }),
  };
}
