/**
 * Looks for kube-apiservers that serve the same store. They and this server do not respect each other's addresses, so a
 * start beside them is refused. Source: upstream's reconciler of masterleases and its controller of identity Leases.
 */
import type { Lease } from "#api/coordination/v1.ts";
import { renewedAnnotation } from "#controllers/identity-lease.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { timeToMs } from "#meta/time.ts";
import { type Clock, pause } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import { StartError } from "#std/start-error.ts";
import type { CacheRanges, CacheReader, Entry } from "#storage/watch-cache.ts";

interface Sources {
  readonly cache: CacheReader & CacheRanges;
  readonly clock: Clock;
  readonly log: Log;
  readonly domain: ApiDomain;
}

/** The keys of addresses of kube-apiservers, which live for 15 seconds and are removed at an orderly end. */
const masterLeases = "/registry/masterleases/";
/** The time within which a kube-apiserver that lives has renewed its Lease, whatever the clocks say. */
const recentMs = 60_000;
/** A bit more than the time in which a masterlease ends, and in which an identity Lease is renewed. */
const patienceMs = 16_000;
const lookMs = 200;

/**
 * Rejects with a `StartError` when a kube-apiserver lives. Where one has ended a short time ago, this is known only after
 * some seconds.
 */
export async function refuseBesideKubeApiServers(sources: Sources): Promise<void> {
  const { clock, log } = sources;
  const first = signsOf(sources);
  if (first.size === 0) return;
  log.info({ signs: [...first.keys()] }, "waiting to see whether kube-apiservers that used this store have ended");
  const { signal } = new AbortController();
  for (const endMs = clock.monotonic() + patienceMs; clock.monotonic() < endMs; ) {
    await pause(clock, lookMs, signal);
    const now = signsOf(sources);
    if (now.size === 0) return;
    const renewed = [...now].filter(([name, revision]) => first.get(name) !== revision).map(([name]) => name);
    if (renewed.length === 0) continue;
    throw new StartError(
      `kube-apiserver serves this store (${renewed.join(", ")}): stop it first, since it and this server do not respect each other's service addresses`,
    );
  }
}

/** Returns the signs of kube-apiservers that may live, with the revisions in which they were last given. */
function signsOf({ cache, clock, domain }: Sources): ReadonlyMap<string, number> {
  const signs = new Map<string, number>();
  for (const { key, revision } of cache.range(masterLeases).entries) {
    signs.set(`address ${key.slice(masterLeases.length)}`, revision);
  }
  const group = domain.rename("coordination.k8s.io");
  const leases = `/registry/${group}/leases/${domain.rename("kube-system")}/`;
  for (const entry of cache.range(`${leases}apiserver-`).entries) {
    if (isRenewedElsewhere(entry, clock.now())) signs.set(`Lease ${entry.key.slice(leases.length)}`, entry.revision);
  }
  return signs;
}

/** Whether an identity Lease was renewed by another program than this one not long ago. */
function isRenewedElsewhere({ value }: Entry, nowMs: number): boolean {
  let lease: Lease;
  try {
    lease = JSON.parse(value.toString()) as Lease; // a stored object
  } catch {
    return false;
  }
  const { renewTime } = lease.spec;
  if (renewTime === undefined || lease.metadata.annotations?.[renewedAnnotation] === renewTime) return false;
  const renewedMs = timeToMs(renewTime);
  return renewedMs !== undefined && Math.abs(nowMs - renewedMs) < recentMs;
}
