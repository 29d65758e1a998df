/**
 * Coordinated leader election: chooses among the LeaseCandidates of a Lease the one with the oldest emulation version,
 * so that during an upgrade no newer leader writes objects that older servers cannot read. Candidates are pinged
 * (`pingTime`) and answer by a renewal. A leader that should yield sees the `preferredHolder`. Source: upstream's
 * leader election controller.
 */
import type { Lease, LeaseSpec } from "#api/coordination/v1.ts";
import type { LeaseCandidate } from "#api/coordination/v1alpha2.ts";
import type { Informer } from "#client/informer.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import type { WorkQueue } from "#client/work-queue.ts";
import { microTimestamp, timeToMs } from "#meta/time.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { best, strategyOf } from "./coordinated-election/choice.ts";
import { inNamespace, objectPath } from "./paths.ts";
import { periodically } from "./repeat.ts";
import { follow, openInformer, workQueue } from "./reconcile.ts";

/** Upstream's time in which candidates have to answer, and for which an answer counts. */
const electionMs = 5000;
/** Upstream's duration of a Lease that this controller makes. */
const leaseSeconds = 5;
/** Upstream's time after which a candidate that does not renew has no part in elections. */
const candidateMs = 30 * 60_000;
/** Upstream's time between two deletions of such candidates. */
const collectionMs = 30 * 60_000;
const workersMax = 1;

export const coordinatedElectionController: Controller = (environment) => new Elections(environment).run();

class Elections {
  readonly #environment: ControllerEnvironment;
  readonly #candidates: Informer<LeaseCandidate>;
  readonly #group: string;
  readonly #candidatesPath: string;
  readonly #leasesPath: string;
  readonly #queue: WorkQueue;

