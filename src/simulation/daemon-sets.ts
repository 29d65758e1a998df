/** Keeps a pod of each DaemonSet on the simulated node, if it selects the node. Source: upstream's `pkg/controller/daemon`. */
import { controller, keyOf } from "#client/controllers.ts";
import { ControllerRevision, DaemonSet, Node, Pod } from "#client/kinds.ts";
import { nodeName } from "./parts.ts";
import { availability, hasEnded, isActive, keepLast, podOf } from "./pods.ts";
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
      const isOf = ({ metadata }: Pod, wanted: string): boolean => metadata.labels?.[revisionLabel] === wanted;

      const active = present.filter(isActive);
      // There is one node, so `maxUnavailable` is one pod.
      const isReplaced = (pod: Pod): boolean => updateStrategy.type !== "OnDelete" && !isOf(pod, hash);
      const isDoomed = (pod: Pod): boolean => !isWanted || hasEnded(pod) || isReplaced(pod);
      for (const pod of present.filter(isDoomed)) await context.remove(Pod, pod);
      const left = active.filter((pod) => !isDoomed(pod));
      // A pod that ends keeps its node until it has gone.
      if (isWanted && present.length === 0) {
        const metadata = { generateName: `${set.metadata.name}-`, labels: { [revisionLabel]: hash } };
        left.push(await context.create(Pod, podOf(template, metadata, { nodeName })));
      }

      const count = (is: boolean): number => (is ? 1 : 0);
      const { ready, available, again } = availability(left, minReadySeconds, context.client.clock.now());
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
      await keepLast(idle, revisionHistoryLimit, (one) => context.remove(ControllerRevision, one));
      return again;
    },
  });
