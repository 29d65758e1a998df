/** Binds pods to the simulated node, or says why it cannot. Source: upstream's `pkg/scheduler`. */
import { controller, keyOf, type Lister, setCondition } from "#client/controllers.ts";
import { Binding, Node, type NodeSelectorTerm, PersistentVolumeClaim, Pod, type Toleration } from "#client/kinds.ts";
import { compileLabelSelector } from "#meta/label-selector.ts";
import { nodeName } from "./parts.ts";

export const schedulerController = () =>
  controller(Pod, {
    name: "scheduler",
    concurrency: 16,
    watches: [
      [Node, (_, lister) => waitingPods(lister, undefined)],
      [PersistentVolumeClaim, ({ metadata }, lister) => waitingPods(lister, metadata.namespace)],
    ],
    async reconcile(pod, { client, lister, replaceStatus, event }) {
      const { name, namespace, uid } = pod.metadata;
      if (!isWaiting(pod)) return;
      const problem = obstacle(pod, lister);
      const binding = { metadata: { name, uid }, target: { kind: "Node", name: nodeName } };
      if (problem === undefined)
        return void (await client.kind(Pod).subresource("binding", Binding).create(name, binding, { in: namespace }));
      const stated = { type: "PodScheduled", status: "False", reason: "Unschedulable", message: problem };
      const conditions = setCondition(pod.status.conditions, { ...stated, lastProbeTime: null }, client.clock.now());
      await replaceStatus({ ...pod.status, conditions });
      event("Warning", "FailedScheduling", problem, { action: "Scheduling" });
    },
  });

/** Whether a pod waits for this scheduler. */
const isWaiting = ({ spec: { nodeName: bound, schedulerName = "default-scheduler", schedulingGates = [] } }: Pod) =>
  bound === undefined && schedulerName === "default-scheduler" && schedulingGates.length === 0;

const waitingPods = (lister: Lister, namespace: string | undefined): readonly string[] =>
  lister.list(Pod, namespace).filter(isWaiting).map(keyOf);

/** Returns the names of the claims that a pod uses. */
export const claimNames = ({ metadata, spec }: Pod): readonly string[] =>
  (spec.volumes ?? []).flatMap(({ name, ephemeral, persistentVolumeClaim: claim }) =>
    ephemeral !== undefined ? [`${metadata.name}-${name}`] : claim === undefined ? [] : [claim.claimName],
  );

/** Returns why a pod cannot be bound to the node, in the scheduler's words. */
function obstacle(pod: Pod, lister: Lister): string | undefined {
  const { namespace } = pod.metadata;
  const node = lister.find(Node, nodeName);
  if (node === undefined) return "no nodes available to schedule pods";
  const tolerates = ({ key, operator }: Toleration) =>
    operator === "Exists" && (key?.endsWith("/unschedulable") ?? true);
  const none = "0/1 nodes are available: ";
  for (const name of claimNames(pod)) {
    const claim = lister.find(PersistentVolumeClaim, { name, namespace });
    if (claim === undefined) return `${none}persistentvolumeclaim "${name}" not found.`;
    if (claim.status.phase !== "Bound") return `${none}pod has unbound immediate PersistentVolumeClaims.`;
  }
  if (node.spec.unschedulable === true && !pod.spec.tolerations?.some(tolerates))
    return `${none}1 node(s) were unschedulable.`;
  return isSelected(node, pod) ? undefined : `${none}1 node(s) didn't match Pod's node affinity/selector.`;
}

/** Whether the selector and the required affinity of a pod allow a node. */
export function isSelected({ metadata }: Node, { spec: { nodeSelector = {}, affinity } }: Pick<Pod, "spec">): boolean {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const matches = ({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): boolean =>
    (matchExpressions ?? []).length + (matchFields ?? []).length > 0 &&
    compileLabelSelector({ matchExpressions })?.matches(metadata.labels) === true &&
    compileLabelSelector({ matchExpressions: matchFields })?.matches({ "metadata.name": metadata.name }) === true;
  const isLabeled = compileLabelSelector({ matchLabels: nodeSelector })?.matches(metadata.labels) === true;
  return isLabeled && (terms?.some(matches) ?? true);
}
