/**
 * Deletes objects whose owners are gone, and handles the finalizers of deleted owners: `foregroundDeletion` (wait for
 * dependents) and `orphan` (keep them). It watches the metadata of all resources, and confirms everything by live reads
 * before it writes. Source: upstream's garbage collector controller.
 */
import { untilAborted } from "#std/abort.ts";
import { pause } from "#std/clock.ts";
import { rateLimited } from "#std/log.ts";
import type { WorkQueue } from "#client/work-queue.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { Collector, type LookOutcome } from "./garbage-collector/collect.ts";
import { type GraphNode, OwnershipGraph, type ObservedObject } from "./garbage-collector/graph.ts";
import { LiveObjects } from "./garbage-collector/live.ts";
import { MisplacedOwners } from "./garbage-collector/misplaced-owners.ts";
import { Monitors } from "./garbage-collector/monitors.ts";
import { ResourceMap, type ServedResources } from "./garbage-collector/served.ts";
import { workQueue } from "./reconcile.ts";

export type { ServedResource, ServedResources } from "./garbage-collector/served.ts";

interface GarbageCollectorOptions {
  readonly served: ServedResources;
}

/** Upstream's number of concurrent syncs. */
const workersMax = 20;
const orphaningMax = 4;
/** The pause after a change of the served resources, before the next change is taken. */
const quietMs = 50;
/** The maximum time that the start waits for servers of resources that do not answer. */
const patienceMs = 30_000;

export const garbageCollectorController =
  (options: GarbageCollectorOptions): Controller =>
  (environment) =>
    new GarbageCollector(environment, options.served).run();

class GarbageCollector {
  readonly #environment: ControllerEnvironment;
  readonly #served: ServedResources;
  readonly #graph: OwnershipGraph;
  readonly #collector: Collector;
  readonly #monitors: Monitors;
  /** The uids of objects to examine. */
  readonly #looks: WorkQueue;
  /** The uids of owners whose dependents are to be orphaned. */
  readonly #orphans: WorkQueue;
  /** Objects to examine once all resources have been listed; `undefined` afterwards. */
  #early: Set<string> | undefined = new Set();
  /** Uids of objects that have to wait until other kinds are served. */
  #parked = new Set<string>();
  #resources: ResourceMap;
  #isStale = false;
  #syncing: Promise<void> | undefined;
  #started: Promise<void> | undefined;

  constructor(environment: ControllerEnvironment, served: ServedResources) {
    this.#environment = environment;
    this.#served = served;
    this.#resources = this.#read();
    const crowded = rateLimited(environment.clock, () =>
      environment.log.warn({}, "aggregated servers have too many objects with owners; some are not collected"),
    );
    this.#graph = new OwnershipGraph({
      unverified: (node) => this.#unverified(node),
      suspect: (node) => this.#suspect(node),
      crowded: () => crowded(undefined),
    });
    const misplaced = new MisplacedOwners(environment);
    const { client, domain, clock, signal } = environment;
    this.#collector = new Collector({
      graph: this.#graph,
      objects: new LiveObjects(client, domain),
      clock,
      signal,
      resources: () => this.#resources,
      suspect: (node) => this.#suspect(node),
      absentHere: (dependent, owner, of) => misplaced.ask(dependent, owner, of),
    });
    this.#looks = workQueue(environment, {
      name: "garbage_collector_attempt_to_delete",
      workersMax,
      // The examination begins a little later, since the graph calls in the middle of a change.
      work: async (uid) =>
        this.#parkIfUnknown(uid, await Promise.resolve(uid).then((one) => this.#collector.look(one))),
      logKey: "uid",
      failure: "could not collect an object; trying again",
    });
    this.#orphans = workQueue(environment, {
      name: "garbage_collector_attempt_to_orphan",
      workersMax: orphaningMax,
      work: async (uid) =>
        this.#parkIfUnknown(uid, await Promise.resolve(uid).then((one) => this.#collector.orphan(one))),
      logKey: "uid",
      failure: "could not orphan the dependents of an object; trying again",
    });
    this.#monitors = new Monitors({
      environment,
      graph: this.#graph,
      seen: (observed) => this.#seen(observed),
      gone: (node, isOwn) => this.#collector.gone(node, isOwn),
    });
  }

  async run(): Promise<void> {
    const { signal } = this.#environment;
    this.#served.onChange(() => this.#changed());
    this.#changed();
    await untilAborted(signal);
    await Promise.all([this.#syncing, this.#started]);
    await this.#monitors.close();
  }

  #read(): ResourceMap {
    return new ResourceMap(this.#served.list(), this.#environment.domain.rename("events.k8s.io"));
  }

  /** Called when other resources are served. */
  #changed(): void {
    this.#isStale = true;
    this.#syncing ??= this.#sync().finally(() => {
      this.#syncing = undefined;
      if (this.#isStale && !this.#environment.signal.aborted) this.#changed();
    });
  }

  async #sync(): Promise<void> {
    const { clock, signal } = this.#environment;
    while (this.#isStale && !signal.aborted) {
      this.#isStale = false;
      this.#resources = this.#read();
      const parked = this.#parked;
      this.#parked = new Set();
      for (const uid of parked) this.#again(uid);
      const { read } = await this.#monitors.sync(this.#resources);
      this.#started ??= Promise.race([read, pause(clock, patienceMs, signal)]).then(() => this.#start());
      // Definitions often come many at a time.
      await pause(clock, quietMs, signal);
    }
  }

  /** Examines the objects found so far, once all resources have been listed. */
  #start(): void {
    const early = this.#early;
    if (early === undefined) return;
    this.#early = undefined;
    for (const uid of early) this.#again(uid);
    for (const node of this.#graph.nodes()) if (node.state !== "observed") this.#looks.add(node.uid);
  }

  #seen(observed: ObservedObject): void {
    const node = this.#graph.observe(observed);
    if (node?.orphansDependents === true) this.#suspect(node);
  }

  #unverified({ uid }: GraphNode): void {
    // Most owners are seen at the start before anybody has to verify them.
    if (this.#early === undefined) this.#looks.add(uid);
  }

  #suspect({ uid }: GraphNode): void {
    if (this.#early === undefined) this.#again(uid);
    else this.#early.add(uid);
  }

  #again(uid: string): void {
    const node = this.#graph.get(uid);
    if (node === undefined) return;
    if (node.orphansDependents) this.#orphans.add(uid);
    this.#looks.add(uid);
  }

  #parkIfUnknown(uid: string, outcome: LookOutcome): "again" | undefined {
    if (outcome !== "unknown kind") return outcome === "again" ? "again" : undefined;
    this.#parked.add(uid);
    // Uids of objects that are gone need not be kept.
    if (this.#parked.size > 2 * this.#graph.size + 1000) {
      this.#parked = new Set([...this.#parked].filter((one) => this.#graph.get(one) !== undefined));
    }
    return undefined;
  }
}
