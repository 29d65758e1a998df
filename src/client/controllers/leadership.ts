/** Work under a lease: at most one process does it at a time. */
import { hostname } from "node:os";
import { systemRandom } from "#std/random.ts";
import type { Cluster } from "../cluster.ts";
import { electLeader, guardedTransport, type LeaseTimes } from "../leader-election.ts";

/** The times are those of client-go. */
const usualTimes: LeaseTimes = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };

interface LeadershipOptions {
  /** `namespace/name`. */
  readonly lease: string;
  readonly identity: string;
  readonly times?: LeaseTimes | undefined;
  /** Ends the waiting; work that has begun is asked to end by its own means, and the lease is kept until it has. */
  readonly signal: AbortSignal;
  readonly failed: (error: unknown) => void;
}

/** The lease was lost while controllers were running: another process may lead now. */
export class LeadershipLostError extends Error {
  constructor(lease: string) {
    super(`the lease ${lease} was not renewed in time: another process may lead now, and this one has stopped`);
    this.name = "LeadershipLostError";
  }
}

/** Returns a name that no other process has. */
export const processIdentity = (): string => `${hostname()}_${systemRandom.uuid()}`;

/**
 * Waits until this process leads, and calls `work` once with a cluster whose writes are refused when the lease is lost.
 * `lost` is aborted at that moment. Resolves when the work has ended and the lease is released; rejects as the work does.
 */
export async function underLease(
  cluster: Cluster,
  { lease, identity, times = usualTimes, signal, failed }: LeadershipOptions,
  work: (cluster: Cluster, lost: AbortSignal) => Promise<void>,
): Promise<void> {
  const [namespace, name, ...more] = lease.split("/");
  if (namespace === undefined || namespace === "" || name === undefined || name === "" || more.length > 0)
    throw new TypeError(`${JSON.stringify(lease)} is no lease: write "namespace/name"`);
  const apiVersion = `coordination.${await cluster.domain()}/v1`;
  const end = new AbortController();
  let isLeading = false;
  let outcome: Promise<void> = Promise.resolve();
  const stopped = (): void => {
    if (!isLeading) end.abort();
  };
  if (signal.aborted) stopped();
  signal.addEventListener("abort", stopped, { once: true });
  await electLeader({
    client: cluster.rest,
    apiVersion,
    namespace,
    name,
    identity,
    times,
    clock: cluster.clock,
    random: systemRandom,
    signal: end.signal,
    async lead(term) {
      isLeading = true;
      outcome = work(
        cluster.through((transport) => guardedTransport(transport, term)),
        term.signal,
      );
      // The outcome is the caller's.
      await outcome.catch(() => undefined);
      end.abort();
    },
    failed,
  });
  signal.removeEventListener("abort", stopped);
  await outcome;
}
