/** Keeps the node graph in step with stored pods, volumes, attachments and slices. */
import type { PersistentVolume, Pod } from "#api/core/v1.ts";
import { NodeGraph, type OfNode } from "#authz/node-graph.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import type { StoreInformers } from "#registry/store-informers.ts";

type Followed = "persistentvolumes" | "pods" | "resourceslices" | "volumeattachments";
const groups: Readonly<Record<Followed, string>> = {
  persistentvolumes: "",
  pods: "",
  resourceslices: "resource.k8s.io",
  volumeattachments: "storage.k8s.io",
};

export class NodeFollower {
  readonly graph: NodeGraph;
  readonly #domain: ApiDomain;
  readonly #informers: StoreInformers;
  readonly #needed: boolean;

  /** `needed`: whether the graph is used. */
  constructor(domain: ApiDomain, informers: StoreInformers, needed: boolean) {
    this.#domain = domain;
    this.#informers = informers;
    this.#needed = needed;
    this.graph = new NodeGraph(domain.rename("kubernetes.io/config.mirror"));
  }

  /** Definitions whose writes are acknowledged only when the graph has them, so that a node loses its rights before. */
  readonly waiting = (definition: ResourceDefinition): ResourceDefinition =>
    this.#followed(definition) === undefined ? definition : this.#informers.waiting(definition);

  /** Reads the current objects and follows them. */
  async start(table: ResourceTable): Promise<void> {
    await Promise.all(
      table.definitions.map((definition) => {
        const resource = this.#followed(definition);
        if (resource === undefined) return Promise.resolve();
        return this.#informers.follow(definition, {
          cleared: () => this.graph.clear(resource),
          changed: (namespace, name, object) => this.#changed(resource, namespace, name, object),
        });
      }),
    );
  }

  #followed({ group, resource }: ResourceDefinition): Followed | undefined {
    if (!this.#needed || !Object.hasOwn(groups, resource)) return undefined;
    const name = resource as Followed; // it is one of the keys
    return this.#domain.rename(groups[name]) === group ? name : undefined;
  }

  #changed(resource: Followed, namespace: string, name: string, object: ApiObject | undefined): void {
    const { graph } = this;
    // By their schemas.
    if (resource === "pods") graph.setPod(namespace, name, object as Pod | undefined);
    else if (resource === "persistentvolumes") graph.setVolume(name, object as PersistentVolume | undefined);
    else graph.setOwned(resource, name, object as OfNode | undefined);
  }
}
