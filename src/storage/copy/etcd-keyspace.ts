/** An etcd that is read or filled as a whole by a tool: its client, its layout, and the servers that use it. */
import { type Clock, pause } from "#std/clock.ts";
import { isObject } from "#std/is-object.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { prefixEnd } from "#std/ordered-map.ts";
import { printable } from "#std/printable.ts";
import type { Random } from "#std/random.ts";

import type { EtcdCallOptions, EtcdClient, KeyValue, RangeAnswer, RangeRequest } from "../etcd/client.ts";
import type { EtcdTlsFiles } from "../etcd/connection.ts";
import { isPassing, readError } from "../etcd/errors.ts";
import { shownEntry } from "../etcd/feed.ts";
import { EtcdKeys, type ResourcePaths } from "../etcd/keys.ts";
import { checkVersion, openClient } from "../etcd/open-client.ts";
import { pagesOf } from "../etcd/pages.ts";
import { EtcdError } from "../etcd/client.ts";
import { jsonForm, type ReadForeign } from "../etcd/stored-json.ts";
import { type LogEntry, type Revision, StorageFailure, type ValueForm } from "../log-store.ts";

/** The location of an etcd, and the files by which its clients prove who they are. */
export interface EtcdAddress {
  /** Addresses as in `https://10.0.0.1:2379`. */
  readonly endpoints: readonly string[];
  readonly tls: EtcdTlsFiles;
  /** The beginning of all keys: `/registry`. */
  readonly prefix: string;
}

/** The keys and values that objects have in etcd. */
export interface EtcdLayout {
  readonly paths: ResourcePaths;
  /** Reads the values that kube-apiserver wrote. */
  readonly readForeign: ReadForeign;
  /** The beginning of our keys of the Leases of servers: `/registry/coordination.k8s.io/leases/kube-system/apiserver-`. */
  readonly serverLeases: string;
}

interface KeyspaceEnvironment {
  readonly clock: Clock;
  readonly random: Random;
}

/** An entry with the lease that it has in etcd. */
export interface KeyspaceEntry extends LogEntry {
  readonly lease: string | undefined;
}

/** The time of a call, and that of one with much data. */
export const callMs = 3000;
const pageMs = 15_000;
/** The time for which a call is tried again when members cannot be reached. */
const persistMs = 60_000;
const againMs = 200;
/** The time in which the signs of a server that has ended are gone: its lease, and the next renewal of its Lease. */
const signsMs = 25_000;
const signMs = 500;
/** The age of a Lease whose server may live. */
const renewedMs = 20_000;

/** A connection to an etcd whose layout is not known yet. */
export class EtcdConnection {
  readonly client: EtcdClient;
  readonly address: EtcdAddress;
  readonly #environment: KeyspaceEnvironment;

  /** Rejects with a `StorageFailure` when no member answers. */
  static async open(address: EtcdAddress, environment: KeyspaceEnvironment): Promise<EtcdConnection> {
    const connection = new EtcdConnection(address, environment);
    try {
      await checkVersion(connection.client, address.endpoints);
    } catch (error) {
      connection.close();
      throw error;
    }
    return connection;
  }

  private constructor(address: EtcdAddress, environment: KeyspaceEnvironment) {
    this.address = address;
    this.#environment = environment;
    const { endpoints, tls } = address;
    this.client = openClient({ endpoints, tls, server: environment.random.uuid(), ...environment });
  }

  /** Returns the value of a key, which is no object of a built-in resource. */
  async valueOf(key: string): Promise<Buffer | undefined> {
    const name = new EtcdKeys(this.address.prefix, new Map()).toEtcd(key);
    const side = this.withLayout({ paths: new Map(), readForeign: (_key, bytes) => bytes, serverLeases: "" });
    return (await side.range({ key: name })).entries[0]?.value;
  }

