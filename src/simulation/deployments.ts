/**
 * Rolls Deployments out by their ReplicaSets: new ones, revisions, rolling and recreating updates, scaling in proportion,
 * history. Source: upstream's `pkg/controller/deployment`. Unlike there, nothing is scaled until every ReplicaSet has
 * seen its last change, so that `maxSurge` and `maxUnavailable` hold for pods at each moment.
 */
import { isDeepStrictEqual } from "node:util";
import { ApiError } from "#client/api-error.ts";
import { controller, type ReconcileContext, type RunnableController } from "#client/controllers.ts";
import { Deployment, Pod, ReplicaSet } from "#client/kinds.ts";
import { controllerOf, referenceToOwner } from "#client/owner.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { availableOf, deploymentStatus, limitsOf, progressWait, sum, wantedOf } from "./deployment-status.ts";
import { adopters, claim, hashOf, isActive, remove, writeStatus } from "./owned.ts";
import type { SimulationParts } from "./parts.ts";

export const deploymentController = ({ domain }: SimulationParts): RunnableController =>
  controller(Deployment, {
    name: "deployment",
    owns: [ReplicaSet],
    watches: [
      [ReplicaSet, adopters(Deployment)],
      [Pod, (pod, lister) => deploymentOf(controllerOf(pod)?.name, lister.list(ReplicaSet, pod.metadata.namespace))],
    ],
    concurrency: 5,
    async reconcile(deployment, context) {
      const sets = (await claim(context, [Deployment, deployment], ReplicaSet)).toSorted(byAge);
      const rollout = new Rollout(context, deployment, sets, namesIn(domain));
      await rollout.step();
      const status = deploymentStatus(deployment, rollout.sets, rollout.current, context.client.clock.now());
      if (rollout.collided) status.collisionCount = (status.collisionCount ?? 0) + 1;
      await writeStatus(context, Deployment, deployment, { ...deployment.status, ...status });
      return progressWait(deployment, status, context.client.clock.now());
    },
  });

/** Returns the Deployment of a pod that is deleted or ends, for which a recreating update may wait. */
function deploymentOf(name: string | undefined, sets: readonly ReplicaSet[]): readonly string[] {
  const owner = controllerOf(sets.find(({ metadata }) => metadata.name === name) ?? { metadata: {} });
  return owner?.kind === "Deployment" ? [owner.name] : [];
}

const byAge = ({ metadata: a }: ReplicaSet, { metadata: b }: ReplicaSet): number =>
  a.creationTimestamp === b.creationTimestamp
    ? a.name < b.name
      ? -1
      : 1
    : a.creationTimestamp < b.creationTimestamp
      ? -1
      : 1;

const hashLabel = "pod-template-hash";

const namesIn = ({ rename }: ApiDomain) => ({
  revision: rename("deployment.kubernetes.io/revision"),
  history: rename("deployment.kubernetes.io/revision-history"),
  desired: rename("deployment.kubernetes.io/desired-replicas"),
  max: rename("deployment.kubernetes.io/max-replicas"),
  lastApplied: rename("kubectl.kubernetes.io/last-applied-configuration"),
});

const revisionOf = ({ metadata }: ReplicaSet, name: string): number => Number(metadata.annotations?.[name] ?? 0) || 0;

/** The ReplicaSets of a Deployment, and one step of its rollout. */
class Rollout {
  readonly #context: ReconcileContext<Deployment>;
  readonly #names: ReturnType<typeof namesIn>;
  readonly #deployment: Deployment;
  /** All ReplicaSets, oldest first, as they were last written. */
  sets: readonly ReplicaSet[];
  /** Whether a ReplicaSet of another template has the name that the new one would have. */
  collided = false;

  constructor(
    context: ReconcileContext<Deployment>,
    deployment: Deployment,
    sets: readonly ReplicaSet[],
    names: ReturnType<typeof namesIn>,
  ) {
    this.#context = context;
    this.#names = names;
    this.#deployment = deployment;
    this.sets = sets;
  }

