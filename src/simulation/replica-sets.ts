/** Keeps the number of pods that a ReplicaSet wants. Source: upstream's `pkg/controller/replicaset`. */
import { controller, inBatches, setCondition } from "#client/controllers.ts";
import { Pod, ReplicaSet } from "#client/kinds.ts";
import { oneLine } from "#std/printable.ts";
import type { SimulationParts } from "./parts.ts";
import { availability, burstMax, isActive, isReady, podOf, readySince } from "./pods.ts";

export const replicaSetController = ({ domain }: SimulationParts) =>
  controller(ReplicaSet, {
    owns: [Pod],
    selector: ({ spec }) => spec.selector,
    async reconcile(set, { claim, readOwned, create, remove, replaceStatus, client }) {
      const { replicas = 1, minReadySeconds = 0, template } = set.spec;
      let pods = (await claim(Pod)).filter(isActive);
      // Memory may lack pods that were made just before, so a difference counts only if the server has it, too.
      if (pods.length !== replicas) pods = (await readOwned(Pod)).filter(isActive);
      const costName = domain.rename("controller.kubernetes.io/pod-deletion-cost");
      const missing = Array.from({ length: Math.min(Math.max(0, replicas - pods.length), burstMax) });
      const surplus = pods
        .toSorted((a, b) => compare(deletionRank(a, costName), deletionRank(b, costName)))
        .slice(0, Math.min(Math.max(0, pods.length - replicas), burstMax));
      const draft = podOf(template, { generateName: `${set.metadata.name}-` }, {});
      let failure: unknown;
      try {
        await inBatches(missing, async () => pods.push(await create(Pod, draft)));
        await inBatches(surplus, async (pod) => {
          await remove(Pod, pod);
          pods.splice(pods.indexOf(pod), 1);
        });
      } catch (error) {
        failure = error;
      }
      const nowMs = client.clock.now();
      const message = failure instanceof Error ? oneLine(failure.message) : "";
      const failed = { type: "ReplicaFailure", status: "True", reason: "FailedCreate", message };
      const conditions = set.status.conditions?.filter(({ type }) => type !== failed.type);
      const { ready, available, again } = availability(pods, minReadySeconds, nowMs);
      await replaceStatus({
        replicas: pods.length,
        fullyLabeledReplicas: pods.length || undefined,
        readyReplicas: ready || undefined,
        availableReplicas: available || undefined,
        observedGeneration: set.metadata.generation,
        conditions: failure === undefined ? conditions : setCondition(set.status.conditions, failed, nowMs),
      });
      if (failure !== undefined) throw failure;
      return again;
    },
  });

/** Returns the reasons to delete a pod before others, the strongest first, as small numbers. Source: `ActivePodsWithRanks`. */
function deletionRank(pod: Pod, costName: string): readonly number[] {
  const { metadata, spec } = pod;
  const cost = Number(metadata.annotations?.[costName] ?? 0) || 0;
  const times = [isReady(pod) ? -readySince(pod) : 0, -Date.parse(metadata.creationTimestamp)];
  return [spec.nodeName === undefined ? 0 : 1, isReady(pod) ? 1 : 0, cost, ...times];
}

const compare = (a: readonly number[], b: readonly number[]): number =>
  a.map((value, index) => value - b[index]!).find((difference) => difference !== 0) ?? 0;
