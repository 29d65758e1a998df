/**
 * A cache of owners that are known not to exist, so that not every dependent needs a read. UIDs are never reused, so an
 * absent owner stays absent. Source: the idea of upstream's cache of absent owners.
 */
import type { OwnerReference } from "#meta/object-meta.ts";
import { groupOf } from "./graph.ts";

export type OwnerClaim = Pick<OwnerReference, "apiVersion" | "kind" | "name" | "uid">;

const ownersMax = 4096;

export class AbsentOwners {
  readonly #keys = new Set<string>();

  /** Records that there is no such object in this namespace, or in the cluster when it is empty. */
  add(owner: OwnerClaim, namespace: string): void {
    const key = keyOf(owner, namespace);
    this.#keys.delete(key);
    this.#keys.add(key);
    if (this.#keys.size <= ownersMax) return;
    for (const oldest of this.#keys) {
      this.#keys.delete(oldest);
      return;
    }
  }

  /** Whether the owner is known to be absent for dependents in this namespace. */
  has(owner: OwnerClaim, namespace: string): boolean {
    return this.#keys.has(keyOf(owner, namespace)) || (namespace !== "" && this.#keys.has(keyOf(owner, "")));
  }
}

const keyOf = ({ apiVersion, kind, name, uid }: OwnerClaim, namespace: string): string =>
  [uid, groupOf(apiVersion), kind, namespace, name].join(" ");
