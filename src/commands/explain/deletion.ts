/** The reasons for which an object that is being deleted is still there, in words. */
import { type ApiDomain, apiDomain } from "#meta/api-domain.ts";
import { FieldOwners } from "#meta/field-owners.ts";
import { humanDuration } from "#meta/human-duration.ts";
import type { ObjectMeta } from "#meta/object-meta.ts";
import { namespaceWords, objectWords, shellWord } from "#meta/printed-command.ts";
import type { DiscoveredResource } from "../discovery.ts";
import type { OpenCluster } from "../open-cluster.ts";

/** Explanations of finalizers that servers and controllers of Kubernetes set, by their names there. */
const meanings: Readonly<Record<string, string>> = {
  orphan: "waits until the garbage collector has made the objects that it owns ownerless",
  "kubernetes.io/pvc-protection": "waits until no pod uses the claim",
  "kubernetes.io/pv-protection": "waits until no claim is bound to the volume",
  "external-provisioner.volume.kubernetes.io/finalizer": "waits until the provisioner has deleted the storage",
  "resource.kubernetes.io/delete-protection": "waits until no pod uses the devices of the claim",
  "service.kubernetes.io/load-balancer-cleanup": "waits until the cloud controller has removed the load balancer",
  "customresourcecleanup.apiextensions.k8s.io": "waits until the objects of the kind are deleted",
  "batch.kubernetes.io/job-tracking": "waits until the job has counted the pod",
};

/** Explains deletions in a cluster, whose API domain is part of the names of finalizers. */
export class Deletions {
  readonly #known: ReadonlyMap<string, string>;

  constructor(domain: ApiDomain) {
    this.#known = new Map(Object.entries(meanings).map(([name, meaning]) => [domain.rename(name), meaning]));
  }

  static async in(cluster: OpenCluster): Promise<Deletions> {
    const group = await cluster.groupOf("authentication");
    return new Deletions(apiDomain(group.slice(group.indexOf(".") + 1)));
  }

  /**
   * Explains why an object still exists; empty for one that nobody deletes. `blocking` are the objects that a foreground
   * deletion waits for.
   */
  notes(metadata: ObjectMeta, blocking: readonly string[], nowMs: number): readonly string[] {
    const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = metadata;
    if (deletionTimestamp === undefined) return [];
    const sinceMs = nowMs - (Date.parse(deletionTimestamp) - Number(deletionGracePeriodSeconds) * 1000);
    const notes = [`is being deleted for ${humanDuration(sinceMs)}`];
    const set = FieldOwners.of(metadata.managedFields ?? [])
      .member("metadata")
      .member("finalizers");
    for (const [at, finalizer] of finalizers.entries()) {
      const by = [...new Set(set.item(finalizer, at).managers.map(({ manager = "unknown" }) => manager))];
      notes.push(this.#note(finalizer, by, blocking));
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
  strangeFinalizers({ deletionTimestamp, finalizers = [] }: ObjectMeta): readonly string[] {
    return deletionTimestamp === undefined ? [] : finalizers.filter((one) => this.#isStrange(one));
  }

  #isStrange(finalizer: string): boolean {
    return finalizer !== "foregroundDeletion" && !this.#known.has(finalizer);
  }

  /**
   * Returns the command that removes the strange finalizers of an object by hand, and no others. It does nothing where the
   * finalizers have changed in the meantime.
   */
  removalCommand(
    { resource, group }: DiscoveredResource,
    { name = "", namespace, finalizers = [] }: ObjectMeta,
  ): string {
    const kind = `${resource}${group === "" ? "" : `.${group}`}`;
    // The last goes first, so that the places of the others stay.
    const patch = [...finalizers.entries()].reverse().flatMap(([at, finalizer]) => {
      const path = `/metadata/finalizers/${at}`;
      return this.#isStrange(finalizer)
        ? [
            { op: "test", path, value: finalizer },
            { op: "remove", path },
          ]
        : [];
    });
    return `kubectl patch ${objectWords(kind, name)}${namespaceWords(namespace)} --type=json -p ${shellWord(JSON.stringify(patch))}`;
  }

  #note(finalizer: string, setBy: readonly string[], blocking: readonly string[]): string {
    if (finalizer === "foregroundDeletion") {
      if (blocking.length === 0)
        return "waits until what it owns is gone (foregroundDeletion), and nothing is seen that blocks it";
      return `waits until what it owns is gone (foregroundDeletion): ${blocking.join(", ")}`;
    }
    const text = this.#known.get(finalizer);
    return text === undefined
      ? `waits for whoever removes the finalizer ${finalizer}${setBy.length === 0 ? "" : ` (set by ${setBy.join(", ")})`}`
      : `${text} (finalizer ${finalizer})`;
  }
}
