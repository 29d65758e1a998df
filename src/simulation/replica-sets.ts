/** Keeps the number of pods that a ReplicaSet wants. Source: upstream's `pkg/controller/replicaset`. */
import type { ReconcileContext, RunnableController } from "#client/controllers.ts";
import { after, controller } from "#client/controllers.ts";
import { Pod, ReplicaSet } from "#client/kinds.ts";
import { oneLine } from "#std/printable.ts";
import {
  adopters,
  claim,
  createPod,
  inBatches,
  isActive,
  isAvailable,
  readOwned,
  readySince,
  remove,
  withCondition,
  writeStatus,
} from "./owned.ts";
import type { SimulationParts } from "./parts.ts";

/** The pods that one call makes or deletes at most. */
const burstMax = 500;

export const replicaSetController = ({ domain }: SimulationParts): RunnableController =>
  controller(ReplicaSet, {
    name: "replicaset",
    owns: [Pod],
    watches: [[Pod, adopters(ReplicaSet)]],
    concurrency: 5,
    async reconcile(set, context) {
      const { replicas = 1, minReadySeconds = 0, template } = set.spec;
      let pods = (await claim(context, [ReplicaSet, set], Pod)).filter(isActive);
      let failure: unknown;
      if (pods.length !== replicas) {
        pods = (await readOwned(context, set, Pod)).filter(isActive);
        const costOf = domain.rename("controller.kubernetes.io/pod-deletion-cost");
        try {
          await scale(context, set, pods, costOf);
        } catch (error) {
          failure = error;
        }
      }
      const nowMs = context.client.clock.now();
      const ready = pods.filter((pod) => readySince(pod) !== undefined);
      const available = ready.filter((pod) => isAvailable(pod, minReadySeconds, nowMs));
      const labels = Object.entries(template.metadata?.labels ?? {});
      const labeled = pods.filter(({ metadata }) => labels.every(([key, value]) => metadata.labels?.[key] === value));
      const { conditions } = set.status;
      const message = failure instanceof Error ? oneLine(failure.message) : "";
      await writeStatus(context, ReplicaSet, set, {
        replicas: pods.length,
        fullyLabeledReplicas: labeled.length || undefined,
        readyReplicas: ready.length || undefined,
        availableReplicas: available.length || undefined,
        observedGeneration: set.metadata.generation,
        conditions:
          failure === undefined
            ? conditions?.filter(({ type }) => type !== "ReplicaFailure")
            : withCondition(
                conditions,
                { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message },
                nowMs,
              ),
      });
      if (failure !== undefined) throw failure;
      return available.length < ready.length ? after(minReadySeconds * 1000) : undefined;
    },
  });

/** Makes or deletes pods. `pods` are the active ones, which it changes to those that are there then. */
async function scale(
  context: ReconcileContext<ReplicaSet>,
  set: ReplicaSet,
  pods: Pod[],
  costAnnotation: string,
): Promise<void> {
  const missing = (set.spec.replicas ?? 1) - pods.length;
  if (missing > 0) {
    const names = Array.from({ length: Math.min(missing, burstMax) });
    await inBatches(names, async () => pods.push(await createPod(context, set, set.spec.template)));
    return;
  }
  const rank = (pod: Pod): readonly number[] => deletionRank(pod, costAnnotation);
  const doomed = pods.toSorted((a, b) => compareRanks(rank(a), rank(b))).slice(0, Math.min(-missing, burstMax));
  await inBatches(doomed, async (pod) => {
    await remove(context, Pod, pod);
    pods.splice(pods.indexOf(pod), 1);
  });
}

/** Returns the reasons to delete a pod before others, the strongest first, as small numbers. Source: `ActivePodsWithRanks`. */
function deletionRank(pod: Pod, costAnnotation: string): readonly number[] {
  const { metadata, spec, status } = pod;
  const phase = ["Pending", "Unknown", "Running"].indexOf(status.phase ?? "Pending");
  const readyMs = readySince(pod);
  const cost = Number(metadata.annotations?.[costAnnotation] ?? 0);
  const restarts = Math.max(0, ...(status.containerStatuses ?? []).map(({ restartCount }) => restartCount));
  return [
    spec.nodeName === undefined ? 0 : 1,
    phase,
    readyMs === undefined ? 0 : 1,
    Number.isFinite(cost) ? cost : 0,
    -(readyMs ?? 0),
    -restarts,
    -Date.parse(metadata.creationTimestamp),
  ];
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at < 0 ? 0 : a[at]! - b[at]!;
}
