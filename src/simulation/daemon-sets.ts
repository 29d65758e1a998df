/** Keeps a pod of each DaemonSet on the simulated node, if it selects the node. Source: upstream's `pkg/controller/daemon`. */
import { controller, keyOf } from "#client/controllers.ts";
import { ControllerRevision, DaemonSet, Node, Pod } from "#client/kinds.ts";
import { nodeName } from "./parts.ts";
import { availability, hasEnded, isActive, isAvailable, keepLast, podOf } from "./pods.ts";
import { keepRevisions, revisionLabel } from "./revisions.ts";
import { isSelected } from "./scheduler.ts";

export const daemonSetController = () =>
  controller(DaemonSet, {
    owns: [Pod, ControllerRevision],
    selector: ({ spec }) => spec.selector,
    watches: [[Node, (_, lister) => lister.list(DaemonSet).map(keyOf)]],
    async reconcile(set, context) {
      const { template, updateStrategy, minReadySeconds = 0, revisionHistoryLimit = 10 } = set.spec;
      const revisions = await keepRevisions(set, context);
      const hashOf = ({ metadata: { name } }: ControllerRevision): string => name.slice(set.metadata.name.length + 1);
      const hash = hashOf(revisions.at(-1)!); // there is one of the present template
      await context.claim(Pod);
      const present = await context.readOwned(Pod);
      const node = context.lister.find(Node, nodeName);
      const isWanted = node !== undefined && isSelected(node, template);
      const nowMs = context.client.clock.now();
      const isUp = (pod: Pod): boolean => isAvailable(pod, minReadySeconds, nowMs);
      const isOf = ({ metadata }: Pod, wanted: string): boolean => metadata.labels?.[revisionLabel] === wanted;

      const active = present.filter(isActive);
      const updated = active.find((pod) => isOf(pod, hash));
      const old = active.filter((pod) => !isOf(pod, hash));
      const { type, rollingUpdate } = updateStrategy;
      // On one node, a surge is one pod more, and `maxUnavailable` is one pod where there is no surge.
      const hasSurge = type !== "OnDelete" && parseInt(String(rollingUpdate?.maxSurge ?? 0), 10) > 0;
      const isSurging = hasSurge && updated === undefined && old.some(isUp);
      const isReplaced = updated === undefined ? type !== "OnDelete" && !isSurging : isUp(updated);
      const isDoomed = (pod: Pod): boolean => !isWanted || hasEnded(pod) || (isReplaced && old.includes(pod));
      for (const pod of present.filter(isDoomed)) await context.remove(Pod, pod);
      const left = active.filter((pod) => !isDoomed(pod));
      // A pod that ends keeps its node until it has gone.
      if (isWanted && (present.length === 0 || isSurging)) {
        const metadata = { generateName: `${set.metadata.name}-` };
        const details = { metadata, labels: { [revisionLabel]: hash }, spec: { nodeName } };
        left.push(await context.create(Pod, podOf(template, details)));
      }

      const count = (is: boolean): number => (is ? 1 : 0);
      const { ready, available, again } = availability(left, minReadySeconds, nowMs);
      await context.replaceStatus({
        ...set.status,
        observedGeneration: set.metadata.generation,
        desiredNumberScheduled: count(isWanted),
        currentNumberScheduled: count(left.length > 0),
        numberMisscheduled: count(!isWanted && active.length > 0),
        numberReady: count(ready > 0),
        updatedNumberScheduled: count(left.some((pod) => isOf(pod, hash))) || undefined,
        numberAvailable: count(available > 0) || undefined,
        numberUnavailable: count(isWanted && available === 0) || undefined,
      });
      const idle = revisions.slice(0, -1).filter((one) => !present.some((pod) => isOf(pod, hashOf(one))));
      await keepLast(context, [ControllerRevision, idle], revisionHistoryLimit);
      return again;
    },
  });
