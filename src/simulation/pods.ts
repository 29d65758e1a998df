/**
 * Plays scheduler and kubelet: binds pods to the simulated node, lets them run, become Ready and end, and removes those
 * that are being deleted. `pod-life.ts` says which state follows. Sources: upstream's `pkg/scheduler` and `pkg/kubelet`.
 */
import type { NodeSelectorTerm } from "#api/core/v1.ts";
import { after, controller, type Lister, type ReconcileContext, type RunnableController } from "#client/controllers.ts";
import { keyOf } from "#client/informer.ts";
import { Binding, Job, Node, PersistentVolumeClaim, Pod } from "#client/kinds.ts";
import { controllerOf } from "#client/owner.ts";
import { compileLabelSelector } from "#meta/label-selector.ts";
import type { Random } from "#std/random.ts";
import { NumberPool } from "#std/number-pool.ts";
import { withCondition, writeStatus } from "./owned.ts";
import { nodeName, type SimulationParts } from "./parts.ts";
import { ended, nextState, type PodRun } from "./pod-life.ts";

/** The name of the finalizer by which a Job counts each of its pods once. */
export const jobFinalizer = "batch.kubernetes.io/job-tracking";

export function podController(parts: SimulationParts): RunnableController {
  const runs = new PodRuns(parts.random);
  const finalizer = parts.domain.rename(jobFinalizer);
  return controller(Pod, {
    name: "pod",
    concurrency: 16,
    includesDeleted: true,
    watches: [
      [Node, (_, lister) => lister.list(Pod).filter(isWaiting).map(keyOf)],
      [
        PersistentVolumeClaim,
        ({ metadata: { name, namespace } }, lister) =>
          lister
            .list(Pod, namespace)
            .filter((pod) => isWaiting(pod) && claimNames(pod).includes(name))
            .map(keyOf),
      ],
    ],
    async reconcile(pod, context) {
      const { deletionTimestamp } = pod.metadata;
      if (pod.spec.nodeName === undefined && deletionTimestamp === undefined) return schedule(pod, context);
      const isDone = pod.status.phase === "Succeeded" || pod.status.phase === "Failed";
      if (isDone || deletionTimestamp !== undefined) runs.end(pod);
      if (deletionTimestamp !== undefined) return end(pod, context, finalizer);
      if (pod.spec.nodeName !== nodeName || isDone) return undefined;
      const nowMs = context.client.clock.now();
      const { status, waitMs } = nextState(pod, runs.of(pod, nowMs, context.lister), nowMs, parts.readyAfterMs);
      await writeStatus(context, Pod, pod, status);
      return waitMs === undefined ? undefined : after(waitMs);
    },
  });
}

const isWaiting = ({ spec, metadata }: Pod): boolean =>
  spec.nodeName === undefined && metadata.deletionTimestamp === undefined;

/** Returns the names of the claims that a pod uses. */
export const claimNames = ({ metadata, spec }: Pod): readonly string[] =>
  (spec.volumes ?? []).flatMap(({ name, ephemeral, persistentVolumeClaim: claim }) =>
    ephemeral !== undefined ? [`${metadata.name}-${name}`] : claim === undefined ? [] : [claim.claimName],
  );

/** Binds a pod to the node, or says why it cannot be. */
async function schedule(pod: Pod, context: ReconcileContext<Pod>): Promise<void> {
  const { name, namespace, uid } = pod.metadata;
  const { schedulerName = "default-scheduler", schedulingGates = [] } = pod.spec;
  if (schedulerName !== "default-scheduler" || schedulingGates.length > 0) return;
  const problem = obstacle(pod, context.lister);
  if (problem === undefined) {
    const binding = { metadata: { name, uid }, target: { kind: "Node", name: nodeName } };
    await context.client.kind(Pod).subresource("binding", Binding).create(name, binding, { in: namespace });
    return;
  }
  const stated = {
    type: "PodScheduled",
    status: "False",
    reason: "Unschedulable",
    message: problem,
    lastProbeTime: null,
  };
  const conditions = withCondition(pod.status.conditions, stated, context.client.clock.now());
  await writeStatus(context, Pod, pod, { ...pod.status, conditions });
  context.event("Warning", "FailedScheduling", problem, { action: "Scheduling" });
}

/** Returns why a pod cannot be bound to the node, in the scheduler's words. */
function obstacle(pod: Pod, lister: Lister): string | undefined {
  const { namespace } = pod.metadata;
  const node = lister.find(Node, nodeName);
  if (node === undefined) return "no nodes available to schedule pods";
  const claims = claimNames(pod).map(
    (name) => [name, lister.find(PersistentVolumeClaim, { name, namespace })] as const,
  );
  const absent = claims.find(([, found]) => found === undefined);
  const tolerates = (pod.spec.tolerations ?? []).some(
    ({ key, operator }) => operator === "Exists" && (key === undefined || key.endsWith("/unschedulable")),
  );
  const one = "0/1 nodes are available: ";
  if (absent !== undefined) return `${one}persistentvolumeclaim "${absent[0]}" not found.`;
  if (claims.some(([, found]) => found?.status.phase !== "Bound"))
    return `${one}pod has unbound immediate PersistentVolumeClaims.`;
  if (node.spec.unschedulable === true && !tolerates) return `${one}1 node(s) were unschedulable.`;
  return isSelected(node, pod) ? undefined : `${one}1 node(s) didn't match Pod's node affinity/selector.`;
}

