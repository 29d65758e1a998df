/** The RBAC index of the store's roles and bindings, current when a write is acknowledged. */
import type { Role, RoleBinding } from "#api/rbac/v1.ts";
import { RbacIndex } from "#authz/rbac-index.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { objectHandlers, StoreInformer, waitForSync } from "#registry/informer.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import type { Stores } from "#registry/stores.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import type { WatchCache } from "#storage/watch-cache.ts";

export interface RbacFollowerOptions {
  readonly domain: ApiDomain;
  readonly cache: WatchCache;
  readonly clock: Clock;
  readonly log: Log;
}

const resources = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"];

export class RbacFollower {
  readonly index: RbacIndex;
  readonly #options: RbacFollowerOptions;
  readonly #informers = new Map<string, StoreInformer>();

  constructor(options: RbacFollowerOptions) {
    this.#options = options;
    this.index = new RbacIndex(options.domain.rename("rbac.authorization.k8s.io"));
  }

  /** Definitions of roles and bindings whose writes are acknowledged only when the index has them. */
  readonly waiting = (definition: ResourceDefinition): ResourceDefinition => {
    const { group, resource } = definition;
    if (group !== this.index.group || !resources.includes(resource)) return definition;
    return waitForSync(definition, () => this.#informers.get(resource));
  };

  /** Reads the current objects and follows them. */
  async start(table: ResourceTable, stores: Stores): Promise<void> {
    const { cache, clock, log } = this.#options;
    const { index } = this;
    const definitions = table.definitions.filter(
      ({ group, resource }) => group === index.group && resources.includes(resource),
    );
    await Promise.all(
      definitions.map((definition) => {
        const what = definition.resource.endsWith("roles") ? "roles" : "bindings";
        const store = stores.of(definition);
        const handlers = objectHandlers(store, log, {
          cleared: () => index.clear(what, definition.namespaced),
          changed(namespace, name, object) {
            // By their schemas.
            if (what === "roles") index.setRole(namespace, name, object as Role | undefined);
            else index.setBinding(namespace, name, object as RoleBinding | undefined);
          },
        });
        const informer = new StoreInformer({ cache, prefix: store.prefix, clock, log, ...handlers });
        this.#informers.set(definition.resource, informer);
        return informer.start();
      }),
    );
  }

  /** Whether all that decides about requests is in step with the store. */
  get isSynced(): boolean {
    return this.#informers.values().every(({ synced }) => synced);
  }

  close(): void {
    for (const informer of this.#informers.values()) informer.close();
  }
}
