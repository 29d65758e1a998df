/**
 * The expected number of pods of a budget: the sum of the replicas of their controllers, which are read live. Custom
 * controllers are read by their `scale`.
 */
import type { ScaleSpec } from "#api/autoscaling/v1.ts";
import type { Pod } from "#api/core/v1.ts";
import type { PodDisruptionBudget } from "#api/policy/v1.ts";
import { controllerOf } from "#client/owner.ts";
import { ignoreNotFound, type RestClient } from "#client/rest-client.ts";
import { goQuote } from "#meta/field-error.ts";
import { apiPathOf, type GroupVersionResource, qualifiedResource } from "#meta/group-version.ts";
import type { ApiObject, OwnerReference } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import { objectPath } from "../paths.ts";
import type { Counts } from "./status.ts";

/** The information about served kinds that the controller needs. */
export interface ScaledKinds {
  /** Returns the resource of a kind, and whether its objects have namespaces; `undefined` when none is served. */
  resourceOf(apiVersion: string, kind: string): (GroupVersionResource & { readonly namespaced: boolean }) | undefined;
}

/** An object with a number of pods: the kinds of the apps group, and Scale. */
interface Scaled extends ApiObject {
  readonly spec?: ScaleSpec;
}

interface Expected {
  readonly count: number;
  /** Pods without a controller. */
  readonly unmanaged: readonly Pod[];
}

/** The counts of a budget, and the pods that could not be counted if the number of all is needed. */
export interface ExpectedCounts extends Counts {
  readonly unmanaged: readonly Pod[];
}

export class ExpectedPods {
  readonly #client: RestClient;
  readonly #kinds: ScaledKinds;

  constructor(client: RestClient, kinds: ScaledKinds) {
    this.#client = client;
    this.#kinds = kinds;
  }

  /** Returns the counts of `pods`, which the budget selects. Rejects when a controller cannot be found or read. */
  async of({ spec }: PodDisruptionBudget, pods: readonly Pod[]): Promise<ExpectedCounts> {
    const { minAvailable, maxUnavailable } = spec;
    if (maxUnavailable !== undefined) {
      const { count, unmanaged } = await this.#countExpected(pods);
      const desiredHealthy = Math.max(0, count - numberOf(maxUnavailable, count));
      return { expectedPods: count, desiredHealthy, unmanaged };
    }
    if (minAvailable === undefined) return { expectedPods: 0, desiredHealthy: 0, unmanaged: [] };
    if (typeof minAvailable === "number") {
      return { expectedPods: pods.length, desiredHealthy: minAvailable, unmanaged: [] };
    }
    const { count, unmanaged } = await this.#countExpected(pods);
    return { expectedPods: count, desiredHealthy: numberOf(minAvailable, count), unmanaged };
  }

  async #countExpected(pods: readonly Pod[]): Promise<Expected> {
    /** The number of pods of each controller, by its uid. */
    const scales = new Map<string, number>();
    const asked = new Set<string>();
    const unmanaged: Pod[] = [];
    for (const pod of pods) {
      const controller = controllerOf(pod);
      if (controller === undefined) unmanaged.push(pod);
      else if (!asked.has(controller.uid)) {
        asked.add(controller.uid);
        const { uid, replicas } = await this.#scaleOf(pod, controller);
        scales.set(uid, replicas);
      }
    }
    return { count: [...scales.values()].reduce((sum, replicas) => sum + replicas, 0), unmanaged };
  }

  /** Finds the scale of a pod's controller, or of the Deployment that controls it. */
  async #scaleOf(pod: Pod, controller: OwnerReference): Promise<{ readonly uid: string; readonly replicas: number }> {
    const { namespace = "", name = "" } = pod.metadata;
    const isReplicaSet = controller.kind === "ReplicaSet" && controller.apiVersion === "apps/v1";
    const scaled = isReplicaSet
      ? await this.#ofReplicaSet(namespace, controller)
      : await this.#ofScale(namespace, controller);
    if (scaled === undefined) throw new Error(`found no controllers for pod ${goQuote(name)}`);
    return scaled;
  }

  async #ofReplicaSet(
    namespace: string,
    reference: OwnerReference,
  ): Promise<{ readonly uid: string; readonly replicas: number } | undefined> {
    const path = objectPath("/apis/apps/v1/replicasets", { namespace, name: reference.name });
    const set = await ignoreNotFound(this.#client.get<Scaled>(path));
    if (set === undefined || set.metadata.uid !== reference.uid) return undefined;
    const owner = controllerOf(set);
    const deployment = owner?.kind === "Deployment" ? await this.#ofScale(namespace, owner) : undefined;
    return deployment ?? { uid: reference.uid, replicas: set.spec?.replicas ?? 1 };
  }

  async #ofScale(
    namespace: string,
    { apiVersion, kind, name, uid }: OwnerReference,
  ): Promise<{ readonly uid: string; readonly replicas: number } | undefined> {
    const resource = this.#kinds.resourceOf(apiVersion, kind);
    if (resource === undefined)
      throw new Error(`no matches for kind ${goQuote(kind)} in version ${goQuote(apiVersion)}`);
    const collection = `${apiPathOf(resource)}/${resource.resource}`;
    const path = `${objectPath(collection, resource.namespaced ? { namespace, name } : { name })}/scale`;
    let scale: Scaled;
    try {
      scale = await this.#client.get<Scaled>(path);
    } catch (error) {
      if (!(error instanceof StatusError) || error.status.code !== 404) throw error;
      // An answer about a missing object names it, one about a missing subresource does not.
      if (error.status.details?.name === name) return undefined;
      throw new Error(`${qualifiedResource(resource)} does not implement the scale subresource`);
    }
    return scale.metadata.uid === uid ? { uid, replicas: scale.spec?.replicas ?? 0 } : undefined;
  }
}

/** Returns a number, or a share of `total`, rounded up. */
const numberOf = (value: number | string, total: number): number =>
  typeof value === "number" ? value : Math.ceil((Number(value.replace("%", "")) * total) / 100);