/** Whether the selector and the required affinity of a pod allow a node. */
export function isSelected(node: Node, { spec: { nodeSelector = {}, affinity } }: Pick<Pod, "spec">): boolean {
  const labels = node.metadata.labels ?? {};
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return (
    Object.entries(nodeSelector).every(([key, value]) => labels[key] === value) &&
    (terms === undefined || terms === null || terms.some((term) => matchesTerm(node, term)))
  );
}

function matchesTerm({ metadata }: Node, { matchExpressions, matchFields }: NodeSelectorTerm): boolean {
  const byLabels = compileLabelSelector({ matchExpressions: matchExpressions ?? [] });
  const byFields = compileLabelSelector({ matchExpressions: matchFields ?? [] });
  if (byLabels === undefined || byFields === undefined || (byLabels.empty && byFields.empty)) return false;
  return byLabels.matches(metadata.labels) && byFields.matches({ "metadata.name": metadata.name });
}

/** Ends a pod that is being deleted. */
async function end(pod: Pod, context: ReconcileContext<Pod>, finalizer: string): Promise<void> {
  const { name, namespace, uid, finalizers = [] } = pod.metadata;
  const pods = context.client.kind(Pod).in(namespace ?? "");
  if (pod.spec.nodeName !== nodeName && pod.spec.nodeName !== undefined) return;
  if (!finalizers.includes(finalizer)) {
    await pods.delete(name, { gracePeriodSeconds: 0, preconditions: { uid } });
    return;
  }
  // A Job has to see how its pod ended, unless there is no such Job any more.
  const owner = controllerOf(pod);
  const job = owner && (await context.client.kind(Job).find(owner.name, { in: namespace }));
  if (job?.metadata.uid === owner?.uid && job?.metadata.deletionTimestamp === undefined) {
    if (pod.status.phase === "Succeeded" || pod.status.phase === "Failed") return;
    return writeStatus(context, Pod, pod, ended(pod, 143, "the pod was deleted", context.client.clock.now()));
  }
  const rest = finalizers.filter((one) => one !== finalizer);
  await pods.patch(name, { merge: { metadata: { uid, finalizers: rest } } });
}

/** The number of addresses of pods: 198.18.0.0/15, which RFC 2544 reserves for benchmarks and no network routes. */
const addressCount = 2 ** 17;

/** The runs of pods, with the address of each. */
class PodRuns {
  readonly #random: Random;
  readonly #runs = new Map<string, PodRun>();
  #addresses: NumberPool | undefined;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Returns the run of a pod, which begins now if there is none. */
  of(pod: Pod, nowMs: number, lister: Lister): PodRun {
    const { uid } = pod.metadata;
    const present = this.#runs.get(uid);
    if (present !== undefined) return present;
    // Pods that were deleted by force have left their runs behind.
    if (this.#runs.size > 2 * lister.list(Pod).length + 64) this.#forget(lister);
    const address = pod.status.podIP ?? this.#address(lister);
    const startMs = Date.parse(pod.status.containerStatuses?.[0]?.state.running?.startedAt ?? "");
    const run: PodRun = { address, startMs: Number.isNaN(startMs) ? nowMs : startMs };
    this.#runs.set(uid, run);
    return run;
  }

  end({ metadata: { uid } }: Pod): void {
    const run = this.#runs.get(uid);
    this.#runs.delete(uid);
    if (run?.address !== undefined) this.#addresses?.release(numberOf(run.address));
  }

  #forget(lister: Lister): void {
    const present = new Set(lister.list(Pod).map(({ metadata }) => metadata.uid));
    for (const uid of this.#runs.keys()) if (!present.has(uid)) this.#runs.delete(uid);
    this.#addresses = undefined;
  }

  #address(lister: Lister): string | undefined {
    if (this.#addresses === undefined) {
      this.#addresses = new NumberPool(addressCount, 1);
      const given = [
        ...lister.list(Pod).map(({ status }) => status.podIP),
        ...[...this.#runs.values()].map((run) => run.address),
      ];
      for (const address of new Set(given)) if (address !== undefined) this.#addresses.reserve(numberOf(address));
    }
    const number = this.#addresses.reserveAny(this.#random);
    return number === undefined ? undefined : `198.${18 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
  }
}

/** Returns the number of an address of a pod. */
const numberOf = (address: string): number =>
  address
    .split(".")
    .slice(1)
    .reduce((sum, part) => sum * 256 + Number(part), 0) -
  18 * 65_536;
