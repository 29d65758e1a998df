/**
 * The servers of one store know each other. Each writes a record that expires (`peers/presence.ts`), refuses to start where
 * it could not work with the others (`peers/agreement.ts`), and answers writes of objects that decide about requests when
 * all others act by them (`peers/in-force.ts`). A store of this process alone has no peers.
 */
import { hostname } from "node:os";
import type { EncryptionRule } from "#encryption/config.ts";
import type { WrittenObject } from "#http/scope.ts";
import { qualifiedResource } from "#meta/group-version.ts";
import type { IpRange } from "#meta/ip-range.ts";
import type { AnnouncedResources } from "#registry/store-informers.ts";
import { AppliedRevision } from "#registry/applied-revision.ts";
import { pause } from "#std/clock.ts";
import { andThen, isLate, type MaybePromise } from "#std/maybe-promise.ts";
import { StartError } from "#std/start-error.ts";
import type { Revision } from "#storage/log-store.ts";
import type { WatchCache } from "#storage/watch-cache.ts";
import { attemptMetrics } from "./attempt-metrics.ts";
import type { AuthenticationPlan } from "./authentication/plan.ts";
import type { ClientTrust } from "./authentication/client-trust.ts";
import { disagreement, toleratedDifferences } from "./peers/agreement.ts";
import { decidingResources } from "./peers/deciding.ts";
import { InForce } from "./peers/in-force.ts";
import { Presence } from "./peers/presence.ts";
import { type KindSettings, nameOf, type PeerRecord, type SharedSettings } from "./peers/record.ts";
import { kindSettings, sharedSettings } from "./peers/shared-settings.ts";
import { programVersion } from "./program-version.ts";
import type { KindsPlan } from "./served-kinds.ts";
import type { KindFlags } from "./served-kinds/flags.ts";
import type { ServerParts } from "./server-parts.ts";
import { type AddressFlags, advertisedAddress } from "./services/advertised-address.ts";

export interface Peers {
  /** The records of the other servers that live. */
  readonly others: readonly PeerRecord[];
  /** Whether this server ends. */
  readonly isStopping: boolean;
  /** The resources whose changes the others are told of when this server has taken them in. */
  readonly announced: AnnouncedResources;
  /** Resolves when what a request has written is in force on the others, with warnings about those that do not say so. */
  warningsOf(written: Pick<WrittenObject, "definition" | "revision">): MaybePromise<readonly string[]>;
  /** Resolves when a revision is in force on all others that live, or after a minute. */
  untilInForce(revision: Revision): Promise<void>;
  /** Says that this server answers requests from now on. Resolves when it may. */
  serve(): Promise<void>;
  /**
   * Resolves when this server has taken in what it missed while the others thought that it was gone; `undefined` when they
   * did not.
   */
  comeBack(): Promise<void> | undefined;
  /** Says that this server ends. */
  leave(): void;
  /** Says that it has ended. */
  close(): Promise<void>;
}

export interface PeersParts extends Pick<ServerParts, "domain" | "clock" | "random" | "log" | "metrics"> {
  readonly options: AddressFlags & Pick<KindFlags, "runtimeConfig">;
  readonly cache: WatchCache;
  readonly plans: {
    readonly authentication: Pick<AuthenticationPlan, "issuer">;
    readonly clusterIps: readonly IpRange[];
    readonly kinds: KindsPlan;
  };
  readonly clientTrust: Pick<ClientTrust, "clients">;
  /** Returns the rules of encryption in force. */
  encryptionRules(): readonly EncryptionRule[];
  /** The port at which the server listens. */
  readonly port: number;
}

/** The time after which the deletion of a definition goes on, whatever the other servers say. */
const untilInForceMs = 60_000;

export { refuseBesideKubeApiServers } from "./peers/kube-apiservers.ts";

