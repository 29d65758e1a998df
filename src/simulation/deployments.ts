/**
 * Rolls Deployments out by their ReplicaSets. Each step plans the numbers of replicas, and does what the plan changes.
 * Source: upstream's `pkg/controller/deployment`. Unlike there, nothing is scaled until every ReplicaSet has seen its last
 * change, so that `maxSurge` and `maxUnavailable` hold for pods at each moment.
 */
import { isDeepStrictEqual } from "node:util";
import { controller, controllerOf, type Lister, type ReconcileContext } from "#client/controllers.ts";
import { Deployment, Pod, type PodTemplateSpec, ReplicaSet } from "#client/kinds.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import {
  allOf,
  availableOf,
  deploymentStatus,
  limitsOf,
  type Sets,
  sum,
  untilDeadline,
  wantedOf,
} from "./deployment-status.ts";
import type { SimulationParts } from "./parts.ts";
import { hasEnded, hashOf, keepLast } from "./pods.ts";

type Context = ReconcileContext<Deployment>;

export const deploymentController = ({ domain }: SimulationParts) =>
  controller(Deployment, {
    owns: [ReplicaSet],
    selector: ({ spec }) => spec.selector,
    // A recreating update waits for pods to go.
    watches: [[Pod, deploymentOf]],
    async reconcile(deployment, context) {
      const claimed = (await context.claim(ReplicaSet)).toSorted(byAge);
      const present = claimed.find(({ spec }) => isSame(spec.template, deployment.spec.template));
      const old = claimed.filter((set) => set !== present);
      const current = await revise(deployment, { current: present, old }, context, domain);
      const sets = allOf({ current, old });
      if (sets.every(({ metadata, status }) => status.observedGeneration === metadata.generation)) {
        const plan = planOf(deployment, { current, old }, context.lister);
        for (const set of sets) await scale(set, plan.get(set) ?? wantedOf(set), context);
        const { replicas = 1, revisionHistoryLimit = 10 } = deployment.spec;
        const isComplete = sum(sets, ({ status }) => status.replicas) === replicas;
        const byRevision = old.toSorted((a, b) => revisionOf(a, domain) - revisionOf(b, domain));
        if (isComplete && current !== undefined && availableOf(current) === replicas)
          await keepLast(byRevision, revisionHistoryLimit, (one) => context.remove(ReplicaSet, one));
      }
      const nowMs = context.client.clock.now();
      const status = deploymentStatus(deployment, { current, old }, nowMs);
      await context.replaceStatus(status);
      return untilDeadline(deployment, status.conditions, nowMs);
    },
  });

/** Returns the Deployment of a pod. */
function deploymentOf(pod: Pod, lister: Lister): string | undefined {
  const { name = "" } = controllerOf(pod) ?? {};
  const set = lister.find(ReplicaSet, { name, namespace: pod.metadata.namespace });
  return set && controllerOf(set)?.name;
}

/** Whether some of the ReplicaSets have pods that run or are being deleted. */
const havePods = (sets: readonly ReplicaSet[], lister: Lister): boolean =>
  sets.some(({ metadata: { uid, namespace } }) =>
    lister.list(Pod, namespace).some((pod) => controllerOf(pod)?.uid === uid && !hasEnded(pod)),
  );

const byAge = ({ metadata: a }: ReplicaSet, { metadata: b }: ReplicaSet): number =>
  Date.parse(a.creationTimestamp) - Date.parse(b.creationTimestamp) || (a.name < b.name ? -1 : 1);

const hashLabel = "pod-template-hash";

/** Whether two templates are the same but for the label that a ReplicaSet adds. */
const isSame = (a: PodTemplateSpec, b: PodTemplateSpec): boolean => isDeepStrictEqual(bare(a), bare(b));

function bare({ metadata, spec }: PodTemplateSpec) {
  const { [hashLabel]: _, ...labels } = metadata?.labels ?? {};
  return { annotations: metadata?.annotations ?? {}, labels, spec };
}

