/**
 * The state of a server: its stores, and the in-memory indexes that decide about requests. The first phase of
 * `assemble.ts`; nothing has been read and no request is served yet.
 */
import { namespaceLifecycleName, refusalIn } from "#admission/namespace-lifecycle.ts";
import { WebhookLists } from "#admission/webhooks.ts";
import { NodeGraph } from "#authz/node-graph.ts";
import { RbacIndex } from "#authz/rbac-index.ts";
import { compileRule } from "#authz/rules.ts";
import type { Namespace } from "#api/core/v1.ts";
import type { FindServiceAddress } from "#egress/service-address.ts";
import { ServiceAllocator } from "#kinds/service-allocator.ts";
import { qualifiedResource } from "#meta/group-version.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { podAnnotations } from "#meta/pod-annotations.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { NewObject, Store } from "#registry/store.ts";
import { ResourceTable } from "#registry/resource-table.ts";
import { StoredObjects } from "#registry/stored-object.ts";
import { StoreInformers } from "#registry/store-informers.ts";
import { Stores } from "#registry/stores.ts";
import { noPolicies, type Policies, policyHandlers } from "./admission/policy-handlers.ts";
import { limitHandlers, type Limits, openLimits } from "./admission/limits.ts";
import { webhookHandlers } from "./admission/webhooks.ts";
import { AggregationIndex } from "./aggregation/aggregation-index.ts";
import type { AssembleConfig } from "./assemble-config.ts";
import { nodeGraphHandlers } from "./authorization/node-graph.ts";
import { rbacHandlers } from "./authorization/rbac.ts";
import { Fairness } from "./flow-control.ts";
import { type Lookups, type StoreFinder, storeFinder, storeLookups } from "./lookups.ts";
import { findServiceAddress } from "./services/addresses.ts";
import { AddressObjects } from "./services/address-objects.ts";
import { type AllocatorState, serviceHandlers, withAllocator } from "./services.ts";
import type { HandlersByResource } from "./index-handlers.ts";

export interface ServerState {
  readonly objects: StoredObjects;
  readonly stores: Stores;
  /** The built-in kinds. */
  readonly builtIn: ResourceTable;
  readonly lookups: Lookups;
  readonly storeOf: StoreFinder;
  /** Roles and bindings. */
  readonly rbacIndex: RbacIndex;
  /** The objects that are related to nodes; empty unless the Node authorizer runs. */
  readonly nodeGraph: NodeGraph;
  readonly services: ServiceAllocator;
  /** Addresses and ranges of services as objects; `undefined` when they are not objects. */
  readonly addressObjects: AddressObjects | undefined;
  /** Quotas, limit ranges and priority classes. */
  readonly limits: Limits;
  readonly aggregation: AggregationIndex;
  /** Finds the addresses of the services that this server calls. */
  readonly serviceAddress: FindServiceAddress;
  /** Admission policies and their bindings. */
  readonly policies: Policies;
  /** Admission webhooks of the stored configurations. */
  readonly webhooks: WebhookLists;
  /** Priority and fairness; `undefined` when requests are only counted. */
  readonly fairness: Fairness | undefined;
  /** Reads the current objects and follows their changes. `table` returns the served resources. */
  start(table: () => ResourceTable): Promise<void>;
  /** Resolves when the indexes of these resources have taken in everything that reads see now. */
  inStep: StoreInformers["inStep"];
  /** Whether all indexes are in step with the store. */
  isSynced(): boolean;
  /** Whether all indexes have taken in everything that they were told. */
  isCaughtUp(): boolean;
  close(): void;
}

export function openState(config: AssembleConfig): ServerState {
  const { options, domain, plans } = config;
  const objects = new StoredObjects();
  const { objectBytesMax, enableGarbageCollector: collectsGarbage } = options;
  const stores: Stores = new Stores({
    ...config,
    objects,
    objectBytesMax,
    collectsGarbage,
    ...(options.disableAdmissionPlugins.includes(namespaceLifecycleName)
      ? {}
      : { conditionOf: (object) => namespaceCondition(storeOf("namespaces"), object) }),
    effectsOf: (definition) => informers.effectsOf(definition),
  });
  const informers: StoreInformers = new StoreInformers(config, stores, config.peers?.announced);
  const { handlersOf, ...indexes } = openIndexes(config, stores, informers);
  const { services, fairness, addressObjects } = indexes;
  const { table } = plans.kinds;
  const allocator = allocatorState(config, informers);
  const builtIn = new ResourceTable(
    table.definitions
      .map((definition) => withAllocator(services, allocator, definition))
      .map((definition) => addressObjects?.inStep(definition) ?? definition),
    1,
    table,
  );
  const storeOf = storeFinder(builtIn, stores, domain.rename);
  const lookups = storeLookups(storeOf);
  return {
    ...indexes,
    objects,
    stores,
    builtIn,
    lookups,
    storeOf,
    serviceAddress: findServiceAddress({ ...config, lookups }),
    async start(table) {
      fairness?.start(table);
      await Promise.all(
        builtIn.definitions.map((definition) => {
          const handlers = handlersOf(definition);
          return handlers === undefined ? informers.followLookups(definition) : informers.follow(definition, handlers);
        }),
      );
    },
    inStep: (resources) => informers.inStep(resources),
    isSynced: () => informers.synced,
    isCaughtUp: () => informers.idle,
    close() {
      addressObjects?.close();
      fairness?.close();
      informers.close();
    },
  };
}

