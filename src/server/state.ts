/**
 * The state of a server: its stores, and the in-memory views that decide about requests. The first phase of
 * `assemble.ts`; nothing has been read and no request is served yet.
 */
import { ResourceTable } from "#registry/resource-table.ts";
import { StoredObjects } from "#registry/stored-object.ts";
import { StoreInformers } from "#registry/store-informers.ts";
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
  const { options, domain, cache, clock, log, random, serving } = config;
  const objects = new StoredObjects();
  const stores = new Stores({ cache, objects, clock, random, objectBytesMax: options.objectBytesMax });
  const informers = new StoreInformers({ cache, clock, log }, stores);
  const rbac = new RbacFollower(domain, informers);
  const authorizesNodes = config.authorization.authorizers.some(({ type }) => type === "Node");
  const nodes = new NodeFollower(domain, informers, authorizesNodes);
  const services = new ServiceFollower({
    random,
    informers,
    clusterIps: serving.clusterIps,
    nodePorts: options.serviceNodePortRange,
  });
  const fairness = options.enablePriorityAndFairness ? new Fairness({ ...config, stores, informers }) : undefined;
  const builtIn = new ResourceTable(
    serving.table.definitions
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
        rbac.start(builtIn),
        nodes.start(builtIn),
        services.start(builtIn),
        fairness?.start(builtIn, table),
      ]);
    },
    isSynced: () => informers.synced,
    close() {
      fairness?.close();
      informers.close();
    },
  };
}
