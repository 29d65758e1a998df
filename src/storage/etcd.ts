/** The store of several servers: a watch cache above a log on etcd (`etcd/log.ts`). */
import type { Clock } from "#std/clock.ts";
import { prefixEnd } from "#std/ordered-map.ts";
import type { Random } from "#std/random.ts";

import type { AnswerHeader, EtcdClient, RangeAnswer } from "./etcd/client.ts";
import type { EtcdTlsFiles } from "./etcd/connection.ts";
import { startError } from "./etcd/feed.ts";
import { checkHead, EtcdHeadFile } from "./etcd/head-file.ts";
import { EtcdHealth } from "./etcd/health.ts";
import { EtcdKeys, type ResourcePaths } from "./etcd/keys.ts";
import { EtcdLog } from "./etcd/log.ts";
import { type EtcdObserver, MeasuredClient } from "./etcd/measured-client.ts";
import { checkVersion, openClient } from "./etcd/open-client.ts";
import { SharedClient } from "./etcd/shared-client.ts";
import { pollSize } from "./etcd/size-poll.ts";
import type { ReadForeign } from "./etcd/stored-json.ts";
import { StorageFailure } from "./log-store.ts";
import type { LocalStoreOptions } from "./memory.ts";
import type { OpenedStore } from "./opened-store.ts";
import { LogWatchCache } from "./watch-cache/log-watch-cache.ts";

export { anyType, type EtcdObserver } from "./etcd/measured-client.ts";

/** The etcd, and how it is reached. */
export interface EtcdAccess {
  /** Addresses as in `https://10.0.0.1:2379`, `http://localhost:2379` or `unix:///run/etcd.sock`. */
  readonly endpoints: readonly string[];
  /** The files of certificates, in PEM. */
  readonly tls: EtcdTlsFiles;
  /** The name of this server, which no other has. */
  readonly server: string;
  readonly clock: Clock;
  readonly random: Random;
}

interface LogOptions extends LocalStoreOptions {
  /** The beginning of all keys: `/registry`. */
  readonly prefix: string;
  readonly paths: ResourcePaths;
  readonly readForeign: ReadForeign;
  /** The longest time, in seconds, for which keys that expire join a lease. */
  readonly leaseReuseSeconds: number;
  readonly observer: EtcdObserver;
  readonly random: Random;
}

interface EtcdStoreOptions extends LogOptions, EtcdAccess {
  /** The time, in milliseconds, in which etcd must answer to count as healthy: for liveness, and for readiness. */
  readonly healthTimeoutMs: number;
  readonly readyTimeoutMs: number;
  /** The time between two questions for the size of the database, in milliseconds; 0 for never. */
  readonly sizePollMs: number;
  /** The folder that remembers which etcd was used; left out: none does. */
  readonly folder?: string;
  /** Whether this process writes the record in the folder; otherwise another one does. */
  readonly writesHead: boolean;
  /** Whether an etcd that has gone back, or another one, is taken for the one that was used. */
  readonly acceptLoss: boolean;
}

/** Opens the store, reading all current entries into memory. Rejects with `StorageFailure`, whose message has a remedy. */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<OpenedStore> {
  const { clock, endpoints, prefix, paths, healthTimeoutMs, readyTimeoutMs } = options;
  const { observer, sizePollMs, folder, writesHead } = options;
  const keys = new EtcdKeys(prefix, paths);
  const client = openClient(options);
  try {
    await checkVersion(client, endpoints);
    const { cluster, notice } = await checkPresent(client, keys, options);
    const { log, cache } = await openLog(client, keys, options);
    const head = folder === undefined || !writesHead ? undefined : new EtcdHeadFile(folder, cluster, log);
    const health = new EtcdHealth({
      client,
      clock,
      timeoutMs: Math.max(healthTimeoutMs, readyTimeoutMs),
      answered({ alarms }) {
        if (!alarms.includes("NOSPACE")) log.full = undefined;
      },
    });
    log.observeWrites = (isDone) => health.wroteAt(isDone);
    health.start();
    const endPoll = pollSize(client, clock, sizePollMs, (bytes) => observer.sized(bytes));
    return {
      cache,
      notice: () => notice,
      checks: [
        { name: "etcd", endpoints: ["healthz", "livez", "readyz"], problem: () => health.problem(healthTimeoutMs) },
        { name: "etcd-readiness", endpoints: ["readyz"], problem: () => health.problem(readyTimeoutMs) },
      ],
      async confirm() {
        await withoutCopy(client, keys);
      },
      served: () => head?.start(clock),
      async close() {
        health.stop();
        endPoll();
        client.close();
        await head?.close();
      },
    };
  } catch (error) {
    client.close();
    throw error;
  }
}