  /** The ReplicaSet of the present template. */
  get current(): ReplicaSet | undefined {
    return this.sets.find(({ spec }) =>
      isDeepStrictEqual(comparable(spec.template), comparable(this.#deployment.spec.template)),
    );
  }

  get #old(): readonly ReplicaSet[] {
    const { current } = this;
    return this.sets.filter((set) => set !== current);
  }

  async step(): Promise<void> {
    const { paused = false, replicas = 1, strategy } = this.#deployment.spec;
    if (this.current !== undefined) await this.#revise(this.current);
    // Sets that have not followed their last change would have pods counted wrong.
    if (this.sets.some(({ metadata, status }) => status.observedGeneration !== metadata.generation)) return;
    const active = this.sets.filter((set) => wantedOf(set) > 0);
    const isScaled = active.some(
      ({ metadata }) => Number(metadata.annotations?.[this.#names.desired] ?? replicas) !== replicas,
    );
    if (paused || isScaled) await this.#scaleInProportion(active);
    else if (strategy.type === "Recreate") await this.#recreate(replicas);
    else await this.#roll(replicas);
    if (this.#isComplete()) await this.#forgetOld();
  }

  async #roll(replicas: number): Promise<void> {
    const { maxSurge, maxUnavailable } = limitsOf(this.#deployment);
    const total = sum(this.sets, (set) => Math.max(wantedOf(set), set.status.replicas));
    const room = Math.max(0, replicas + maxSurge - total);
    const { current } = this;
    if (current === undefined) return void (await this.#create(Math.min(replicas, room)));
    const wanted = wantedOf(current);
    if (wanted > replicas) return this.#scale(current, replicas);
    if (wanted < replicas && room > 0) return this.#scale(current, Math.min(replicas, wanted + room));
    const old = this.#old.filter((set) => wantedOf(set) > 0);
    const minAvailable = replicas - maxUnavailable;
    let spare = sum(this.sets, wantedOf) - minAvailable - (wanted - availableOf(current));
    // Old pods that are not available go first.
    for (const set of old) {
      const doomed = Math.min(spare, wantedOf(set) - availableOf(set));
      if (doomed <= 0) continue;
      spare -= doomed;
      await this.#scale(set, wantedOf(set) - doomed);
    }
    let surplus = Math.min(spare, sum(this.sets, availableOf) - minAvailable);
    for (const set of this.#old) {
      const doomed = Math.min(surplus, wantedOf(set));
      if (doomed <= 0) continue;
      surplus -= doomed;
      await this.#scale(set, wantedOf(set) - doomed);
    }
  }

  async #recreate(replicas: number): Promise<void> {
    const old = this.#old;
    const running = old.filter((set) => wantedOf(set) > 0);
    for (const set of running) await this.#scale(set, 0);
    const owners = new Set(old.map(({ metadata }) => metadata.uid));
    const pods = this.#context.lister.list(Pod, this.#deployment.metadata.namespace);
    const isOld = (pod: Pod): boolean => owners.has(controllerOf(pod)?.uid ?? "");
    const ends = (pod: Pod): boolean => isActive(pod) || pod.metadata.deletionTimestamp !== undefined;
    if (running.length > 0 || pods.some((pod) => isOld(pod) && ends(pod))) return;
    const { current } = this;
    if (current === undefined) await this.#create(replicas);
    else await this.#scale(current, replicas);
  }

  /** Follows a change of the number of replicas, also while paused or in the middle of a rollout. */
  async #scaleInProportion(active: readonly ReplicaSet[]): Promise<void> {
    const { replicas = 1, strategy } = this.#deployment.spec;
    const only = active.length > 1 ? undefined : (active[0] ?? this.current ?? this.sets.at(-1));
    if (only !== undefined) return this.#scale(only, replicas);
    if (active.length === 0) return;
    const { current } = this;
    if (current !== undefined && wantedOf(current) === replicas && availableOf(current) === replicas) {
      for (const set of this.#old) if (wantedOf(set) > 0) await this.#scale(set, 0);
      return;
    }
    if (strategy.type === "Recreate") return;
    const total = sum(active, wantedOf);
    const allowed = replicas > 0 ? replicas + limitsOf(this.#deployment).maxSurge : 0;
    const toAdd = allowed - total;
    const sorted = active.toSorted((a, b) => wantedOf(b) - wantedOf(a) || (toAdd > 0 ? byAge(b, a) : byAge(a, b)));
    let left = toAdd;
    const shares = sorted.map((set) => {
      const before = Number(set.metadata.annotations?.[this.#names.max] ?? allowed) || allowed || 1;
      const exact = Math.round((wantedOf(set) * allowed) / before) - wantedOf(set);
      const share = toAdd > 0 ? Math.min(Math.max(exact, 0), left) : Math.max(Math.min(exact, 0), left);
      left -= share;
      return share;
    });
    for (const [index, set] of sorted.entries()) {
      await this.#scale(set, Math.max(0, wantedOf(set) + shares[index]! + (index === 0 ? left : 0)));
    }
  }

  #annotations(): Readonly<Record<string, string>> {
    const { replicas = 1 } = this.#deployment.spec;
    const { maxSurge } = limitsOf(this.#deployment);
    return { [this.#names.desired]: String(replicas), [this.#names.max]: String(replicas + maxSurge) };
  }

  /** Sets the number of replicas. Numbers are those of a version, so a change by somebody else is a conflict. */
  async #scale(set: ReplicaSet, replicas: number): Promise<void> {
    const annotations = { ...set.metadata.annotations, ...this.#annotations() };
    if (wantedOf(set) === replicas && isDeepStrictEqual(annotations, set.metadata.annotations)) return;
    await this.#write(set, { ...set, metadata: { ...set.metadata, annotations }, spec: { ...set.spec, replicas } });
    if (wantedOf(set) === replicas) return;
    const direction = replicas > wantedOf(set) ? "up" : "down";
    const note = `Scaled ${direction} replica set ${set.metadata.name} from ${wantedOf(set)} to ${replicas}`;
    this.#context.event("Normal", "ScalingReplicaSet", note, { action: "ScaleReplicaSet" });
  }

  async #write(set: ReplicaSet, next: ReplicaSet): Promise<void> {
    const { namespace } = set.metadata;
    const written = await this.#context.client.kind(ReplicaSet).replace(next, { in: namespace });
    this.sets = this.sets.map((one) => (one === set ? written : one));
  }

  /** Gives the present set the newest revision and the annotations of the Deployment, as `kubectl rollout undo` reads them. */
  async #revise(set: ReplicaSet): Promise<void> {
    const { revision, history } = this.#names;
    const newest = Math.max(0, ...this.#old.map((one) => revisionOf(one, revision)));
    const own = revisionOf(set, revision);
    const annotations: Record<string, string> = { ...set.metadata.annotations, ...this.#inherited() };
    if (own <= newest) {
      const earlier = [annotations[history], own === 0 ? undefined : String(own)].filter((one) => one !== undefined);
      if (earlier.length > 0) annotations[history] = earlier.join(",");
      annotations[revision] = String(newest + 1);
    }
    const { minReadySeconds } = this.#deployment.spec;
    if (
      !isDeepStrictEqual(annotations, set.metadata.annotations) ||
      (minReadySeconds ?? 0) !== (set.spec.minReadySeconds ?? 0)
    ) {
      const spec = { ...set.spec, minReadySeconds: minReadySeconds ?? 0 };
      await this.#write(set, { ...set, metadata: { ...set.metadata, annotations }, spec });
    }
    await this.#showRevision(annotations[revision] ?? "1");
  }

  /** Returns the annotations of the Deployment that its sets have, too. */
  #inherited(): Record<string, string> {
    const { revision, history, desired, max, lastApplied } = this.#names;
    const own = new Set([revision, history, desired, max, lastApplied]);
    return Object.fromEntries(
      Object.entries(this.#deployment.metadata.annotations ?? {}).filter(([name]) => !own.has(name)),
    );
  }

  async #showRevision(value: string): Promise<void> {
    const { name, namespace, annotations } = this.#deployment.metadata;
    if (annotations?.[this.#names.revision] === value) return;
    const merge = { metadata: { annotations: { [this.#names.revision]: value } } };
    await this.#context.client.kind(Deployment).patch(name, { merge }, { in: namespace });
  }

  /** Makes the set of the present template. Returns `undefined` when its name belongs to another one. */
  async #create(replicas: number): Promise<ReplicaSet | undefined> {
    const { metadata, spec, status } = this.#deployment;
    const hash = hashOf(comparable(spec.template), status.collisionCount);
    const labels = { ...spec.template.metadata?.labels, [hashLabel]: hash };
    const name = `${metadata.name}-${hash}`;
    const calls = this.#context.client.kind(ReplicaSet).in(metadata.namespace ?? "");
    const revision = String(Math.max(0, ...this.sets.map((one) => revisionOf(one, this.#names.revision))) + 1);
    try {
      const created = await calls.create({
        metadata: {
          name,
          labels,
          annotations: { ...this.#inherited(), ...this.#annotations(), [this.#names.revision]: revision },
          ownerReferences: [referenceToOwner(this.#deployment)],
        },
        spec: {
          replicas,
          minReadySeconds: spec.minReadySeconds ?? 0,
          selector: { ...spec.selector, matchLabels: { ...spec.selector?.matchLabels, [hashLabel]: hash } },
          template: { ...spec.template, metadata: { ...spec.template.metadata, labels } },
        },
      });
      this.sets = [...this.sets, created];
      await this.#showRevision(revision);
      const note = `Scaled up replica set ${name} from 0 to ${replicas}`;
      this.#context.event("Normal", "ScalingReplicaSet", note, { action: "ScaleReplicaSet" });
      return created;
    } catch (error) {
      if (!(error instanceof ApiError && error.reason === "AlreadyExists")) throw error;
      const present = await calls.find(name);
      const isOwn = present !== undefined && controllerOf(present)?.uid === metadata.uid;
      const isSame = isOwn && isDeepStrictEqual(comparable(present.spec.template), comparable(spec.template));
      this.collided = present !== undefined && !isSame;
      return undefined;
    }
  }

  #isComplete(): boolean {
    const { replicas = 1 } = this.#deployment.spec;
    const { current } = this;
    return (
      current?.status.replicas === replicas &&
      availableOf(current) === replicas &&
      sum(this.#old, (set) => set.status.replicas) === 0
    );
  }

  /** Deletes old sets beyond the limit of the history, oldest revision first. */
  async #forgetOld(): Promise<void> {
    const { revisionHistoryLimit = 10 } = this.#deployment.spec;
    const idle = this.#old.filter((set) => wantedOf(set) === 0 && set.status.replicas === 0);
    const { revision } = this.#names;
    const doomed = idle
      .toSorted((a, b) => revisionOf(a, revision) - revisionOf(b, revision))
      .slice(0, Math.max(0, idle.length - revisionHistoryLimit));
    for (const set of doomed) await remove(this.#context, ReplicaSet, set);
  }
}

/** Returns a template without the label that its set has added. */
function comparable({ metadata, spec }: Deployment["spec"]["template"]): unknown {
  const { [hashLabel]: _, ...labels } = metadata?.labels ?? {};
  const { annotations = {} } = metadata ?? {};
  return { annotations, labels, spec };
}
