/** Opens the store that the options name: one of a list, each with a cache above its log. */
import type { ApiDomain } from "#meta/api-domain.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { Metrics } from "#std/metrics.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import type { Random } from "#std/random.ts";
import { type LocalStoreOptions, openMemoryStore } from "#storage/memory.ts";
import type { LogStore } from "#storage/log-store.ts";
import type { EtcdAccess, EtcdStores } from "#storage/etcd.ts";
import type { OpenedStore } from "#storage/opened-store.ts";
import { openSqliteStore, type SharedLogThread, type StorageFaults } from "#storage/sqlite.ts";
import { UpstreamTimingLog } from "#storage/upstream-timing-log.ts";
import { makeDataFolder } from "./data-folder.ts";
import type { Encryption } from "./encryption/encryption.ts";
import type { Instruments } from "./instruments.ts";
import type { ServerOptions } from "./options.ts";
import { addLogMetrics, addStorageMetrics, storageObserver } from "./process-metrics.ts";
import type { ServingProcess } from "./processes.ts";
import { checkDomainRecord } from "./store.ts";

interface StoreSources {
  readonly options: ServerOptions;
  /** The data folder; `undefined` where nothing is kept. */
  readonly folder: string | undefined;
  /** Whether this process writes the files of the data folder. */
  readonly isKeeper: boolean;
  /** Whether the data folder had a store at its last start. */
  readonly isExpected: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly domain: ApiDomain;
  /** The definitions of built-in kinds. */
  readonly builtIn: readonly ResourceDefinition[];
  /** The name of this server, which no other has. */
  readonly server: string;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly encryption: Encryption | undefined;
  /** This process as one of several, of which process 0 owns the log of a data folder. */
  readonly processes?: ServingProcess | undefined;
  readonly storageFaults?: StorageFaults | undefined;
  /** A thread that owns the logs of several stores; left out: the log has one of its own. */
  readonly logThread?: SharedLogThread | undefined;
  /** The stores of an etcd that share a connection; left out: a store in etcd has one of its own. */
  readonly etcdStores?: EtcdStores | undefined;
  /** Whether room on the disk is reserved for deletions. */
  readonly hasReserve: boolean;
  readonly instruments?: Instruments | undefined;
  /** Bounds what the log takes. */
  readonly bound?: ((log: LogStore) => LogStore) | undefined;
  /** Notes how a step is undone. */
  undo(step: () => Promise<void> | void): void;
}

/** Opens the store. Its cache is closed when the start is undone. */
export async function openStore(sources: StoreSources): Promise<OpenedStore> {
  const { options, folder, log, metrics, encryption, undo } = sources;
  if (folder !== undefined) undo(makeDataFolder(folder));
  const store = await kindOf(sources)(sources, cacheOptions(sources));
  const notice = store.notice();
  if (notice !== undefined) log.warn({ dataDir: folder }, notice);
  const { cache, maintenance } = store;
  undo(async () => {
    await cache.close();
    await store.close?.();
  });
  const hasOtherPrograms = cache.isShared && !isSharedFolder(sources);
  if (hasOtherPrograms) await (await import("./peers.ts")).refuseBesideKubeApiServers({ ...sources, cache });
  if (folder !== undefined || cache.isShared) await checkDomainRecord(cache, options.apiDomain);
  addStorageMetrics(metrics, cache);
  encryption?.opened();
  if (maintenance !== undefined) addLogMetrics(metrics, () => maintenance.size);
  return store;
}

/** Whether the objects are in etcd, so that the data folder has only credentials. */
export const isOnEtcd = ({ etcdServers }: Pick<ServerOptions, "etcdServers">): boolean => etcdServers.length > 0;

/** Whether the store is a data folder of several processes, of which one reads and writes it for all. */
export const isSharedFolder = ({ options, processes }: Pick<StoreSources, "options" | "processes">): boolean =>
  processes !== undefined && !isOnEtcd(options);

function kindOf({ options, folder, processes }: StoreSources): OpenKind {
  if (isOnEtcd(options)) return openOnEtcd;
  if (processes !== undefined) return processes.index === 0 ? openShared : openServed;
  return options.storage === "memory" || folder === undefined ? openMemory : openFolder;
}

type OpenKind = (sources: StoreSources, options: LocalStoreOptions) => Promise<OpenedStore>;

const openMemory: OpenKind = async (_sources, options) => ({
  cache: await openMemoryStore(options),
  notice: () => undefined,
});

const openFolder: OpenKind = (
  { options, folder = "", isExpected, storageFaults, logThread, hasReserve },
  cacheOptions,
) =>
  openSqliteStore({
    ...cacheOptions,
    dataDir: folder,
    isExpected,
    acceptLoss: options.acceptDataLoss,
    retention: options.history,
    thread: logThread,
    hasReserve,
    ...(storageFaults === undefined ? {} : { faults: storageFaults }),
  });