async function openLog(client: EtcdClient, keys: EtcdKeys, options: LogOptions) {
  const { clock, observer, wrap } = options;
  const log = await EtcdLog.open({
    ...options,
    client: new MeasuredClient(client, observer, clock, keys),
    keys,
    compactionIntervalMs: options.compactionIntervalMs ?? 0,
  });
  return { log, cache: await LogWatchCache.open(wrap?.(log) ?? log, options) };
}

/** The maximum number of operations in a transaction of etcd, by default. */
const operationsMax = 128;
const removalMs = 10_000;

/**
 * Stores of one etcd, each below a prefix of its own, that share a connection, which is opened by the first of them. The
 * store of the server itself checks the etcd and compacts it.
 */
export class EtcdStores {
  readonly #access: EtcdAccess;
  #client: SharedClient | undefined;

  constructor(access: EtcdAccess) {
    this.#access = access;
  }

  /** Opens a store, reading all current entries into memory. Rejects with `StorageFailure`. */
  async open(options: LogOptions): Promise<OpenedStore> {
    const client = this.#shared().open();
    try {
      const { cache } = await openLog(client, new EtcdKeys(options.prefix, options.paths), options);
      return { cache, notice: () => undefined, close: () => client.close() };
    } catch (error) {
      client.close();
      throw error;
    }
  }

  /** Resolves with whether a server has the store below a prefix open, or had it a few seconds ago. */
  async isOpen(prefix: string): Promise<boolean> {
    const client = this.#shared().open();
    for (const key of new EtcdKeys(prefix, new Map()).servers) {
      const { count } = await refused(
        client.range({ key, end: prefixEnd(key)!, countOnly: true }, { timeoutMs: removalMs }),
      );
      if (count > 0) return true;
    }
    return false;
  }

  /** Removes all keys below a prefix, some at a time. */
  async remove(prefix: string): Promise<void> {
    const client = this.#shared().open();
    const { prefix: key } = new EtcdKeys(prefix, new Map());
    const options = { timeoutMs: removalMs };
    const range = { key, end: prefixEnd(key)!, keysOnly: true, limit: operationsMax };
    for (;;) {
      const { entries } = await refused(client.range(range, options));
      if (entries.length === 0) return;
      const then = entries.map((entry) => ({ kind: "delete", key: entry.key }) as const);
      await refused(client.transact({ compare: [], then, otherwise: [] }, options));
    }
  }

  close(): void {
    this.#client?.close();
  }

  #shared(): SharedClient {
    return (this.#client ??= new SharedClient(openClient(this.#access)));
  }
}

/** Resolves with an answer. Rejects with a `StorageFailure` in place of an `EtcdError`. */
async function refused<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw startError(error);
  }
}

/**
 * Refuses an etcd that has gone back, another one, and one with a part of a copy. Resolves with the id of the cluster, and
 * with what people should know.
 */
async function checkPresent(
  client: EtcdClient,
  keys: EtcdKeys,
  { folder, acceptLoss }: Pick<EtcdStoreOptions, "folder" | "acceptLoss">,
): Promise<{ readonly cluster: string; readonly notice: string | undefined }> {
  const header = await withoutCopy(client, keys);
  const { endpoint } = client;
  const notice = folder && checkHead(folder, header, { endpoint, acceptsLoss: acceptLoss });
  return { cluster: header.cluster, notice };
}

/** Rejects with `StorageFailure` when there is a part of a copy. Resolves with the header of the answer. */
async function withoutCopy(client: EtcdClient, keys: EtcdKeys): Promise<AnswerHeader> {
  let answer: RangeAnswer;
  try {
    answer = await client.range({ key: keys.copy }, { timeoutMs: presentMs });
  } catch (error) {
    throw startError(error);
  }
  if (answer.entries.length === 0) return answer.header;
  throw new StorageFailure(
    `etcd at ${client.endpoint} has a part of a store: run binnacle copy again, which completes it, unless it is at work`,
  );
}

const presentMs = 10_000;
