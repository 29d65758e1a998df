/**
 * A client of etcd that several stores of one process share: one connection, on which each store has a watch of its own. A
 * member is compared with the newest version that any of the stores has heard of.
 */
import type { EtcdClient, KnownVersion } from "./client.ts";

/** The parameters of `EtcdClient.expect`. */
interface Expectation {
  readonly known: () => KnownVersion | undefined;
  readonly doubted: () => void;
}

export class SharedClient {
  readonly #client: EtcdClient;
  readonly #expectations = new Set<Expectation>();

  constructor(client: EtcdClient) {
    this.#client = client;
    client.expect(
      () => this.#newest(),
      () => {
        // The version of one store says what all of them may believe.
        for (const { doubted } of this.#expectations) doubted();
      },
    );
  }

  /** Returns the client of one store. Its `close` ends nothing but what the store expects. */
  open(): EtcdClient {
    const client = this.#client;
    let own: Expectation | undefined;
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
      expect: (known, doubted) => {
        if (own !== undefined) this.#expectations.delete(own);
        own = { known, doubted };
        this.#expectations.add(own);
      },
      close: () => {
        if (own !== undefined) this.#expectations.delete(own);
      },
    };
  }

  close(): void {
    this.#client.close();
  }

  #newest(): KnownVersion | undefined {
    let newest: KnownVersion | undefined;
    for (const { known } of this.#expectations) {
      const version = known();
      if (version !== undefined && version.revision > (newest?.revision ?? 0)) newest = version;
    }
    return newest;
  }
}
