/**
 * Runs the selected controllers while this server leads, where several servers share a store. Listeners of a term are
 * removed at its end.
 */
import { hostname } from "node:os";
import { electLeader, type LeaseTimes, type Term } from "#client/leader-election.ts";
import type { RestClient } from "#client/rest-client.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import type { Random } from "#std/random.ts";
import { StartError } from "#std/start-error.ts";
import type { ControllerFlags } from "./flags.ts";

/** The factor by which an attempt may take longer than the period between two attempts; upstream's value. */
const jitter = 1.2;

/** Throws `StartError` for durations with which two servers could lead at the same time, or none for a long time. */
export function leaseTimes(options: ControllerFlags): LeaseTimes {
  const {
    leaderElectLeaseDurationMs: leaseDurationMs,
    leaderElectRenewDeadlineMs: renewDeadlineMs,
    leaderElectRetryPeriodMs: retryPeriodMs,
  } = options;
  if (leaseDurationMs <= renewDeadlineMs) {
    throw new StartError("--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline");
  }
  if (renewDeadlineMs <= jitter * retryPeriodMs) {
    throw new StartError("--leader-elect-renew-deadline must be greater than --leader-elect-retry-period by a fifth");
  }
  return { leaseDurationMs, renewDeadlineMs, retryPeriodMs };
}

interface ElectionOptions {
  readonly options: ControllerFlags;
  readonly client: RestClient;
  readonly domain: ApiDomain;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Runs the controllers until the term's signal is aborted. */
  lead(term: Term): Promise<void>;
}

/** Takes part in the election until the signal is aborted. */
export function electControllers(election: ElectionOptions): Promise<void> {
  const { options, client, domain, clock, random, log, signal, lead } = election;
  const { leaderElectResourceName: name, leaderElectResourceNamespace: namespace } = options;
  const identity = `${hostname()}_${random.uuid()}`;
  return electLeader({
    client,
    apiVersion: domain.rename("coordination.k8s.io/v1"),
    namespace: domain.rename(namespace),
    name,
    identity,
    times: leaseTimes(options),
    clock,
    random,
    signal,
    async lead(term) {
      log.info({ lease: `${namespace}/${name}`, identity }, "this server leads: its controllers start");
      await lead(term);
      log.info(
        { lease: `${namespace}/${name}`, identity },
        "this server no longer leads: its controllers have stopped",
      );
    },
    failed: (err) =>
      log.warn({ err, lease: `${namespace}/${name}` }, "could not get or renew the lease of controllers"),
  });
}

/**
 * Passes on the calls of a source whose listeners cannot be removed. `clear` removes the listeners added since the last
 * call of `clear`.
 */
export interface Relay<Args extends readonly unknown[]> {
  add(listener: (...args: Args) => void): void;
  clear(): void;
}

/** Returns a relay that adds one listener to `source`, for all terms. */
export function relay<Args extends readonly unknown[]>(
  source: (listener: (...args: Args) => void) => void,
): Relay<Args> {
  const listeners = new Set<(...args: Args) => void>();
  source((...args) => {
    for (const listener of listeners) listener(...args);
  });
  return { add: (listener) => void listeners.add(listener), clear: () => listeners.clear() };
}