/** Opens the store of the folder, and serves its log to the other processes. */
const openShared: OpenKind = async (sources, cacheOptions) => {
  const { ServedLog } = await import("#storage/served.ts");
  const { clock, log, processes } = sources;
  let served: InstanceType<typeof ServedLog> | undefined;
  const serve = (own: LogStore): LogStore => {
    const warn = (problem: string): void => log.warn({}, problem);
    served = new ServedLog(own, { folder: processes?.folder ?? "", clock, warn });
    return served;
  };
  const store = await openFolder(sources, { ...cacheOptions, wrap: wrapOf(sources, serve) });
  served?.maintain(store.maintenance);
  return store;
};

/** Opens the store whose log process 0 serves, which has its values as they were before they were encrypted. */
const openServed: OpenKind = async (sources, cacheOptions) => {
  const { openServedStore } = await import("#storage/served.ts");
  const { log, processes } = sources;
  return openServedStore({
    ...cacheOptions,
    wrap: wrapOf({ ...sources, encryption: undefined }),
    folder: processes?.folder ?? "",
    warn: (problem) => log.warn({}, problem),
    goneBack: () => processes?.end(),
  });
};

const openOnEtcd: OpenKind = async (sources, cacheOptions) => {
  const { options, folder, isKeeper, random, builtIn, domain, metrics, etcdStores } = sources;
  const { openEtcdStore } = await import("#storage/etcd.ts");
  const { etcdObserver } = await import("./store/etcd-metrics.ts");
  const { etcdPaths, foreignReader } = await import("./store/etcd-layout.ts");
  const store = {
    ...cacheOptions,
    random,
    prefix: options.etcdPrefix,
    paths: etcdPaths(builtIn, domain),
    readForeign: foreignReader(builtIn, domain),
    compactionIntervalMs: options.etcdCompactionIntervalMs,
    leaseReuseSeconds: options.leaseReuseDurationSeconds,
    observer: etcdObserver(metrics),
  };
  if (etcdStores !== undefined) return etcdStores.open(store);
  return openEtcdStore({
    ...store,
    ...etcdAccess(sources),
    ...(folder === undefined ? {} : { folder }),
    writesHead: isKeeper,
    acceptLoss: options.acceptDataLoss,
    healthTimeoutMs: options.etcdHealthcheckTimeoutMs,
    readyTimeoutMs: options.etcdReadycheckTimeoutMs,
    sizePollMs: options.etcdDbMetricPollIntervalMs,
  });
};

/** Returns the etcd of the flags. `server` is a name that no other process has. */
export function etcdAccess({
  options,
  server,
  clock,
  random,
}: Pick<StoreSources, "options" | "server" | "clock" | "random">): EtcdAccess {
  const { etcdServers: endpoints, etcdCafile: authority, etcdCertfile: certificate, etcdKeyfile: key } = options;
  const tls = {
    ...(authority === undefined ? {} : { authority }),
    ...(certificate === undefined ? {} : { certificate }),
    ...(key === undefined ? {} : { key }),
  };
  return { endpoints, tls, server, clock, random };
}

function cacheOptions(sources: StoreSources): LocalStoreOptions {
  const { options, folder, clock, log, metrics } = sources;
  return {
    clock,
    historyBytesMax: options.historyMemoryBytes,
    historyMs: options.historyDurationMs,
    compactionIntervalMs: options.compactionIntervalMs,
    wrap: wrapOf(sources),
    // A mark that waited for the end of a rest could come together with the removal.
    ...(options.upstreamTiming ? { watchRestMsMax: 0 } : {}),
    observe: {
      ...storageObserver(metrics),
      watchError: (error) => log.error({ error }, "a watch failed"),
      failed: (error) =>
        log.error({ dataDir: folder, error }, "the store has failed: start the server again to write to it"),
    },
  };
}

type Wrap = (log: LogStore) => LogStore;

/**
 * Returns the function that wraps the log of the store; `undefined` where nothing does. `serve` wraps one that is served to
 * other processes.
 */
function wrapOf({ options, clock, instruments, encryption, bound }: StoreSources, serve?: Wrap): Wrap | undefined {
  const wraps: readonly (Wrap | undefined)[] = [
    encryption && ((log) => encryption.wrap(log)),
    serve,
    bound,
    options.upstreamTiming ? (log) => new UpstreamTimingLog(log, clock) : undefined,
    instruments && ((log) => instruments.wrapLog(log)),
  ];
  const used = wraps.filter((wrap) => wrap !== undefined);
  return used.length === 0 ? undefined : (log) => used.reduce((wrapped, wrap) => wrap(wrapped), log);
}
