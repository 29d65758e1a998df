/**
 * Keeps the numbered pods of StatefulSets and their claims, in order, and updates them from the last to the first. Source:
 * upstream's `pkg/controller/statefulset`.
 */
import type { PodSpec } from "#api/core/v1.ts";
import { ApiError } from "#client/api-error.ts";
import { after, controller, type ReconcileContext, type RunnableController } from "#client/controllers.ts";
import { ControllerRevision, PersistentVolumeClaim, Pod, StatefulSet } from "#client/kinds.ts";
import { controllerOf, referenceToOwner } from "#client/owner.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { adopters, claim, createPod, isActive, isAvailable, readySince, remove, writeStatus } from "./owned.ts";
import type { SimulationParts } from "./parts.ts";
import { forgetRevisions, keepRevisions, templateOf } from "./revisions.ts";

/** The label of a pod with the name of its revision. */
const revisionLabel = "controller-revision-hash";

export const statefulSetController = ({ domain }: SimulationParts): RunnableController =>
  controller(StatefulSet, {
    name: "statefulset",
    owns: [Pod, ControllerRevision],
    watches: [
      [Pod, adopters(StatefulSet)],
      [PersistentVolumeClaim, () => []],
    ],
    concurrency: 5,
    async reconcile(set, context) {
      const revisions = await keepRevisions(context, [StatefulSet, set], domain);
      const update = revisions.at(-1)!; // there is one of the present template
      const current = revisions.find(({ metadata }) => metadata.name === set.status.currentRevision) ?? update;
      const pods = (await claim(context, [StatefulSet, set], Pod)).filter((pod) => ordinalOf(set, pod) >= 0);
      await new Numbered({ context, set, domain, current, update }, pods).step();
      const nowMs = context.client.clock.now();
      const status = statusOf(set, pods, { current, update }, nowMs);
      await writeStatus(context, StatefulSet, set, status);
      const revisionsOfPods = new Set(pods.map(({ metadata }) => metadata.labels?.[revisionLabel]));
      const isLive = (one: ControllerRevision): boolean =>
        one === update || one === current || revisionsOfPods.has(one.metadata.name);
      await forgetRevisions(context, set, revisions, isLive);
      const { minReadySeconds = 0 } = set.spec;
      return (status.availableReplicas ?? 0) < (status.readyReplicas ?? 0) ? after(minReadySeconds * 1000) : undefined;
    },
  });

/** Returns the number at the end of the name of a pod; -1 when the pod cannot be one of the set. */
function ordinalOf({ metadata }: StatefulSet, pod: Pod): number {
  const number = pod.metadata.name.startsWith(`${metadata.name}-`)
    ? pod.metadata.name.slice(metadata.name.length + 1)
    : "";
  return /^\d{1,9}$/.test(number) ? Number(number) : -1;
}

interface Revisions {
  readonly current: ControllerRevision;
  readonly update: ControllerRevision;
}

const isOf = (pod: Pod, { metadata }: ControllerRevision): boolean =>
  pod.metadata.labels?.[revisionLabel] === metadata.name;

function statusOf(set: StatefulSet, all: readonly Pod[], { current, update }: Revisions, nowMs: number) {
  const { replicas = 1, minReadySeconds = 0, updateStrategy } = set.spec;
  const pods = all.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const ready = pods.filter((pod) => readySince(pod) !== undefined);
  const updated = pods.filter((pod) => isOf(pod, update)).length;
  const isComplete =
    updateStrategy.type === "RollingUpdate" &&
    updated === replicas &&
    ready.length === replicas &&
    all.length === replicas;
  return {
    ...set.status,
    observedGeneration: set.metadata.generation,
    replicas: all.length,
    readyReplicas: ready.length || undefined,
    availableReplicas: ready.filter((pod) => isAvailable(pod, minReadySeconds, nowMs)).length,
    currentReplicas: (isComplete ? updated : pods.filter((pod) => isOf(pod, current)).length) || undefined,
    updatedReplicas: updated || undefined,
    currentRevision: (isComplete ? update : current).metadata.name,
    updateRevision: update.metadata.name,
    collisionCount: set.status.collisionCount ?? 0,
  };
}

interface NumberedParts extends Revisions {
  readonly context: ReconcileContext<StatefulSet>;
  readonly set: StatefulSet;
  readonly domain: ApiDomain;
}

/** The pods of a set by number, and the next step with them. */
class Numbered {
  readonly #parts: NumberedParts;
  readonly #pods: readonly Pod[];
  /** The first number, and the number after the last one. */
  readonly #start: number;
  readonly #end: number;
  readonly #isOrdered: boolean;

  constructor(parts: NumberedParts, pods: readonly Pod[]) {
    const { replicas = 1, ordinals, podManagementPolicy } = parts.set.spec;
    this.#parts = parts;
    this.#pods = pods;
    this.#start = ordinals?.start ?? 0;
    this.#end = this.#start + replicas;
    this.#isOrdered = podManagementPolicy !== "Parallel";
  }