/** Returns the condition that the namespace of a new object is as it is. Throws when nothing can be created in it. */
function namespaceCondition(
  namespaces: Store | undefined,
  { definition, namespace, name }: NewObject,
): { readonly key: string; readonly revision: number } {
  const entry = namespaces?.peek("", namespace);
  // Safe: the schema of the store is that of namespaces.
  const object = entry && (namespaces?.object(entry) as ApiObject as Namespace | undefined);
  const refused = refusalIn(namespace, object, { resource: definition, name, object: undefined });
  if (refused !== undefined) throw refused;
  const { key, revision } = entry!; // else it is refused
  return { key, revision };
}

/** Returns what the allocator of services knows of the store. */
function allocatorState({ cache, domain }: AssembleConfig, informers: StoreInformers): AllocatorState {
  const networking = domain.rename("networking.k8s.io");
  const followed = [
    { group: "", resource: "services" },
    { group: networking, resource: "ipaddresses" },
    { group: networking, resource: "servicecidrs" },
  ];
  return {
    position: () => informers.positionOf(followed),
    inStep: () =>
      cache.isShared && informers.positionOf(followed) < cache.revision ? informers.inStep(followed) : undefined,
    refresh() {
      if (!cache.isShared) return undefined;
      return Promise.resolve(cache.fresh()).then(() => informers.inStep(followed));
    },
  };
}

/** Opens the indexes that decide about requests, with the handlers that keep each in step with the store. */
function openIndexes(config: AssembleConfig, stores: Stores, informers: StoreInformers) {
  const { options, domain, clock, random, plans } = config;
  const { gates } = plans.kinds;
  const rbacIndex = new RbacIndex(domain.rename("rbac.authorization.k8s.io"), config.compileRule ?? compileRule);
  const nodeGraph = new NodeGraph(podAnnotations(domain).mirror);
  const authorizesNodes = plans.authorization.authorizers.some(({ type }) => type === "Node");
  const services = new ServiceAllocator({
    random,
    clusterIps: plans.clusterIps,
    nodePorts: options.serviceNodePortRange,
  });
  const hasAddressObjects =
    gates.isOn("MultiCIDRServiceAllocator") &&
    ["servicecidrs", "ipaddresses"].every((name) =>
      plans.kinds.table.definitions.some(({ resource }) => resource === name),
    );
  const addressObjects = hasAddressObjects ? new AddressObjects({ ...config, allocator: services }) : undefined;
  const hasSelectors = gates.isOn("AuthorizeWithSelectors");
  const policies = noPolicies(hasSelectors);
  const webhooks = new WebhookLists({ clock, hasBreakers: options.webhookCircuitBreaker, hasSelectors });
  const limits = openLimits({ ...config, gates, informers });
  const fairness = options.enablePriorityAndFairness ? new Fairness({ ...config, stores }) : undefined;
  const aggregation = new AggregationIndex(domain);
  const handlersByResource: HandlersByResource = {
    ...rbacHandlers(rbacIndex),
    ...(addressObjects?.handlers ?? serviceHandlers(services)),
    ...aggregation.handlers,
    ...(authorizesNodes ? nodeGraphHandlers(nodeGraph) : {}),
    ...policyHandlers(policies),
    ...webhookHandlers(webhooks),
    ...limitHandlers(limits),
    ...fairness?.handlers,
  };
  const handlers = new Map(Object.entries(handlersByResource).map(([name, one]) => [domain.rename(name), one]));
  return {
    rbacIndex,
    nodeGraph,
    services,
    addressObjects,
    aggregation,
    policies,
    webhooks,
    limits,
    fairness,
    /** Returns the handlers that get each change of a resource's objects before the write is acknowledged. */
    handlersOf: (definition: ResourceDefinition) => handlers.get(qualifiedResource(definition)),
  };
}
