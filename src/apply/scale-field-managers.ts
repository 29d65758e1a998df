/**
 * Maps ownership of `replicas` between an object and its `scale` subresource, where the field has another path and
 * version. Splits an updater's entry on every scale write, as upstream does. Source: upstream's `util/managedfields`,
 * `ScaleHandler`.
 */
import type { ManagedFieldsEntry } from "#meta/object-meta.ts";
import { difference, type ElementPath, fieldSetOf, hasPath, isEmptySet } from "./field-set.ts";
import { identify, type FieldManager, readFieldManagers, writeFieldManagers } from "./field-managers.ts";

/** Returns the path of `replicas` in a version; `null` when the version has none, `undefined` for unknown versions. */
export type ReplicasPath = (apiVersion: string) => ElementPath | null | undefined;

type Entries = readonly ManagedFieldsEntry[];

const scaleVersion = "autoscaling/v1";
const pathInScale: ElementPath = ["f:spec", "f:replicas"];
const replicasInScale = fieldSetOf([pathInScale]);

/** Returns the managedFields of a scale: the managers that own the number. */
export function scaleManagedFields(parent: Entries | undefined, replicasPath: ReplicasPath): Entries | undefined {
  const managers = managersOf(parent).filter((fieldManager) => ownsReplicas(fieldManager, replicasPath));
  const shown = managers.map((fieldManager) => moveFieldManager(fieldManager, scaleVersion, replicasInScale));
  return writeFieldManagers(shown, undefined);
}

/**
 * Returns the managedFields of the object after its scale was written with `scale`. `apiVersion` is that of the
 * request. Entries of unknown versions are dropped.
 */
export function parentManagedFields(
  parent: Entries | undefined,
  scale: Entries | undefined,
  replicasPath: ReplicasPath,
  apiVersion: string,
): Entries | undefined {
  const unmatched = new Map(managersOf(scale).map((fieldManager) => [fieldManager.id, fieldManager]));
  const managers: FieldManager[] = [];
  for (const fieldManager of managersOf(parent)) {
    const path = replicasPath(fieldManager.apiVersion);
    if (path === undefined) continue;
    if (path === null || !hasPath(fieldManager.set, path) || unmatched.delete(fieldManager.id)) {
      managers.push(fieldManager);
      continue;
    }
    const set = difference(fieldManager.set, fieldSetOf([path]));
    if (!isEmptySet(set)) managers.push({ ...fieldManager, set, entry: undefined });
  }
  const path = replicasPath(apiVersion);
  if (path === null || path === undefined) return writeFieldManagers(managers, parent);
  const replicas = fieldSetOf([path]);
  for (const fieldManager of unmatched.values()) {
    // Upstream: entries that come from a scale have no time.
    if (hasPath(fieldManager.set, pathInScale))
      managers.push({ ...moveFieldManager(fieldManager, apiVersion, replicas), time: "" });
  }
  return writeFieldManagers(managers, parent);
}

/** Parses entries; unreadable ones are dropped. */
const managersOf = (entries: Entries | undefined): readonly FieldManager[] =>
  entries === undefined ? [] : (readFieldManagers(entries) ?? []);

function ownsReplicas(fieldManager: FieldManager, replicasPath: ReplicasPath): boolean {
  const path = replicasPath(fieldManager.apiVersion);
  return path !== undefined && path !== null && hasPath(fieldManager.set, path);
}

function moveFieldManager(fieldManager: FieldManager, apiVersion: string, set: FieldManager["set"]): FieldManager {
  const id = identify(fieldManager.manager, fieldManager.isApplier, apiVersion, fieldManager.subresource);
  return { ...fieldManager, id, apiVersion, set, entry: undefined };
}