  withLayout(layout: EtcdLayout): EtcdKeyspace {
    return new EtcdKeyspace({ client: this.client, address: this.address, layout, clock: this.#environment.clock });
  }

  close(): void {
    this.client.close();
  }
}

interface KeyspaceOptions {
  readonly client: EtcdClient;
  readonly address: Pick<EtcdAddress, "endpoints" | "prefix">;
  readonly layout: EtcdLayout;
  readonly clock: Clock;
}

export class EtcdKeyspace {
  readonly client: EtcdClient;
  readonly keys: EtcdKeys;
  readonly form: ValueForm;
  /** The addresses, for messages. */
  readonly name: string;
  readonly #clock: Clock;
  readonly #leases: string;

  constructor({ client, address, layout, clock }: KeyspaceOptions) {
    const { paths, readForeign } = layout;
    this.client = client;
    this.keys = new EtcdKeys(address.prefix, paths);
    this.form = jsonForm((key) => this.keys.toEtcd(key), readForeign);
    this.name = address.endpoints.join(",");
    this.#clock = clock;
    this.#leases = this.keys.toEtcd(layout.serverLeases);
  }

  /** The end of the range of all keys. */
  get end(): string {
    return prefixEnd(this.keys.prefix)!; // the prefix is not empty
  }

  range(request: RangeRequest, options: EtcdCallOptions = { timeoutMs: callMs }): Promise<RangeAnswer> {
    return this.persist(() => this.client.range(request, options));
  }

  /** Resolves with the present revision, and the number of keys below the prefix. */
  async present(): Promise<{ readonly revision: Revision; readonly keys: number }> {
    const { header, count } = await this.range({ key: this.keys.prefix, end: this.end, countOnly: true });
    return { revision: header.revision, keys: count };
  }

  /**
   * Visits all entries that a copy has, in the order of etcd's keys, at a revision; those that it cannot have are
   * unreadable. Resolves with the number of other keys: those that servers keep for themselves. Rejects with a
   * `StorageFailure`.
   */
  async read(revision: Revision, visit: (entry: KeyspaceEntry) => MaybePromise<void>): Promise<number> {
    let others = 0;
    const range = { key: this.keys.prefix, end: this.end, revision };
    for await (const { entries } of pagesOf(this, range, { timeoutMs: pageMs })) {
      for (const entry of entries) {
        if (this.keys.isOfServers(entry.key)) others++;
        else await visit({ ...this.#copiedEntry(entry), lease: entry.lease });
      }
    }
    return others;
  }

  /** Makes a call, again and again while members cannot be reached. Rejects with a `StorageFailure`. */
  async persist<T>(call: () => Promise<T>): Promise<T> {
    const endMs = this.#clock.monotonic() + persistMs;
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof EtcdError)) throw error;
        if (error.kind === "compacted")
          throw new StorageFailure(
            "etcd was compacted while it was read: try again, with a longer --etcd-compaction-interval of its servers",
            { cause: error },
          );
        if (error.kind === "answerTooLarge") throw error;
        if (!isPassing(error) || this.#clock.monotonic() >= endMs) throw readError(error);
        await pause(this.#clock, againMs, new AbortController().signal);
      }
    }
  }

  /** Forgets history before a revision. Rejects with a `StorageFailure`. */
  async compact(revision: Revision): Promise<void> {
    await this.persist(async () => {
      try {
        await this.client.compact(revision, { timeoutMs: callMs });
      } catch (error) {
        // An earlier try was done.
        if (!(error instanceof EtcdError && error.kind === "compacted")) throw error;
      }
    });
  }

  /**
   * Resolves when no server uses this etcd. Signs of servers that have ended are gone after a while; `waits` is called
   * when it waits for that. Rejects with a `StorageFailure` that names them when they stay.
   */
  async unused(waits: () => void): Promise<void> {
    const endMs = this.#clock.monotonic() + signsMs;
    for (;;) {
      const signs = await this.#signsOfServers();
      if (signs.length === 0) return;
      if (this.#clock.monotonic() >= endMs)
        throw new StorageFailure(
          `servers use etcd at ${this.name}, and must be stopped first: ${printable(signs.join(", "))}`,
        );
      waits();
      await pause(this.#clock, signMs, new AbortController().signal);
    }
  }

  /** Returns the names of servers that seem to be running: Binnacle's, and kube-apiserver's. */
  async #signsOfServers(): Promise<string[]> {
    const signs: string[] = [];
    for (const prefix of this.keys.servers) {
      const { entries } = await this.range({ key: prefix, end: prefixEnd(prefix)!, keysOnly: true });
      signs.push(...entries.map(({ key }) => `server ${key.slice(prefix.length)}`));
    }
    const leases = this.#leases;
    const { entries } = await this.range({ key: leases, end: prefixEnd(leases)! });
    for (const entry of entries) {
      const age = this.#clock.now() - (this.#renewalOf(entry) ?? 0);
      if (Math.abs(age) < renewedMs) signs.push(`Lease ${entry.key.slice(leases.lastIndexOf("/") + 1)}`);
    }
    return signs;
  }

  /** Returns the time at which the server of a Lease renewed it, in milliseconds since the epoch. */
  #renewalOf(entry: KeyValue): number | undefined {
    const shown = shownEntry(entry, this.keys, this.form);
    try {
      const lease: unknown = JSON.parse(shown?.value.bytes.toString() ?? "");
      const spec = isObject(lease) ? lease["spec"] : undefined;
      return isObject(spec) ? Date.parse(String(spec["renewTime"])) : undefined;
    } catch {
      return undefined; // It is encrypted.
    }
  }

  /** Returns the entry of a key, which is unreadable where this version does not know what it is. */
  #copiedEntry(entry: KeyValue): LogEntry {
    const { key, revision } = entry;
    // Bytes that are no text are read as this character, so that several keys may look alike.
    const shown = key.includes("\uFFFD") ? undefined : shownEntry(entry, this.keys, this.form);
    if (shown !== undefined) return shown;
    const value = { bytes: Buffer.alloc(0), revisionOffset: -1 };
    return { key, value, revision, unreadable: "is no key of a kind that this version knows" };
  }
}
