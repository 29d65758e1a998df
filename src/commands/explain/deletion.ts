/** The reasons for which an object that is being deleted is still there, in words. */
import { FieldOwners } from "#meta/field-owners.ts";
import { humanDuration } from "#meta/human-duration.ts";
import type { ObjectMeta } from "#meta/object-meta.ts";
import { namespaceWords, objectWords, shellWord } from "#meta/printed-command.ts";
import type { DiscoveredResource } from "../discovery.ts";

/** Explanations of finalizers that servers and controllers of Kubernetes set, by the end of their names. */
const known: Readonly<Record<string, string>> = {
  orphan: "waits until the garbage collector has made the objects that it owns ownerless",
  "pvc-protection": "waits until no pod uses the claim",
  "pv-protection": "waits until no claim is bound to the volume",
  "load-balancer-cleanup": "waits until the cloud controller has removed the load balancer",
  "customresourcecleanup.apiextensions": "waits until the objects of the kind are deleted",
  "job-tracking": "waits until the job has counted the pod",
};

/**
 * Explains why an object still exists; empty for one that nobody deletes. `blocking` are the objects that a foreground
 * deletion waits for.
 */
export function deletionNotes(metadata: ObjectMeta, blocking: readonly string[], nowMs: number): readonly string[] {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = metadata;
  if (deletionTimestamp === undefined) return [];
  const sinceMs = nowMs - (Date.parse(deletionTimestamp) - Number(deletionGracePeriodSeconds) * 1000);
  const notes = [`is being deleted for ${humanDuration(sinceMs)}`];
  const set = FieldOwners.of(metadata.managedFields ?? [])
    .member("metadata")
    .member("finalizers");
  for (const [at, finalizer] of finalizers.entries()) {
    const by = [...new Set(set.item(finalizer, at).managers.map(({ manager = "unknown" }) => manager))];
    notes.push(finalizerNote(finalizer, by, blocking));
  }
  if (finalizers.length === 0 && Number(deletionGracePeriodSeconds) > 0) {
    const leftMs = Date.parse(deletionTimestamp) - nowMs;
    notes.push(
      leftMs > 0
        ? `has ${humanDuration(leftMs)} left to end`
        : "has no finalizer: its node, or who else ends it, has not said that it ended",
    );
  }
  return notes;
}

/** Returns the finalizers that nobody is known to remove by itself. */
export const strangeFinalizers = ({ deletionTimestamp, finalizers = [] }: ObjectMeta): readonly string[] =>
  deletionTimestamp === undefined ? [] : finalizers.filter(isStrange);

const isStrange = (finalizer: string): boolean =>
  finalizer !== "foregroundDeletion" && meaningOf(finalizer) === undefined;

/**
 * Returns the command that removes the strange finalizers of an object by hand, and no others. It does nothing where the
 * finalizers have changed in the meantime.
 */
export function removalCommand(
  { resource, group }: DiscoveredResource,
  { name = "", namespace, finalizers = [] }: ObjectMeta,
): string {
  const kind = `${resource}${group === "" ? "" : `.${group}`}`;
  // The last goes first, so that the places of the others stay.
  const patch = [...finalizers.entries()].reverse().flatMap(([at, finalizer]) => {
    const path = `/metadata/finalizers/${at}`;
    return isStrange(finalizer)
      ? [
          { op: "test", path, value: finalizer },
          { op: "remove", path },
        ]
      : [];
  });
  return `kubectl patch ${objectWords(kind, name)}${namespaceWords(namespace)} --type=json -p ${shellWord(JSON.stringify(patch))}`;
}

/** Returns what a finalizer of Kubernetes waits for; `undefined` for one of somebody else. */
function meaningOf(finalizer: string): string | undefined {
  const name = finalizer.slice(finalizer.lastIndexOf("/") + 1);
  return Object.entries(known).find(([end]) => name === end || name.startsWith(`${end}.`))?.[1];
}

function finalizerNote(finalizer: string, setBy: readonly string[], blocking: readonly string[]): string {
  if (finalizer === "foregroundDeletion") {
    if (blocking.length === 0)
      return "waits until what it owns is gone (foregroundDeletion), and nothing is seen that blocks it";
    return `waits until what it owns is gone (foregroundDeletion): ${blocking.join(", ")}`;
  }
  const text = meaningOf(finalizer);
  return text === undefined
    ? `waits for whoever removes the finalizer ${finalizer}${setBy.length === 0 ? "" : ` (set by ${setBy.join(", ")})`}`
    : `${text} (finalizer ${finalizer})`;
}
