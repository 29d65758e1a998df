/**
 * A client of etcd that several stores of one process share: one connection, on which each store has a watch of its own. A
 * member is compared with the newest version that any of the stores has heard of.
 */
import type { EtcdClient, KnownVersion } from "./client.ts";

export class SharedClient {
  readonly #client: EtcdClient;
  readonly #known = new Set<() => KnownVersion | undefined>();

  constructor(client: EtcdClient) {
    this.#client = client;
    client.expect(() => this.#newest());
  }

  /** Returns the client of one store. Its `close` ends nothing but what the store expects. */
  open(): EtcdClient {
    const client = this.#client;
    let own: (() => KnownVersion | undefined) | undefined;
    return {
      get endpoint() {
        return client.endpoint;
      },
      range: (request, options) => client.range(request, options),
      transact: (transaction, options) => client.transact(transaction, options),
      watch: (request, follower) => client.watch(request, follower),
      compact: (revision, options) => client.compact(revision, options),
      grantLease: (seconds, options) => client.grantLease(seconds, options),
      renewLease: (lease, options) => client.renewLease(lease, options),
      revokeLease: (lease, options) => client.revokeLease(lease, options),
      leaseSeconds: (lease, options) => client.leaseSeconds(lease, options),
      status: (options) => client.status(options),
      expect: (known) => {
        if (own !== undefined) this.#known.delete(own);
        own = known;
        this.#known.add(known);
      },
      close: () => {
        if (own !== undefined) this.#known.delete(own);
      },
    };
  }

  close(): void {
    this.#client.close();
  }

  #newest(): KnownVersion | undefined {
    let newest: KnownVersion | undefined;
    for (const known of this.#known) {
      const version = known();
      if (version !== undefined && version.revision > (newest?.revision ?? 0)) newest = version;
    }
    return newest;
  }
}
