/**
 * Deletes pods that no other controller deletes: pods of deleted nodes, terminating pods on nodes that are out of
 * service, terminating pods that were never scheduled, and the oldest ended pods beyond a limit. Source: upstream's pod
 * garbage collector.
 */
import type { Node, Pod } from "#api/core/v1.ts";
import { type InformerEvent, keyOf } from "#client/informer.ts";
import { ignoreNotFound, jsonBody } from "#client/rest-client.ts";
import type { WorkQueue } from "#client/work-queue.ts";
import { timestampOf, timeToMs } from "#meta/time.ts";
import { untilAborted } from "#std/abort.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { ignoreCodes } from "./ignore-codes.ts";
import { objectPath } from "./paths.ts";
import { isTerminal } from "./pods.ts";
import { workQueue } from "./reconcile.ts";
import type { SharedInformers } from "./shared-informers.ts";

interface PodGcOptions {
  readonly informers: SharedInformers;
  /** The maximum number of ended pods that are kept; 0 keeps all. */
  readonly terminatedMax: number;
}

/** Upstream's time for which a node may be missing before its pods are deleted. */
const quarantineMs = 40_000;
/** The time after the end of a pod at which ended pods are counted. */
const gatherMs = 1000;
const workersMax = 4;

export const podGcController =
  (options: PodGcOptions): Controller =>
  (environment) =>
    new PodGc(environment, options).run();

/** The reason of a deletion in the condition of the pod; upstream gives no other reasons. */
const nodeIsGone = "PodGC: node no longer exists";

class PodGc {
  readonly #environment: ControllerEnvironment;
  readonly #informers: SharedInformers;
  readonly #terminatedMax: number;
  readonly #outOfService: string;
  /** The keys of pods that may have to be deleted. */
  readonly #pods: WorkQueue;
  /** The names of nodes that are missing. */
  readonly #nodes: WorkQueue;
  /** A queue with only one key, for all pods that have ended. */
  readonly #terminated: WorkQueue;
  /** The keys of pods by the name of their node, if the node is missing. */
  readonly #orphans = new Map<string, Set<string>>();
  /** The keys of pods that have ended. */
  readonly #ended = new Set<string>();
  #isGathering = false;

