/** The informers of a run: one for each kind and namespace, whoever follows it. */
import type { ApiObject } from "#meta/object-meta.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import type { Cluster } from "../cluster.ts";
import type { Informer } from "../informer.ts";
import type { Kind } from "../kind.ts";
import { controllerOf } from "../owner.ts";

/** The index of objects by the `uid` of their controller. */
const byController = "controller";

export class InformerSet {
  readonly #cluster: Cluster;
  readonly #failed: (error: unknown) => void;
  readonly #informers = new Map<string, Informer<ApiObject>>();

  constructor(cluster: Cluster, failed: (error: unknown) => void) {
    this.#cluster = cluster;
    this.#failed = failed;
  }

  /** Returns the informer of a kind, in a namespace or in all; it is started for the first who asks. */
  open(kind: Kind, namespace: string | undefined): Informer<ApiObject> {
    const key = keyOf(kind, namespace);
    const present = this.#informers.get(key);
    if (present !== undefined) return present;
    const informer = this.#cluster.informer(kind, {
      in: namespace,
      index: {
        [byController]: (object) => {
          const uid = controllerOf(object)?.uid;
          return uid === undefined ? [] : [uid];
        },
      },
      failed: this.#failed,
    });
    this.#informers.set(key, informer);
    return informer;
  }

  /** Returns the informer of a kind if there is one, for this namespace or for all. */
  find(kind: Kind, namespace: string | undefined): Informer<ApiObject> | undefined {
    return this.#informers.get(keyOf(kind, undefined)) ?? this.#informers.get(keyOf(kind, namespace));
  }

  /** Resolves when all informers have all objects; rejects when they are closed before. */
  async synced(): Promise<void> {
    await Promise.all([...this.#informers.values()].map((informer) => informer.synced));
  }

  /** Returns the objects of an informer that an object controls. */
  owned(informer: Informer<ApiObject>, { metadata: { uid = "" } }: ApiObject): ApiObject[] {
    return informer.by(byController, uid);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#informers.values()].map((informer) => informer.close()));
  }
}

const keyOf = (kind: Kind, namespace: string | undefined): string =>
  `${apiVersionOf(kind)}/${kind.resource} ${namespace ?? ""}`;
