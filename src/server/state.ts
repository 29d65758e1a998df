/**
 * The state of a server: its stores, and the in-memory views that decide about requests. The first phase of
 * `assemble.ts`; nothing has been read and no request is served yet.
 */
import { ResourceTable } from "#registry/resource-table.ts";
import { StoredObjects } from "#registry/stored-object.ts";
import { Stores } from "#registry/stores.ts";
import type { AssembleConfig } from "./assemble-config.ts";
import { NodeFollower } from "./authorization/node-follower.ts";
import { RbacFollower } from "./authorization/rbac.ts";
import { Fairness } from "./flow-control.ts";
import { type Lookups, storeFinder, storeLookups } from "./lookups.ts";
import { ServiceFollower } from "./services.ts";

export interface ServerState {
  readonly objects: StoredObjects;
  readonly stores: Stores;
  /** Built-in kinds; writers wait until what follows from their writes is in force. */
  readonly builtIn: ResourceTable;
  readonly lookups: Lookups;
  readonly storeOf: ReturnType<typeof storeFinder>;
  readonly rbac: RbacFollower;
  readonly nodes: NodeFollower;
  readonly services: ServiceFollower;
  /** `undefined` where requests are only counted. */
  readonly fairness: Fairness | undefined;
  /** Reads the current objects and follows them. `table` returns the served resources. */
  start(table: () => ResourceTable): Promise<void>;
  /** Whether all of it is in step with the store. */
  isSynced(): boolean;
  close(): void;
}

export function openState(config: AssembleConfig): ServerState {
  const { options, domain, cache, clock, random, plan } = config;
  const objects = new StoredObjects();
  const stores = new Stores({ cache, objects, clock, random, objectBytesMax: options.objectBytesMax });
  const rbac = new RbacFollower(config);
  const nodes = new NodeFollower({
    ...config,
    needed: config.authorization.authorizers.some(({ type }) => type === "Node"),
  });
  const services = new ServiceFollower({
    ...config,
    clusterIps: plan.clusterIps,
    nodePorts: options.serviceNodePortRange,
  });
  const fairness = options.enablePriorityAndFairness ? new Fairness({ ...config, stores }) : undefined;
  const builtIn = new ResourceTable(
    plan.table.definitions
      .map((definition) => nodes.waiting(rbac.waiting(services.waiting(definition))))
      .map((definition) => fairness?.waiting(definition) ?? definition),
    1,
  );
  return {
    objects,
    stores,
    builtIn,
    lookups: storeLookups(builtIn, stores, domain.rename),
    storeOf: storeFinder(builtIn, stores, domain.rename),
    rbac,
    nodes,
    services,
    fairness,
    async start(table) {
      await Promise.all([
        rbac.start(builtIn, stores),
        nodes.start(builtIn, stores),
        services.start(builtIn, stores),
        fairness?.start(builtIn, table),
      ]);
    },
    isSynced: () => rbac.isSynced && nodes.isSynced && services.isSynced && (fairness?.isSynced ?? true),
    close() {
      rbac.close();
      services.close();
      fairness?.close();
      nodes.close();
    },
  };
}
