/**
 * Tells which objects belong to a node: those that its pods name, the volumes of their claims, the secrets of those
 * volumes, and the node's own attachments and slices. Source: upstream's `plugin/pkg/auth/authorizer/node/graph.go`.
 *
 * The graph is kept as counts, so that a decision needs one or two look-ups. Example: two pods on node `n` use
 * secret `s`; one uses claim `c`, which is bound to volume `v`, whose driver needs secret `w`:
 *
 *     uses     secrets/ns/s -> { n: 2 }    claims/ns/c -> { n: 1 }
 *     claims   v -> claims/ns/c            mounts   secrets/ns/w -> { v }
 *
 * The node may read `s` (in `uses`), `v` (its claim is in `uses`) and `w` (mounted by `v`).
 */
import type { PersistentVolume, Pod } from "#api/core/v1.ts";
import type { ResourceSlice } from "#api/resource/v1beta1.ts";
import type { VolumeAttachment } from "#api/storage/v1.ts";
import { podReferences, volumeSecrets } from "./pod-references.ts";

/** The kinds that pods name. */
type Used = "configmaps" | "persistentvolumeclaims" | "pods" | "resourceclaims" | "secrets" | "serviceaccounts";

/** Resources whose objects belong to nodes. */
export type Related = Used | "persistentvolumes" | "resourceslices" | "volumeattachments";

/** The objects that name their node. */
export type OfNode = ResourceSlice | VolumeAttachment;

interface NodePod {
  readonly node: string;
  readonly uses: readonly string[];
}

interface NodeVolume {
  readonly claim: string;
  readonly secrets: readonly string[];
}

const objectKey = (kind: Used, namespace: string, name: string): string => `${kind}/${namespace}/${name}`;

export class NodeGraph {
  readonly #mirror: string;
  readonly #pods = new Map<string, NodePod>();
  /** The nodes that use each object, with the number of their pods that do. */
  readonly #uses = new Map<string, Map<string, number>>();
  readonly #volumes = new Map<string, NodeVolume>();
  /** The volumes that need each secret. */
  readonly #mounts = new Map<string, Set<string>>();
  readonly #owned = { resourceslices: new Map<string, string>(), volumeattachments: new Map<string, string>() };

  /** `mirror` is the annotation of pods that nodes make themselves. */
  constructor(mirror: string) {
    this.#mirror = mirror;
  }

  /** Removes all objects of a resource; the current ones follow. */
  clear(resource: "persistentvolumes" | "pods" | "resourceslices" | "volumeattachments"): void {
    if (resource === "pods") {
      this.#pods.clear();
      this.#uses.clear();
    } else if (resource === "persistentvolumes") {
      this.#volumes.clear();
      this.#mounts.clear();
    } else this.#owned[resource].clear();
  }

  /** Updates a pod; `undefined` when it is deleted. Called again for the same pod only with a later state. */
  setPod(namespace: string, name: string, pod: Pod | undefined): void {
    const key = objectKey("pods", namespace, name);
    const before = this.#pods.get(key);
    const node = pod?.spec.nodeName ?? "";
    const after =
      pod === undefined || node === "" ? undefined : { node, uses: [key, ...this.#namesUsedBy(namespace, pod)] };
    for (const used of after?.uses ?? []) this.#count(used, node, 1);
    for (const used of before?.uses ?? []) this.#count(used, before!.node, -1);
    if (after === undefined) this.#pods.delete(key);
    else this.#pods.set(key, after);
  }

  setVolume(name: string, volume: PersistentVolume | undefined): void {
    for (const secret of this.#volumes.get(name)?.secrets ?? []) {
      const mounting = this.#mounts.get(secret);
      mounting?.delete(name);
      if (mounting?.size === 0) this.#mounts.delete(secret);
    }
    this.#volumes.delete(name);
    const claim = volume?.spec.claimRef;
    if (volume === undefined || claim === undefined) return;
    const secrets = volumeSecrets(volume).map((secret) => objectKey("secrets", secret.namespace, secret.name));
    for (const secret of secrets) {
      const mounting = this.#mounts.get(secret) ?? new Set();
      this.#mounts.set(secret, mounting.add(name));
    }
    const key = objectKey("persistentvolumeclaims", claim.namespace ?? "", claim.name ?? "");
    this.#volumes.set(name, { claim: key, secrets });
  }

  /** Sets an object that names its node in `spec.nodeName`; `undefined` when it is deleted. */
  setOwned(resource: "resourceslices" | "volumeattachments", name: string, object: OfNode | undefined): void {
    const node = object?.spec.nodeName ?? "";
    if (node === "") this.#owned[resource].delete(name);
    else this.#owned[resource].set(name, node);
  }

  /** Whether the object belongs to the node. */
  relates(node: string, resource: Related, namespace: string, name: string): boolean {
    switch (resource) {
      case "persistentvolumes":
        return this.#mountedAt(node, name);
      case "resourceslices":
      case "volumeattachments":
        return this.#owned[resource].get(name) === node;
      default: {
        const key = objectKey(resource, namespace, name);
        if (this.#usedAt(node, key)) return true;
        if (resource !== "secrets") return false;
        for (const volume of this.#mounts.get(key) ?? []) if (this.#mountedAt(node, volume)) return true;
        return false;
      }
    }
  }

  #usedAt(node: string, key: string): boolean {
    return this.#uses.get(key)?.has(node) === true;
  }

  #mountedAt(node: string, volume: string): boolean {
    const claim = this.#volumes.get(volume)?.claim;
    return claim !== undefined && this.#usedAt(node, claim);
  }

  /** Returns the objects that a pod names. A mirror pod, which a node made itself, gives the node no rights. */
  #namesUsedBy(namespace: string, pod: Pod): readonly string[] {
    if (pod.metadata.annotations?.[this.#mirror] !== undefined) return [];
    const account = pod.spec.serviceAccountName ?? "";
    const { secrets, configMaps, claims, resourceClaims } = podReferences(pod);
    return [
      ...(account === "" ? [] : [objectKey("serviceaccounts", namespace, account)]),
      ...[...secrets].map((name) => objectKey("secrets", namespace, name)),
      ...[...configMaps].map((name) => objectKey("configmaps", namespace, name)),
      ...[...claims].map((name) => objectKey("persistentvolumeclaims", namespace, name)),
      ...[...resourceClaims].map((name) => objectKey("resourceclaims", namespace, name)),
    ];
  }

  #count(key: string, node: string, by: number): void {
    const nodes = this.#uses.get(key) ?? new Map<string, number>();
    const count = (nodes.get(node) ?? 0) + by;
    if (count === 0) nodes.delete(node);
    else nodes.set(node, count);
    if (nodes.size === 0) this.#uses.delete(key);
    else this.#uses.set(key, nodes);
  }
}