  constructor(environment: ControllerEnvironment, { informers, terminatedMax }: PodGcOptions) {
    this.#environment = environment;
    this.#informers = informers;
    this.#terminatedMax = terminatedMax;
    this.#outOfService = environment.domain.rename("node.kubernetes.io/out-of-service");
    const failure = "could not delete a pod that nobody else deletes; trying again";
    this.#pods = workQueue(environment, {
      name: "terminating_pods",
      workersMax,
      work: (key) => this.#look(key),
      logKey: "pod",
      failure,
    });
    this.#nodes = workQueue(environment, {
      name: "orphaned_pods_nodes",
      workersMax: 1,
      work: (name) => this.#collectOrphans(name),
      logKey: "node",
      failure,
    });
    this.#terminated = workQueue(environment, {
      name: "terminated_pods",
      workersMax: 1,
      work: () => this.#collectTerminated(),
      logKey: "pods",
      failure,
    });
  }

  async run(): Promise<void> {
    const { nodes } = this.#informers;
    nodes.subscribe((event) => this.#nodeChanged(event));
    await nodes.synced;
    this.#informers.pods.subscribe((event) => this.#podChanged(event));
    await untilAborted(this.#environment.signal);
  }

  #podChanged(event: InformerEvent<Pod>): void {
    const { object: pod } = event;
    const key = keyOf(pod);
    const node = pod.spec.nodeName ?? "";
    const nodeBefore = event.type === "changed" ? (event.previous.spec.nodeName ?? "") : "";
    if (event.type === "deleted") {
      this.#release(node, key);
      this.#ended.delete(key);
      return;
    }
    if (nodeBefore !== node) this.#release(nodeBefore, key);
    if (isTerminal(pod)) this.#ended.add(key);
    else this.#ended.delete(key);
    if (node !== "" && this.#informers.nodes.get(node) === undefined) this.#miss(node, key);
    if (pod.metadata.deletionTimestamp !== undefined) this.#pods.add(key);
    if (this.#terminatedMax > 0 && this.#ended.size > this.#terminatedMax && !this.#isGathering) {
      this.#isGathering = true;
      this.#terminated.addAfter("terminated", gatherMs);
    }
  }

  #nodeChanged(event: InformerEvent<Node>): void {
    const { type, object: node } = event;
    const name = keyOf(node);
    if (type === "deleted") {
      for (const pod of this.#podsOn(name)) this.#miss(name, keyOf(pod));
      return;
    }
    this.#orphans.delete(name);
    const wasOut = type === "changed" && this.#isOutOfService(event.previous);
    if (!wasOut && this.#isOutOfService(node)) for (const pod of this.#podsOn(name)) this.#pods.add(keyOf(pod));
  }

  #podsOn(node: string): readonly Pod[] {
    return this.#informers.pods.list().filter(({ spec }) => spec.nodeName === node);
  }

  #miss(node: string, key: string): void {
    const pods = this.#orphans.get(node);
    if (pods !== undefined) {
      pods.add(key);
      return;
    }
    this.#orphans.set(node, new Set([key]));
    this.#nodes.addAfter(node, quarantineMs);
  }

  #release(node: string, key: string): void {
    const pods = this.#orphans.get(node);
    if (pods?.delete(key) === true && pods.size === 0) this.#orphans.delete(node);
  }

  #isOutOfService({ spec: { taints = [] }, status: { conditions = [] } }: Node): boolean {
    const isReady = conditions.some(({ type, status }) => type === "Ready" && status === "True");
    return !isReady && taints.some(({ key }) => key === this.#outOfService);
  }

  /** Deletes the pods of a node that has been missing for long, unless the node exists by now. */
  async #collectOrphans(name: string): Promise<void> {
    const keys = this.#orphans.get(name);
    if (keys === undefined) return;
    const node = await ignoreNotFound(this.#environment.client.get(objectPath("/api/v1/nodes", name)));
    this.#orphans.delete(name);
    if (node !== undefined) return;
    const pods = [...keys]
      .flatMap((key) => this.#informers.pods.get(key) ?? [])
      .filter(({ spec }) => spec.nodeName === name);
    await this.#deleteEach(pods, nodeIsGone, (pod) => {
      this.#orphans.set(name, (this.#orphans.get(name) ?? new Set()).add(keyOf(pod)));
    });
  }

  /** Deletes a pod that is being deleted if no kubelet will do it. */
  async #look(key: string): Promise<void> {
    const pod = this.#informers.pods.get(key);
    if (pod?.metadata.deletionTimestamp === undefined) return;
    const { nodeName = "" } = pod.spec;
    if (nodeName === "") return this.#delete(pod);
    const node = this.#informers.nodes.get(nodeName);
    if (node !== undefined && this.#isOutOfService(node)) await this.#delete(pod);
  }

  /** Deletes ended pods beyond the limit: first evicted ones, then those that were created first. */
  async #collectTerminated(): Promise<void> {
    this.#isGathering = false;
    const count = this.#ended.size - this.#terminatedMax;
    if (count <= 0) return;
    const order = (pod: Pod): number =>
      pod.status.reason === "Evicted" ? 0 : (timeToMs(pod.metadata.creationTimestamp ?? "") ?? 0);
    const pods = [...this.#ended].flatMap((key) => this.#informers.pods.get(key) ?? []);
    const oldest = pods.map((pod) => ({ pod, at: order(pod) })).sort((one, other) => one.at - other.at);
    await this.#deleteEach(oldest.slice(0, count).map(({ pod }) => pod));
  }

  /** Deletes all pods; rejects at the end if some could not be deleted. `failed` is called for each of these. */
  async #deleteEach(pods: readonly Pod[], why?: string, failed?: (pod: Pod) => void): Promise<void> {
    const errors: unknown[] = [];
    for (const pod of pods) {
      if (this.#environment.signal.aborted) return;
      try {
        await this.#delete(pod, why);
      } catch (error) {
        errors.push(error);
        failed?.(pod);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  /** Marks the pod as failed, so that it does not count as running while finalizers keep it, and deletes it at once. */
  async #delete(pod: Pod, why?: string): Promise<void> {
    const { uid } = pod.metadata;
    const path = objectPath("/api/v1/pods", pod.metadata);
    if (!isTerminal(pod)) await ignoreCodes([404, 409, 422], this.#fail(path, pod, why));
    await ignoreCodes(
      [404, 409],
      this.#environment.client.delete(path, { gracePeriodSeconds: 0, preconditions: { uid } }),
    );
  }

  async #fail(path: string, { metadata: { uid }, status }: Pod, why?: string): Promise<void> {
    const { client, clock } = this.#environment;
    const type = "DisruptionTarget";
    const wasSet = status.conditions?.some((condition) => condition.type === type && condition.status === "True");
    const condition = {
      type,
      status: "True",
      reason: "DeletionByPodGC",
      message: why,
      ...(wasSet === true ? {} : { lastTransitionTime: timestampOf(clock.now()) }),
    };
    const conditions = why === undefined ? {} : { conditions: [condition] };
    await client.call({
      method: "PATCH",
      path: `${path}/status`,
      ...jsonBody(
        { metadata: { uid }, status: { phase: "Failed", ...conditions } },
        "application/strategic-merge-patch+json",
      ),
    });
  }
}