/** Returns the replicas that ReplicaSets get next, if they are others than now. */
function planOf(deployment: Deployment, { current, old }: Sets, lister: Lister): Map<ReplicaSet, number> {
  const { replicas = 1, paused = false, strategy } = deployment.spec;
  const { maxSurge, maxUnavailable } = limitsOf(deployment);
  const sets = allOf({ current, old });
  const plan = new Map(sets.map((set) => [set, wantedOf(set)]));
  const total = sum(sets, wantedOf);
  /** Takes up to `count` replicas from ReplicaSets, oldest first; each can spare some. Returns how many are left. */
  const take = (count: number, from: readonly ReplicaSet[], spare: (set: ReplicaSet) => number): number =>
    from.reduce((left, set) => {
      const taken = Math.max(0, Math.min(left, spare(set)));
      plan.set(set, plan.get(set)! - taken);
      return left - taken;
    }, count);
  if (paused) {
    const active = sets.filter((set) => wantedOf(set) > 0);
    const newest = active.at(-1) ?? sets.at(-1);
    if (newest !== undefined && (active.length < 2 || total < replicas))
      return plan.set(newest, wantedOf(newest) + replicas - total);
    take(total - replicas - maxSurge, sets, wantedOf);
  } else if (current !== undefined && strategy.type === "Recreate") {
    take(total, old, wantedOf);
    const left = sum(old, (set) => wantedOf(set) + set.status.replicas);
    if (left === 0 && !havePods(old, lister)) plan.set(current, replicas);
  } else if (current !== undefined) {
    const wanted = wantedOf(current);
    const room = replicas + maxSurge - sum(sets, (set) => Math.max(wantedOf(set), set.status.replicas));
    if (wanted > replicas) return plan.set(current, replicas);
    if (wanted < replicas && room > 0) return plan.set(current, Math.min(replicas, wanted + room));
    const minAvailable = replicas - maxUnavailable;
    // Old pods that are not available go first.
    const spare = total - minAvailable - (wanted - availableOf(current));
    const left = take(spare, old, (set) => wantedOf(set) - availableOf(set));
    take(Math.min(left, sum(sets, availableOf) - minAvailable), old, (set) => plan.get(set)!);
  }
  return plan;
}

/** Sets the number of replicas. Numbers are those of a version, so a change by somebody else is a conflict. */
async function scale(set: ReplicaSet, replicas: number, { client, event }: Context): Promise<void> {
  const wanted = wantedOf(set);
  if (wanted === replicas) return;
  await client.kind(ReplicaSet).replace({ ...set, spec: { ...set.spec, replicas } });
  const note = `Scaled ${replicas > wanted ? "up" : "down"} replica set ${set.metadata.name} from ${wanted} to ${replicas}`;
  event("Normal", "ScalingReplicaSet", note, { action: "ScaleReplicaSet" });
}

const revisionName = "deployment.kubernetes.io/revision";

const revisionOf = ({ metadata }: ReplicaSet, { rename }: ApiDomain): number =>
  Number(metadata.annotations?.[rename(revisionName)] ?? 0) || 0;

/**
 * Makes the ReplicaSet of the present template, or gives it the newest revision and the annotations of the Deployment, as
 * `kubectl rollout undo` reads them. Returns it as it is then; a paused Deployment makes none.
 */
async function revise({ metadata, spec }: Deployment, { current, old }: Sets, context: Context, domain: ApiDomain) {
  const { minReadySeconds = 0, paused = false, selector, template } = spec;
  if (current === undefined && paused) return undefined;
  const [revision, history] = [domain.rename(revisionName), domain.rename(`${revisionName}-history`)];
  const lastApplied = domain.rename("kubectl.kubernetes.io/last-applied-configuration");
  const { [revision]: shown, [history]: _, [lastApplied]: __, ...inherited } = metadata.annotations ?? {};
  const annotations: Record<string, string> = { ...current?.metadata.annotations, ...inherited };
  const newest = Math.max(0, ...old.map((set) => revisionOf(set, domain)));
  const own = annotations[revision];
  if (own === undefined || Number(own) <= newest) {
    annotations[revision] = String(newest + 1);
    if (own !== undefined) annotations[history] = [annotations[history], own].filter(Boolean).join(",");
  }
  if (shown !== annotations[revision]) {
    const merge = { metadata: { annotations: { [revision]: annotations[revision] } } };
    await context.client.kind(Deployment).patch(metadata.name, { merge }, { in: metadata.namespace });
  }
  if (current !== undefined) {
    const next = { ...current, metadata: { ...current.metadata, annotations } };
    if (minReadySeconds === (current.spec.minReadySeconds ?? 0) && isDeepStrictEqual(next, current)) return current;
    return context.client.kind(ReplicaSet).replace({ ...next, spec: { ...current.spec, minReadySeconds } });
  }
  const hash = hashOf(bare(template));
  const labels = { ...template.metadata?.labels, [hashLabel]: hash };
  return context.create(ReplicaSet, {
    metadata: { name: `${metadata.name}-${hash}`, labels, annotations },
    spec: {
      replicas: 0,
      minReadySeconds,
      selector: { ...selector, matchLabels: { ...selector?.matchLabels, [hashLabel]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  });
}
