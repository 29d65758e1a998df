/**
 * Metrics of stored objects, of the watch cache and of lists, by resource, with kube-apiserver's names and labels. They
 * are read at each scrape: what they count costs requests no more than an addition.
 */
import type { ApiDomain } from "#meta/api-domain.ts";
import { qualifiedResource } from "#meta/group-version.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import type { ListCount, Store } from "#registry/store.ts";
import type { Stores } from "#registry/stores.ts";
import type { Metrics, Sample } from "#std/metrics.ts";
import type { CacheReader, CacheTraffic, EventTraffic } from "#storage/watch-cache.ts";
import type { Plans } from "./assemble-config.ts";
import { etcdPaths } from "./store/etcd-layout.ts";

interface ObjectMetricsOptions {
  readonly metrics: Metrics;
  readonly domain: ApiDomain;
  readonly plans: Pick<Plans, "kinds">;
  readonly cache: CacheReader & CacheTraffic;
  readonly stores: Stores;
  table(): ResourceTable;
}

/** A stored resource, with the stores of its versions. */
interface StoredResource {
  readonly name: string;
  /** The path of its objects in an etcd of kube-apiserver. */
  readonly path: string;
  readonly stores: readonly [Store, ...Store[]];
}

export function addObjectMetrics(options: ObjectMetricsOptions): void {
  const { metrics, cache } = options;
  let paths: ReadonlyMap<string, string> | undefined;
  const resources = (): readonly StoredResource[] => {
    paths ??= etcdPaths(options.plans.kinds.table.definitions, options.domain);
    return storedResources(options, paths);
  };
  const labels = ["resource"];
  const gauge = (name: string, help: string, read: (of: StoredResource) => number): void =>
    metrics.observable({ name, help, labels, type: "gauge" }, () =>
      resources().map((of) => ({ labels: [of.name], value: read(of) })),
    );
  const counter = (name: string, help: string, read: (of: StoredResource) => number): void =>
    metrics.observable({ name, help, labels, type: "counter" }, () =>
      resources()
        .map((of) => ({ labels: [of.name], value: read(of) }))
        .filter(({ value }) => value > 0),
    );

  gauge("apiserver_storage_objects", "[STABLE] Stored objects, by resource.", ({ stores: [store] }) => store.count());
  gauge("apiserver_watch_cache_resource_version", "Version of the store that reads see.", () => cache.revision);
  const traffic = ({ stores: [{ prefix }] }: StoredResource): EventTraffic => cache.trafficOf(prefix);
  const received = (of: StoredResource): number => traffic(of).received;
  counter("apiserver_watch_cache_initializations_total", "Times that the cache was filled.", () => cache.loads);
  counter("apiserver_watch_cache_events_received_total", "Changes that the cache was told of.", received);
  counter("apiserver_storage_events_received_total", "Changes that the store told of.", received);
  const delivered = (of: StoredResource): number => traffic(of).delivered;
  counter("apiserver_watch_cache_events_dispatched_total", "Events that watches were given.", delivered);

  const past = (of: keyof ListCount) => (resource: StoredResource) =>
    sum(resource, (store) => store.listCounts.past[of]);
  counter("apiserver_storage_list_total", "Lists at an earlier version.", past("lists"));
  counter("apiserver_storage_list_fetched_objects_total", "Objects that these lists read.", past("read"));
  counter("apiserver_storage_list_evaluated_objects_total", "Objects that these lists compared.", past("read"));
  counter("apiserver_storage_list_returned_objects_total", "Objects that these lists returned.", past("returned"));
  addCacheLists(metrics, resources);
}

/** Adds the metrics of lists of the present state. Source of the labels: kube-apiserver. */
function addCacheLists(metrics: Metrics, resources: () => readonly StoredResource[]): void {
  const add = (
    name: string,
    help: string,
    labels: readonly string[],
    sampleOf: (resource: StoredResource) => Sample,
  ): void =>
    metrics.observable({ name, help, labels, type: "counter" }, () =>
      resources()
        .filter((resource) => present(resource, "lists") > 0)
        .map(sampleOf),
    );
  const byIndex = ["resource_prefix", "index"];
  const listed = (name: string, help: string, of: keyof ListCount): void =>
    add(name, help, byIndex, (resource) => ({ labels: [resource.path, ""], value: present(resource, of) }));
  listed("apiserver_cache_list_total", "Lists of the present state.", "lists");
  listed("apiserver_cache_list_fetched_objects_total", "Objects that lists of the present state read.", "read");
  add(
    "apiserver_cache_list_returned_objects_total",
    "Objects that lists of the present state returned.",
    ["resource_prefix"],
    (resource) => ({ labels: [resource.path], value: present(resource, "returned") }),
  );
  add(
    "apiserver_watch_cache_consistent_read_total",
    "Lists of the newest state.",
    ["resource", "success", "fallback"],
    (resource) => ({
      labels: [resource.name, "true", "false"],
      value: sum(resource, (store) => store.listCounts.newest),
    }),
  );
}

const present = (resource: StoredResource, of: keyof ListCount): number =>
  sum(resource, (store) => store.listCounts.present[of]);

const sum = ({ stores }: StoredResource, of: (store: Store) => number): number =>
  stores.reduce((total, store) => total + of(store), 0);

/** Returns the stored resources; several versions of a resource share an entry. */
function storedResources(
  { table, stores }: Pick<ObjectMetricsOptions, "table" | "stores">,
  paths: ReadonlyMap<string, string>,
): readonly StoredResource[] {
  const byName = Map.groupBy(
    table().definitions.filter(({ stored }) => stored),
    ({ storage }) => qualifiedResource(storage),
  );
  return [...byName].map(([name, alike]) => {
    const [first, ...others] = alike.map((definition) => stores.of(definition));
    return { name, path: pathOf(alike[0]!, paths), stores: [first!, ...others] }; // a group has one
  });
}

function pathOf({ storage: { group, resource } }: ResourceDefinition, paths: ReadonlyMap<string, string>): string {
  const own = `${group === "" ? "core" : group}/${resource}`;
  return `/${paths.get(own) ?? own}`;
}
