/**
 * Keeps the numbered pods of StatefulSets and their claims, in order, and updates them from the last to the first. Source:
 * upstream's `pkg/controller/statefulset`.
 */
import { controller, inBatches, type ReconcileContext, referenceToOwner } from "#client/controllers.ts";
import { ControllerRevision, PersistentVolumeClaim, Pod, StatefulSet } from "#client/kinds.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { SimulationParts } from "./parts.ts";
import { availability, burstMax, hasEnded, isActive, isAvailable, keepLast, podOf } from "./pods.ts";
import { keepRevisions, revisionLabel, templateOf } from "./revisions.ts";

type Context = ReconcileContext<StatefulSet>;

export const statefulSetController = ({ domain }: SimulationParts) =>
  controller(StatefulSet, {
    owns: [Pod, ControllerRevision],
    selector: ({ spec }) => spec.selector,
    async reconcile(set, context) {
      const revisions = await keepRevisions(set, context);
      const update = revisions.at(-1)!; // there is one of the present template
      const current = revisions.find(({ metadata }) => metadata.name === set.status.currentRevision) ?? update;
      const pods = (await context.claim(Pod)).filter((pod) => numberOf(pod, set) >= 0);
      await step(set, { pods, current, update }, context, domain);
      const present = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      const { minReadySeconds = 0, replicas = 1, updateStrategy, revisionHistoryLimit = 10 } = set.spec;
      const { ready, available, again } = availability(present, minReadySeconds, context.client.clock.now());
      const updated = present.filter((pod) => isOf(pod, update)).length;
      const isComplete = [updated, ready, pods.length].every((count) => count === replicas);
      const base = isComplete && updateStrategy.type === "RollingUpdate" ? update : current;
      await context.replaceStatus({
        ...set.status,
        observedGeneration: set.metadata.generation,
        replicas: pods.length,
        readyReplicas: ready || undefined,
        availableReplicas: available,
        currentReplicas: present.filter((pod) => isOf(pod, base)).length || undefined,
        updatedReplicas: updated || undefined,
        currentRevision: base.metadata.name,
        updateRevision: update.metadata.name,
      });
      const idle = revisions.filter((one) => ![update, current].includes(one) && !pods.some((pod) => isOf(pod, one)));
      await keepLast(idle, revisionHistoryLimit, (one) => context.remove(ControllerRevision, one));
      return again;
    },
  });

/** Returns the number at the end of the name of a pod; -1 when the pod cannot be one of the set. */
function numberOf({ metadata: { name } }: Pod, { metadata }: StatefulSet): number {
  const rest = name.startsWith(`${metadata.name}-`) ? name.slice(metadata.name.length + 1) : "";
  return /^\d{1,9}$/.test(rest) ? Number(rest) : -1;
}

const isOf = ({ metadata: { labels } }: Pod, { metadata }: ControllerRevision): boolean =>
  labels?.[revisionLabel] === metadata.name;

interface Present {
  readonly pods: readonly Pod[];
  /** The revision before the update, and the one of the template. */
  readonly current: ControllerRevision;
  readonly update: ControllerRevision;
}

/** Does what comes next. In order, nothing is done until all pods before are available. */
async function step(set: StatefulSet, { pods, current, update }: Present, context: Context, domain: ApiDomain) {
  const { replicas = 1, ordinals, podManagementPolicy, updateStrategy, minReadySeconds = 0 } = set.spec;
  const start = ordinals?.start ?? 0;
  const partition = updateStrategy.rollingUpdate?.partition ?? 0;
  const isOrdered = podManagementPolicy !== "Parallel";
  const byNumber = new Map(pods.map((pod) => [numberOf(pod, set), pod]));
  const isUp = (pod: Pod | undefined) =>
    pod !== undefined && isActive(pod) && isAvailable(pod, minReadySeconds, context.client.clock.now());
  const end = start + replicas;
  const numbers = Array.from({ length: Math.min(replicas, pods.length + burstMax) }, (_, index) => start + index);
  const waiting = numbers.filter((number) => !isUp(byNumber.get(number))).slice(0, isOrdered ? 1 : undefined);
  const ended = waiting.flatMap((number) => byNumber.get(number) ?? []).filter(hasEnded);
  await inBatches(ended.slice(0, burstMax), (pod) => context.remove(Pod, pod));
  const missing = waiting.filter((number) => !byNumber.has(number)).slice(0, burstMax);
  const isHeldBack = (number: number) => updateStrategy.type === "RollingUpdate" && number < start + partition;
  await inBatches(missing, (number) => make(set, number, isHeldBack(number) ? current : update, context, domain));
  if (isOrdered && waiting.length > 0) return;
  const beyond = [...byNumber].filter(([number]) => number < start || number >= end).toSorted(([a], [b]) => b - a);
  await inBatches(beyond.slice(0, isOrdered ? 1 : burstMax), ([, pod]) => context.remove(Pod, pod));
  if (isOrdered && beyond.length > 0) return;
  if (updateStrategy.type === "OnDelete") return;
  for (let number = end - 1; number >= start + partition; number--) {
    const pod = byNumber.get(number);
    if (pod !== undefined && isOf(pod, update) && isUp(pod)) continue;
    if (pod !== undefined && !isOf(pod, update) && isActive(pod)) await context.remove(Pod, pod);
    return;
  }
}

/** Makes a pod, and before it the claims of its number that are missing. */
async function make(set: StatefulSet, number: number, from: ControllerRevision, context: Context, domain: ApiDomain) {
  const { serviceName, selector, volumeClaimTemplates = [], persistentVolumeClaimRetentionPolicy: policy } = set.spec;
  const { controller: _, blockOwnerDeletion: __, ...owner } = referenceToOwner(set);
  const template = templateOf(from);
  const volumes = new Map((template.spec.volumes ?? []).map((volume) => [volume.name, volume]));
  for (const { metadata, spec } of volumeClaimTemplates) {
    const labels = { ...metadata.labels, ...selector?.matchLabels };
    const ownerReferences = policy?.whenDeleted === "Delete" ? [owner] : [];
    const claimName = `${metadata.name}-${set.metadata.name}-${number}`;
    const own = { name: claimName, labels, annotations: metadata.annotations, ownerReferences };
    await context.create(PersistentVolumeClaim, { metadata: own, spec }, { owned: false });
    const { name = "" } = metadata;
    volumes.set(name, { name, persistentVolumeClaim: { claimName } });
  }
  const name = `${set.metadata.name}-${number}`;
  const labels = {
    [domain.rename("statefulset.kubernetes.io/pod-name")]: name,
    [domain.rename("apps.kubernetes.io/pod-index")]: String(number),
    [revisionLabel]: from.metadata.name,
  };
  const spec = { hostname: name, subdomain: serviceName, volumes: [...volumes.values()] };
  await context.create(Pod, podOf(template, { name, labels }, spec));
}
