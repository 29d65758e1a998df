/**
 * Maps ownership of `replicas` between an object and its `scale` subresource, where the field has another path and
 * version. Splits an updater's entry on every scale write, as upstream does. Source: upstream's `util/managedfields`,
 * `ScaleHandler`.
 */
import type { ManagedFieldsEntry } from "#meta/object-meta.ts";
import { difference, type ElementPath, fieldSetOf, hasPath, isEmptySet } from "./field-set.ts";
import { identify, type FieldManager, readFieldManagers, writeFieldManagers } from "./field-managers.ts";

/** The path of `replicas` in a version; `null` when the version has none, `undefined` for unknown versions. */
export type ReplicasPath = (apiVersion: string) => ElementPath | null | undefined;

type Entries = readonly ManagedFieldsEntry[];

const scaleVersion = "autoscaling/v1";
const pathInScale: ElementPath = ["f:spec", "f:replicas"];
const replicasInScale = fieldSetOf([pathInScale]);

/** The managedFields of a scale: those who own the number. */
export function scaleOwners(parent: Entries | undefined, replicasPath: ReplicasPath): Entries | undefined {
  const owners = ownersOf(parent).filter((owner) => ownsReplicas(owner, replicasPath));
  const shown = owners.map((owner) => moved(owner, scaleVersion, replicasInScale));
  return writeFieldManagers(shown, undefined);
}

/**
 * The managedFields of the object after its scale was written with `scale`. `apiVersion` is that of the request.
 * Entries of unknown versions are dropped.
 */
export function parentOwners(
  parent: Entries | undefined,
  scale: Entries | undefined,
  replicasPath: ReplicasPath,
  apiVersion: string,
): Entries | undefined {
  const left = new Map(ownersOf(scale).map((owner) => [owner.id, owner]));
  const owners: FieldManager[] = [];
  for (const owner of ownersOf(parent)) {
    const path = replicasPath(owner.apiVersion);
    if (path === undefined) continue;
    if (path === null || !hasPath(owner.set, path) || left.delete(owner.id)) {
      owners.push(owner);
      continue;
    }
    const set = difference(owner.set, fieldSetOf([path]));
    if (!isEmptySet(set)) owners.push({ ...owner, set, entry: undefined });
  }
  const path = replicasPath(apiVersion);
  if (path === null || path === undefined) return writeFieldManagers(owners, parent);
  const replicas = fieldSetOf([path]);
  for (const owner of left.values()) {
    // Upstream: entries that come from a scale have no time.
    if (hasPath(owner.set, pathInScale)) owners.push({ ...moved(owner, apiVersion, replicas), time: "" });
  }
  return writeFieldManagers(owners, parent);
}

/** Unreadable entries are dropped. */
const ownersOf = (entries: Entries | undefined): readonly FieldManager[] =>
  entries === undefined ? [] : (readFieldManagers(entries) ?? []);

function ownsReplicas(owner: FieldManager, replicasPath: ReplicasPath): boolean {
  const path = replicasPath(owner.apiVersion);
  return path !== undefined && path !== null && hasPath(owner.set, path);
}

function moved(owner: FieldManager, apiVersion: string, set: FieldManager["set"]): FieldManager {
  const id = identify(owner.manager, owner.isApplier, apiVersion, owner.subresource);
  return { ...owner, id, apiVersion, set, entry: undefined };
}