  /** Does what comes next. In order, nothing is done until all pods before are available. */
  async step(): Promise<void> {
    const { context, set, update } = this.#parts;
    for (let number = this.#start; number < this.#end; number++) {
      const pod = this.#pods.find((one) => ordinalOf(set, one) === number);
      if (pod === undefined) await this.#create(number);
      else if (pod.metadata.deletionTimestamp === undefined && !isActive(pod)) await remove(context, Pod, pod);
      if (this.#isOrdered && (pod === undefined || !this.#isHealthy(pod))) return;
    }
    const beyond = this.#pods.filter((pod) => ordinalOf(set, pod) < this.#start || ordinalOf(set, pod) >= this.#end);
    for (const pod of beyond.toSorted((a, b) => ordinalOf(set, b) - ordinalOf(set, a))) {
      if (pod.metadata.deletionTimestamp === undefined) await this.#scaleDown(pod);
      if (this.#isOrdered) return;
    }
    const { type, rollingUpdate } = set.spec.updateStrategy;
    if (type === "OnDelete") return;
    for (let number = this.#end - 1; number >= Math.max(this.#start, rollingUpdate?.partition ?? 0); number--) {
      const pod = this.#pods.find((one) => ordinalOf(set, one) === number);
      if (pod === undefined || (isOf(pod, update) && !this.#isHealthy(pod))) return;
      if (isOf(pod, update)) continue;
      if (pod.metadata.deletionTimestamp === undefined) await remove(context, Pod, pod);
      return;
    }
  }

  #isHealthy(pod: Pod): boolean {
    const { minReadySeconds = 0 } = this.#parts.set.spec;
    return isActive(pod) && isAvailable(pod, minReadySeconds, this.#parts.context.client.clock.now());
  }

  async #create(number: number): Promise<void> {
    const { context, set, domain, current, update } = this.#parts;
    const { updateStrategy, serviceName } = set.spec;
    const isHeldBack =
      updateStrategy.type === "RollingUpdate" && number < this.#start + (updateStrategy.rollingUpdate?.partition ?? 0);
    const revision = isHeldBack ? current : update;
    const template = templateOf(revision);
    const name = `${set.metadata.name}-${number}`;
    await this.#createClaims(number);
    try {
      await createPod(context, set, template, {
        name,
        labels: {
          [domain.rename("statefulset.kubernetes.io/pod-name")]: name,
          [domain.rename("apps.kubernetes.io/pod-index")]: String(number),
          [revisionLabel]: revision.metadata.name,
        },
        spec: { hostname: name, subdomain: serviceName, volumes: this.#volumes(template.spec, number) },
      });
    } catch (error) {
      // Memory may not have it yet, or another owner has a pod of this name: events of it come here again.
      if (!(error instanceof ApiError && error.reason === "AlreadyExists")) throw error;
    }
  }

  #claimName(
    template: PersistentVolumeClaim | { readonly metadata: { readonly name?: string } },
    number: number,
  ): string {
    return `${template.metadata.name}-${this.#parts.set.metadata.name}-${number}`;
  }

  /** Returns the volumes of a pod, with claims in the position of the templates of claims. */
  #volumes({ volumes = [] }: PodSpec, number: number): NonNullable<PodSpec["volumes"]> {
    const templates = this.#parts.set.spec.volumeClaimTemplates ?? [];
    const names = new Set(templates.map(({ metadata }) => metadata.name));
    const claims = templates.map((template) => ({
      name: template.metadata.name ?? "",
      persistentVolumeClaim: { claimName: this.#claimName(template, number) },
    }));
    return [...claims, ...volumes.filter(({ name }) => !names.has(name))];
  }

  async #createClaims(number: number): Promise<void> {
    const { context, set } = this.#parts;
    const { volumeClaimTemplates = [], selector, persistentVolumeClaimRetentionPolicy: policy } = set.spec;
    const { namespace } = set.metadata;
    for (const template of volumeClaimTemplates) {
      const name = this.#claimName(template, number);
      if (context.lister.find(PersistentVolumeClaim, { name, namespace }) !== undefined) continue;
      const { labels, annotations } = template.metadata;
      const { controller: _, blockOwnerDeletion: __, ...owner } = referenceToOwner(set);
      const metadata = {
        name,
        namespace,
        annotations,
        labels: { ...labels, ...selector?.matchLabels },
        ...(policy?.whenDeleted === "Delete" ? { ownerReferences: [owner] } : {}),
      };
      try {
        await context.client.kind(PersistentVolumeClaim).create({ metadata, spec: template.spec });
      } catch (error) {
        if (!(error instanceof ApiError && error.reason === "AlreadyExists")) throw error;
      }
    }
  }

  /** Deletes a pod with a number that is not wanted, and with it its claims where they are not retained. */
  async #scaleDown(pod: Pod): Promise<void> {
    const { context, set } = this.#parts;
    const { volumeClaimTemplates = [], persistentVolumeClaimRetentionPolicy: policy } = set.spec;
    const { namespace, name, uid } = pod.metadata;
    const claims = policy?.whenScaled === "Delete" ? volumeClaimTemplates : [];
    const ownerReferences = [{ apiVersion: "v1", kind: "Pod", name, uid }];
    for (const template of claims) {
      const claimName = this.#claimName(template, ordinalOf(set, pod));
      if (context.lister.find(PersistentVolumeClaim, { name: claimName, namespace }) === undefined) continue;
      const merge = { metadata: { ownerReferences } };
      await context.client.kind(PersistentVolumeClaim).patch(claimName, { merge }, { in: namespace });
    }
    if (controllerOf(pod)?.uid === set.metadata.uid) await remove(context, Pod, pod);
  }
}