/** Enters the servers of a store. Rejects with `StartError` when this server cannot be one of them. */
export async function openPeers(parts: PeersParts): Promise<Peers> {
  const { clock, domain, random, metrics, log } = parts;
  const applied = new AppliedRevision();
  const kinds = kindSettings(parts.plans.kinds, parts.options.runtimeConfig);
  const settings = (): SharedSettings => settingsOf(parts, kinds);
  const presence = new Presence({
    ...parts,
    id: random.uuid(),
    applied,
    describe: describer(parts, settings),
    changed: () => inForce.changed(),
  });
  const inForce = new InForce({
    clock,
    others: () => presence.others,
    ask: (revision) => presence.ask(revision),
  });
  try {
    await checkAgreement(parts, presence, settings());
    for (const peer of presence.others)
      for (const message of toleratedDifferences(settings(), peer)) log.warn({}, message);
  } catch (error) {
    await presence.close();
    throw error;
  }
  metrics.observable({ name: "binnacle_peers", help: "Other servers of the store that live.", type: "gauge" }, () => [
    { labels: [], value: presence.others.length },
  ]);
  const waited = attemptMetrics({
    metrics,
    clock,
    attempts: {
      name: "binnacle_peer_waits_total",
      help: "Writes that were answered when other servers acted by them, by result: in_force, or late where one did not say so.",
    },
    durations: { name: "binnacle_peer_wait_duration_seconds", help: "Time for which such writes waited, by result." },
  });
  const deciding = new Set(decidingResources.map((name) => domain.rename(name)));
  const announced: AnnouncedResources = { includes: (resource) => deciding.has(qualifiedResource(resource)), applied };
  return {
    get others() {
      return presence.others;
    },
    get isStopping() {
      return presence.isStopping;
    },
    announced,
    warningsOf({ definition, revision }) {
      if (!announced.includes(definition.storage)) return [];
      const startedMs = clock.monotonic();
      const late = inForce.wait(revision);
      return andThen(late, (servers) => {
        if (isLate(late) || servers.length > 0) waited(servers.length === 0 ? "in_force" : "late", startedMs);
        return servers.map(warning);
      });
    },
    untilInForce: (revision) => inForce.waitForAll(revision, untilInForceMs),
    serve: () => presence.serve(),
    comeBack: () => presence.comeBack(),
    leave: () => presence.leave(),
    close: () => presence.close(),
  };
}

const warning = (peer: PeerRecord): string =>
  `this write may not be in force on the server ${nameOf(peer)} yet, which has not said so within 2 seconds`;

/** Returns the function that says what this server is. */
function describer({ options, plans, clock, port }: PeersParts, settings: () => SharedSettings) {
  const address = advertisedAddress(options, plans.clusterIps[0]!.family);
  const about = {
    host: hostname(),
    address: address ?? options.bindAddress,
    port,
    isEndpoint: address !== undefined && options.endpointReconcilerType !== "none",
    version: programVersion(),
    started: new Date(clock.now()).toISOString(),
  };
  return () => ({ ...about, settings: settings() });
}

const settingsOf = (
  { options, plans, clientTrust, encryptionRules }: PeersParts,
  kinds: KindSettings,
): SharedSettings =>
  sharedSettings({
    issuer: plans.authentication.issuer,
    clientAuthorities: clientTrust.clients.fingerprints,
    serviceRanges: plans.clusterIps.map(({ text }) => text),
    nodePorts: options.serviceNodePortRange,
    encryption: encryptionRules(),
    kinds,
  });

const lookMs = 20;

/**
 * Writes the first record, and compares it with those of servers that were there before. One that cannot share the store
 * is in the way as long as it lives, which shows in that it answers with its own record.
 */
async function checkAgreement({ plans, clock }: PeersParts, presence: Presence, own: SharedSettings): Promise<void> {
  const entered = await presence.enter();
  const builtIn = plans.kinds.table.definitions.map(({ storage }) => storage);
  const messageOf = (peer: PeerRecord): string | undefined =>
    (peer.since === 0 ? peer.revision : peer.since) < entered ? disagreement(own, peer, builtIn) : undefined;
  const { signal } = new AbortController();
  for (;;) {
    const differing = presence.others.filter((peer) => messageOf(peer) !== undefined);
    if (differing.length === 0) return;
    const living = differing.find(({ revision }) => revision > entered);
    if (living !== undefined) throw new StartError(messageOf(living)!);
    await pause(clock, lookMs, signal);
  }
}
