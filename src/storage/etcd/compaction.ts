/**
 * Compaction of the cluster's history by the servers that share it, with kube-apiserver's protocol: the key
 * `compact_rev_key` has the revision at which it was last written. Every interval each server tries to write it; the one
 * that succeeds compacts up to what the key said before, so that history is kept for one interval at least.
 */
import type { Clock } from "#std/clock.ts";

import { type EtcdCallOptions, type EtcdClient, EtcdError } from "./client.ts";

const compactionKey = "compact_rev_key";

interface Known {
  /** The revision of the key itself. */
  readonly version: number;
  /** The revision that the key said. */
  readonly revision: number;
}

interface CompactionOptions {
  readonly client: EtcdClient;
  readonly clock: Clock;
  /** The time between two compactions; 0 for never. */
  readonly intervalMs: number;
  readonly call: EtcdCallOptions;
  /** Called when history up to a revision is gone, whoever compacted it. */
  compacted(revision: number): void;
}

export class Compaction {
  readonly #options: CompactionOptions;
  #known: Known = { version: 0, revision: 0 };
  #cancel: (() => void) | undefined;
  #isStopped = false;

  constructor(options: CompactionOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock, intervalMs } = this.#options;
    if (intervalMs <= 0 || this.#isStopped) return;
    this.#cancel = clock.after(intervalMs, () => {
      // A cluster that cannot be reached is asked again at the next time.
      void this.#turn()
        .catch(() => undefined)
        .then(() => this.start());
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  /** Compacts up to a revision. */
  async compact(revision: number): Promise<void> {
    const { client, call, compacted } = this.#options;
    try {
      await client.compact(revision, call);
    } catch (error) {
      // Another server has compacted this revision or a later one.
      if (!(error instanceof EtcdError) || error.kind !== "compacted") throw error;
    }
    compacted(revision);
  }

  async #turn(): Promise<void> {
    const { client, call, compacted } = this.#options;
    const { version, revision } = this.#known;
    const { header } = await client.range({ key: compactionKey, countOnly: true }, call);
    const answer = await client.transact(
      {
        compare: [{ key: compactionKey, revision: version }],
        then: [{ kind: "put", key: compactionKey, value: Buffer.from(String(header.revision)) }],
        otherwise: [{ kind: "range", range: { key: compactionKey } }],
      },
      call,
    );
    if (answer.succeeded) {
      this.#known = { version: answer.header.revision, revision: header.revision };
      if (revision > 0) await this.compact(revision);
      return;
    }
    const entry = answer.ranges[0]?.entries[0];
    const said = Number(entry?.value.toString() ?? 0);
    this.#known = { version: entry?.revision ?? 0, revision: Number.isSafeInteger(said) ? said : 0 };
    // The server that was faster compacts up to what the key said before.
    if (revision > 0) compacted(revision);
  }
}
