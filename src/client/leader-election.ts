/**
 * Leader election by a Lease: at most one candidate leads at a time. A leader stops `renewDeadline` after the start of
 * its last renewal, by the monotonic clock, and writes nothing later than that by the wall clock. Another candidate
 * takes the lease no sooner than `leaseDuration` after it saw that renewal. The first time is shorter, so two leaders
 * are impossible, whatever the clocks of the machines show. Source: the idea of upstream's `leaderelection`, with the
 * same times and the same Lease.
 */
import type { Lease, LeaseSpec } from "#api/coordination/v1.ts";
import { StatusError, serviceUnavailable } from "#meta/status-error.ts";
import { microTimestamp } from "#meta/time.ts";
import { type Clock, pause } from "#std/clock.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import type { Random } from "#std/random.ts";
import { ignoreNotFound, RestClient } from "./rest-client.ts";
import type { ClientRequest, LeaseVersion, Transport } from "./transport.ts";

/** Durations in milliseconds. */
export interface LeaseTimes {
  /** The time that other candidates wait after the last renewal that they observed. */
  readonly leaseDurationMs: number;
  /** The time for which a leader leads without a renewal. It is shorter than `leaseDurationMs`. */
  readonly renewDeadlineMs: number;
  /** The pause between two attempts to acquire or renew the lease. */
  readonly retryPeriodMs: number;
}

interface LeaderElectionOptions {
  readonly client: RestClient;
  /** The group version of leases, with Kubernetes' names or those of the server's domain: `coordination.k8s.io/v1`. */
  readonly apiVersion: string;
  readonly namespace: string;
  readonly name: string;
  /** Distinguishes this candidate from all others. */
  readonly identity: string;
  readonly times: LeaseTimes;
  readonly clock: Clock;
  readonly random: Random;
  /** Ends the election; a leader releases the lease. */
  readonly signal: AbortSignal;
  /**
   * Does the work of the leader until the term's signal is aborted. The lease is released when the promise has
   * resolved.
   */
  lead(term: Term): Promise<void>;
  failed(error: unknown): void;
}

/** The time in which one candidate leads. */
export interface Term {
  /** Aborted before another candidate can lead. */
  readonly signal: AbortSignal;
  /** Whether the lease is held at this moment. The signal may be late when the process was suspended. */
  isHeld(): boolean;
  /**
   * Returns the version of the lease with which this candidate leads; `undefined`: the term is over. `isRefused`: the
   * lease has another version, so this waits for a renewal that is on its way.
   */
  lease(isRefused?: boolean): MaybePromise<LeaseVersion | undefined>;
}

/** The factor by which attempts to acquire the lease are randomly further apart, as upstream. */
const jitter = 1.2;

/** Takes part in the election, term after term, until the signal is aborted. Never rejects. */
export async function electLeader(options: LeaderElectionOptions): Promise<void> {
  const candidate = new Candidate(options);
  const { clock, random, signal, times } = options;
  while (!signal.aborted) {
    if (await candidate.acquire()) await candidate.lead();
    await pause(clock, times.retryPeriodMs * (1 + random.next() * jitter), signal);
  }
}