  constructor(environment: ControllerEnvironment) {
    this.#environment = environment;
    this.#group = environment.domain.rename("coordination.k8s.io");
    this.#candidatesPath = `/apis/${this.#group}/v1alpha2/leasecandidates`;
    this.#leasesPath = `/apis/${this.#group}/v1/leases`;
    this.#candidates = openInformer<LeaseCandidate>(environment, {
      what: "lease candidates",
      path: this.#candidatesPath,
    });
    this.#queue = workQueue(environment, {
      name: "leader-election-controller",
      workersMax,
      work: (key) => this.#work(key),
      logKey: "lease",
      failure: "could not elect the holder of a lease; trying again",
    });
  }

  async run(): Promise<void> {
    this.#candidates.subscribe(({ object: { metadata, spec } }) => {
      this.#queue.add(`${metadata.namespace}/${spec.leaseName}`);
    });
    const changed = ({ metadata: { namespace = "", name = "" } }: Lease): void => {
      // Most leases are those of nodes and of elections without candidates.
      if (this.#of(namespace, name).length > 0) this.#queue.add(`${namespace}/${name}`);
    };
    void this.#collect();
    await follow<Lease>(this.#environment, {
      what: "leases",
      path: this.#leasesPath,
      changesOnly: true,
      replaced: () => undefined,
      changed: (_type, lease) => changed(lease),
    });
  }

  #of(namespace: string, leaseName: string): LeaseCandidate[] {
    return this.#candidates.in(namespace).filter(({ spec }) => spec.leaseName === leaseName);
  }

  async #work(key: string): Promise<void> {
    await this.#candidates.synced;
    const [namespace = "", name = ""] = key.split("/");
    const { client, clock } = this.#environment;
    const now = clock.now();
    const candidates = this.#of(namespace, name).filter(({ spec }) => !isGone(spec, now));
    if (candidates.length === 0) return;
    const strategy = strategyOf(candidates);
    if (strategy !== "OldestEmulationVersion") return;
    const lease = await ignoreNotFound(client.get<Lease>(objectPath(this.#leasesPath, key)));
    // The election is examined again: nobody reports the expiry of a lease.
    this.#queue.addAfter(key, electionMs);
    if (lease !== undefined && !isFree(lease.spec, now)) {
      const isRight = lease.spec.holderIdentity === best(candidates)?.metadata.name && lease.spec.strategy === strategy;
      if (isRight) return;
    }
    if (!(await this.#haveAnswered(candidates, now))) return;
    const present = candidates.filter(({ spec }) => now - renewedMs(spec) < electionMs);
    const electee = best(present)?.metadata.name;
    if (electee === undefined) throw new Error(`no candidate of the lease ${key} answers`);
    await this.#write({ name, namespace }, lease, { strategy, electee, now });
  }

  /** Pings candidates without a recent renewal. Returns whether all have answered or timed out. */
  async #haveAnswered(candidates: readonly LeaseCandidate[], now: number): Promise<boolean> {
    let isComplete = true;
    for (const candidate of candidates) {
      const { spec, metadata } = candidate;
      const pingedMs = timeToMs(spec.pingTime ?? "", "micro");
      const isSilent = pingedMs !== undefined && renewedMs(spec) < pingedMs;
      if (isSilent && now - pingedMs < electionMs) isComplete = false;
      if (isSilent || now - renewedMs(spec) < electionMs) continue;
      const path = objectPath(this.#candidatesPath, metadata);
      const typed = { ...candidate, apiVersion: `${this.#group}/v1alpha2`, kind: "LeaseCandidate" };
      const asked = { ...typed, spec: { ...spec, pingTime: microTimestamp(now) } };
      await ignoreNotFound(this.#environment.client.update<LeaseCandidate>(path, asked));
      isComplete = false;
    }
    return isComplete;
  }

  /** Deletes the candidates that have disappeared, at the start and every half hour. */
  async #collect(): Promise<void> {
    await this.#candidates.synced;
    const failure = "could not delete lease candidates that have disappeared; trying again in half an hour";
    await periodically(this.#environment, collectionMs, failure, async () => {
      const now = this.#environment.clock.now();
      for (const candidate of this.#candidates.list()) if (isGone(candidate.spec, now)) await this.#remove(candidate);
    });
  }

  async #remove({ metadata }: LeaseCandidate): Promise<void> {
    const { uid, resourceVersion } = metadata;
    const path = objectPath(this.#candidatesPath, metadata);
    await ignoreNotFound(this.#environment.client.delete(path, { preconditions: { uid, resourceVersion } }));
  }

  async #write(
    { name, namespace }: { readonly name: string; readonly namespace: string },
    lease: Lease | undefined,
    { strategy, electee, now }: { readonly strategy: string; readonly electee: string; readonly now: number },
  ): Promise<void> {
    const { client } = this.#environment;
    const typed = { apiVersion: `${this.#group}/v1`, kind: "Lease" };
    const fresh = {
      holderIdentity: electee,
      leaseDurationSeconds: leaseSeconds,
      renewTime: microTimestamp(now),
      strategy,
    };
    if (lease === undefined) {
      const path = inNamespace(this.#leasesPath, namespace);
      await client.create<Lease>(path, { ...typed, metadata: { name, namespace }, spec: fresh });
      return;
    }
    const { preferredHolder, ...before } = lease.spec;
    const isFreeNow = isFree(lease.spec, now);
    const preferred = before.holderIdentity === electee ? undefined : electee;
    // The Lease is written only once: each write is an event, after which it is examined again.
    if (!isFreeNow && before.strategy === strategy && preferredHolder === preferred) return;
    // Only the holder writes when it acquired the lease, and how often.
    const spec: LeaseSpec = isFreeNow
      ? { ...before, ...fresh }
      : { ...before, strategy, ...(preferred === undefined ? {} : { preferredHolder: preferred }) };
    await client.update<Lease>(objectPath(this.#leasesPath, lease.metadata), { ...lease, ...typed, spec });
  }
}

const renewedMs = ({ renewTime = "" }: LeaseCandidate["spec"]): number => timeToMs(renewTime, "micro") ?? 0;

/** Whether nothing was heard of a candidate for a long time. */
const isGone = (spec: LeaseCandidate["spec"], now: number): boolean => renewedMs(spec) + candidateMs < now;

/** Whether the lease has no holder, or has expired. */
function isFree({ holderIdentity = "", renewTime = "", leaseDurationSeconds = 0 }: LeaseSpec, now: number): boolean {
  const ms = timeToMs(renewTime, "micro");
  return holderIdentity === "" || ms === undefined || ms + leaseDurationSeconds * 1000 < now;
}
