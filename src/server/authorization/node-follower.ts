/** Keeps the node graph in step with stored pods, volumes, attachments and slices. */
import type { PersistentVolume, Pod } from "#api/core/v1.ts";
import { NodeGraph, type OfNode } from "#authz/node-graph.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { objectHandlers, StoreInformer, waitForSync } from "#registry/informer.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import type { Stores } from "#registry/stores.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import type { WatchCache } from "#storage/watch-cache.ts";

export interface NodeFollowerOptions {
  readonly domain: ApiDomain;
  readonly cache: WatchCache;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the graph is used. */
  readonly needed: boolean;
}

type Followed = "persistentvolumes" | "pods" | "resourceslices" | "volumeattachments";
const groups: Readonly<Record<Followed, string>> = {
  persistentvolumes: "",
  pods: "",
  resourceslices: "resource.k8s.io",
  volumeattachments: "storage.k8s.io",
};

export class NodeFollower {
  readonly graph: NodeGraph;
  readonly #options: NodeFollowerOptions;
  readonly #informers = new Map<Followed, StoreInformer>();

  constructor(options: NodeFollowerOptions) {
    this.#options = options;
    this.graph = new NodeGraph(options.domain.rename("kubernetes.io/config.mirror"));
  }

  /** Definitions whose writes are acknowledged only when the graph has them, so that a node loses its rights before. */
  readonly waiting = (definition: ResourceDefinition): ResourceDefinition => {
    const followed = this.#followed(definition);
    return followed === undefined ? definition : waitForSync(definition, () => this.#informers.get(followed));
  };

  /** Reads the current objects and follows them. */
  async start(table: ResourceTable, stores: Stores): Promise<void> {
    const { cache, clock, log } = this.#options;
    const starts: Promise<void>[] = [];
    for (const definition of table.definitions) {
      const resource = this.#followed(definition);
      if (resource === undefined || this.#informers.has(resource)) continue;
      const store = stores.of(definition);
      const handlers = objectHandlers(store, log, {
        cleared: () => this.graph.clear(resource),
        changed: (namespace, name, object) => this.#changed(resource, namespace, name, object),
      });
      const informer = new StoreInformer({ cache, prefix: store.prefix, clock, log, ...handlers });
      this.#informers.set(resource, informer);
      starts.push(informer.start());
    }
    await Promise.all(starts);
  }

  /** Whether all that decides about requests is in step with the store. */
  get isSynced(): boolean {
    return this.#informers.values().every(({ synced }) => synced);
  }

  close(): void {
    for (const informer of this.#informers.values()) informer.close();
  }

  #followed({ group, resource }: ResourceDefinition): Followed | undefined {
    const { needed, domain } = this.#options;
    if (!needed || !Object.hasOwn(groups, resource)) return undefined;
    const name = resource as Followed; // it is one of the keys
    return domain.rename(groups[name]) === group ? name : undefined;
  }

  #changed(resource: Followed, namespace: string, name: string, object: ApiObject | undefined): void {
    const { graph } = this;
    // By their schemas.
    if (resource === "pods") graph.setPod(namespace, name, object as Pod | undefined);
    else if (resource === "persistentvolumes") graph.setVolume(name, object as PersistentVolume | undefined);
    else graph.setOwned(resource, name, object as OfNode | undefined);
  }
}