class Candidate {
  readonly #options: LeaderElectionOptions;
  readonly #collection: string;
  /** The version of the lease that was observed last, and the time at which it was first observed. */
  #seen: { readonly version: string; readonly sinceMs: number } | undefined;
  /** The lease as this candidate last wrote it, unless the outcome of a later write is not known. */
  #own: Lease | undefined;
  /** The last version of the lease that this candidate wrote. */
  #version = "";
  /** The renewal that is on its way. */
  #renewing: Promise<unknown> | undefined;
  /** The time at which the last successful renewal began, by the monotonic clock. */
  #renewedMs = Number.NEGATIVE_INFINITY;
  /** The same time by the wall clock, which does not stop while a machine sleeps. */
  #renewedWallMs = Number.NEGATIVE_INFINITY;

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    this.#collection = `/apis/${options.apiVersion}/namespaces/${encodeURIComponent(options.namespace)}/leases`;
  }

  get #path(): string {
    return `${this.#collection}/${encodeURIComponent(this.#options.name)}`;
  }

  get #now(): string {
    return microTimestamp(this.#options.clock.now());
  }

  /** Tries to acquire the lease. Resolves with whether this candidate has it now. */
  async acquire(): Promise<boolean> {
    const { clock, failed, signal } = this.#options;
    const startMs = clock.monotonic();
    const startWallMs = clock.now();
    try {
      const lease = await ignoreNotFound(this.#options.client.get<Lease>(this.#path));
      if (lease !== undefined && !this.#isFree(lease)) return false;
      this.#wrote(await this.#take(lease));
      this.#renewedMs = startMs;
      this.#renewedWallMs = startWallMs;
      return true;
    } catch (error) {
      // Another candidate was first.
      if (!(error instanceof StatusError && error.status.code === 409) && !signal.aborted) failed(error);
      return false;
    }
  }

  /** Leads while the lease is renewed in time. */
  async lead(): Promise<void> {
    const { clock, signal, times } = this.#options;
    // The signal was aborted during the acquisition.
    if (signal.aborted) return this.#release();
    const end = new AbortController();
    const ended = (): void => end.abort();
    signal.addEventListener("abort", ended, { once: true });
    const isHeld = (): boolean =>
      !end.signal.aborted &&
      clock.monotonic() < this.#renewedMs + times.renewDeadlineMs &&
      clock.now() < this.#renewedWallMs + times.renewDeadlineMs;
    const { namespace, name } = this.#options;
    const term: Term = {
      signal: end.signal,
      isHeld,
      lease: (isRefused = false) =>
        andThen(isRefused ? this.#renewing : undefined, () =>
          isHeld() ? { namespace, name, resourceVersion: this.#version } : undefined,
        ),
    };
    // Invariant: the timer is set again after each renewal, so it fires exactly when the term is over.
    let cancel = this.#afterDeadline(ended);
    const leading = this.#options.lead(term).catch((error: unknown) => this.#options.failed(error));
    const over = leading.then(ended);
    while (!end.signal.aborted) {
      await pause(clock, times.retryPeriodMs, end.signal);
      if (end.signal.aborted) continue;
      const renewing = this.#renew(end.signal);
      this.#renewing = renewing;
      const isRenewed = await renewing;
      this.#renewing = undefined;
      if (!isRenewed) continue;
      cancel();
      cancel = this.#afterDeadline(ended);
    }
    cancel();
    signal.removeEventListener("abort", ended);
    await over;
    await this.#release();
  }

  #afterDeadline(ended: () => void): () => void {
    const { clock, times } = this.#options;
    return clock.after(Math.max(0, this.#renewedMs + times.renewDeadlineMs - clock.monotonic()), ended);
  }

  /** Whether the lease can be acquired: it was released, has expired as observed by this candidate, or is its own. */
  #isFree({ metadata: { resourceVersion = "" }, spec }: Lease): boolean {
    const now = this.#options.clock.monotonic();
    if (this.#seen?.version !== resourceVersion) this.#seen = { version: resourceVersion, sinceMs: now };
    const { holderIdentity = "", leaseDurationSeconds } = spec;
    if (holderIdentity === "" || holderIdentity === this.#options.identity) return true;
    const durationMs =
      leaseDurationSeconds === undefined ? this.#options.times.leaseDurationMs : leaseDurationSeconds * 1000;
    return now - this.#seen.sinceMs >= durationMs;
  }

  #take(lease: Lease | undefined): Promise<Lease> {
    const { apiVersion, client, identity, name, namespace } = this.#options;
    const time = this.#now;
    const before = lease?.spec;
    const isOwn = before?.holderIdentity === identity;
    const spec: LeaseSpec = {
      ...before,
      holderIdentity: identity,
      leaseDurationSeconds: this.#durationSeconds,
      acquireTime: isOwn ? (before.acquireTime ?? time) : time,
      renewTime: time,
      leaseTransitions: (before?.leaseTransitions ?? 0) + (before === undefined || isOwn ? 0 : 1),
    };
    const typed = { apiVersion, kind: "Lease" };
    if (lease === undefined)
      return client.create<Lease>(this.#collection, { ...typed, metadata: { name, namespace }, spec });
    // The update has the version that was read, so the first writer gets the lease.
    return client.update<Lease>(this.#path, { ...lease, ...typed, spec });
  }

  get #durationSeconds(): number {
    return Math.ceil(this.#options.times.leaseDurationMs / 1000);
  }

  /**
   * Renews the lease, and resolves with whether that succeeded. An answer after the end of the term changes nothing.
   */
  async #renew(term: AbortSignal): Promise<boolean> {
    const { apiVersion, client, clock, failed, identity } = this.#options;
    const startMs = clock.monotonic();
    const startWallMs = clock.now();
    try {
      const lease = this.#own ?? (await client.get<Lease>(this.#path));
      if (lease.spec.holderIdentity !== identity) {
        this.#renewedMs = Number.NEGATIVE_INFINITY;
        return true;
      }
      const spec = { ...lease.spec, renewTime: this.#now };
      const written = await client.update<Lease>(this.#path, { ...lease, apiVersion, kind: "Lease", spec });
      if (term.aborted) return false;
      this.#wrote(written);
      this.#renewedMs = startMs;
      this.#renewedWallMs = startWallMs;
      return true;
    } catch (error) {
      const isConflict = error instanceof StatusError && error.status.code === 409;
      const wasKnown = this.#own !== undefined;
      // The lease is read again before the next attempt, since a write whose answer was lost may have succeeded.
      this.#own = undefined;
      if (isConflict && wasKnown && !term.aborted) return this.#renew(term);
      if (!isConflict && !term.aborted) failed(error);
      return false;
    }
  }

  #wrote(lease: Lease): void {
    this.#own = lease;
    this.#version = lease.metadata.resourceVersion ?? "";
  }

  /** Releases the lease for other candidates at once, if it is still this candidate's. */
  async #release(): Promise<void> {
    const { apiVersion, client, failed, identity } = this.#options;
    this.#renewedMs = Number.NEGATIVE_INFINITY;
    this.#own = undefined;
    try {
      const lease = await ignoreNotFound(client.get<Lease>(this.#path));
      if (lease?.spec.holderIdentity !== identity) return;
      const time = this.#now;
      const { leaseTransitions = 0 } = lease.spec;
      const spec = {
        holderIdentity: "",
        leaseDurationSeconds: 1,
        acquireTime: time,
        renewTime: time,
        leaseTransitions,
      };
      await client.update<Lease>(this.#path, { ...lease, apiVersion, kind: "Lease", spec });
    } catch (error) {
      // The lease expires by itself.
      failed(error);
    }
  }
}

const writes: ReadonlySet<ClientRequest["method"]> = new Set(["DELETE", "PATCH", "POST", "PUT"]);

/**
 * Returns a client whose writes are made only during a term: each is checked before it is sent and cut off at the end.
 * Where the server of the transport is in this process, the store compares the version of the lease with each write, so
 * that no write of a leader comes after one of its successor.
 */
export const withLeaseGuard = (transport: Transport, term: Term): RestClient =>
  new RestClient(guardedTransport(transport, term));

/** Returns the transport of such a client. */
export function guardedTransport(transport: Transport, term: Term): Transport {
  const within = (request: ClientRequest): ClientRequest => ({
    ...request,
    lease: (isRefused) => term.lease(isRefused),
    signal: request.signal === undefined ? term.signal : AbortSignal.any([request.signal, term.signal]),
  });
  return {
    async request(request) {
      if (!writes.has(request.method)) return transport.request(request);
      if (!term.isHeld()) throw serviceUnavailable("this process no longer leads: its lease was not renewed in time");
      return transport.request(within(request));
    },
    stream: (request, onEvent) => transport.stream(request, onEvent),
  };
}
