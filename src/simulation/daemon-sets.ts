/** Keeps a pod of each DaemonSet on each simulated node that it selects. Source: upstream's `pkg/controller/daemon`. */
import { after, controller, type ReconcileContext, type RunnableController } from "#client/controllers.ts";
import { keyOf } from "#client/informer.ts";
import { ControllerRevision, DaemonSet, Node, Pod } from "#client/kinds.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import {
  adopters,
  claim,
  createPod,
  isActive,
  isAvailable,
  partOf,
  readOwned,
  readySince,
  remove,
  writeStatus,
} from "./owned.ts";
import { simulationDomain, type SimulationParts } from "./parts.ts";
import { isSelected } from "./pods.ts";
import { forgetRevisions, keepRevisions, revisionHash } from "./revisions.ts";

const revisionLabel = "controller-revision-hash";

export const daemonSetController = ({ domain }: SimulationParts): RunnableController =>
  controller(DaemonSet, {
    name: "daemonset",
    owns: [Pod, ControllerRevision],
    watches: [
      [Pod, adopters(DaemonSet)],
      [Node, (_, lister) => lister.list(DaemonSet).map(keyOf)],
    ],
    concurrency: 5,
    async reconcile(set, context) {
      const revisions = await keepRevisions(context, [DaemonSet, set], domain);
      const hash = revisionHash(revisions.at(-1)!, domain); // there is one of the present template
      const nodes = context.lister
        .list(Node)
        .filter(({ metadata }) => metadata.labels?.[`${simulationDomain}/simulated`] === "true");
      await claim(context, [DaemonSet, set], Pod);
      const present = await readOwned(context, set, Pod);
      const wanted = nodes.filter((node) => isSelected(node, set.spec.template));
      const daemons = new Daemons(context, set, hash, domain);
      const created = await daemons.step(wanted, present);
      const pods = [...present, ...created];
      const status = daemons.status(nodes, wanted, pods);
      await writeStatus(context, DaemonSet, set, { ...set.status, ...status });
      const live = new Set([hash, ...pods.map(({ metadata }) => metadata.labels?.[revisionLabel])]);
      await forgetRevisions(context, set, revisions, (one) => live.has(revisionHash(one, domain)));
      const { minReadySeconds = 0 } = set.spec;
      return (status.numberAvailable ?? 0) < status.numberReady ? after(minReadySeconds * 1000) : undefined;
    },
  });

/** Returns the name of the node of a pod, which its affinity names until it is bound. */
function nodeOf({ spec }: Pod): string | undefined {
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return spec.nodeName ?? terms?.[0]?.matchFields?.[0]?.values?.[0];
}

/** One step of a DaemonSet. */
class Daemons {
  readonly #context: ReconcileContext<DaemonSet>;
  readonly #set: DaemonSet;
  readonly #hash: string;
  readonly #domain: ApiDomain;

  constructor(context: ReconcileContext<DaemonSet>, set: DaemonSet, hash: string, domain: ApiDomain) {
    this.#context = context;
    this.#set = set;
    this.#hash = hash;
    this.#domain = domain;
  }

  /** Makes and deletes pods. Returns those that it made. */
  async step(nodes: readonly Node[], pods: readonly Pod[]): Promise<readonly Pod[]> {
    const { type, rollingUpdate } = this.#set.spec.updateStrategy;
    const maxSurge = partOf(rollingUpdate?.maxSurge, nodes.length, Math.ceil);
    const unavailable = nodes.filter((node) => !this.#on(node, pods).some((pod) => this.#isAvailable(pod))).length;
    const maxUnavailable = partOf(rollingUpdate?.maxUnavailable ?? 1, nodes.length, Math.ceil);
    let budget = type === "OnDelete" ? 0 : maxUnavailable - unavailable;
    let surges = type === "OnDelete" ? 0 : maxSurge;
    const names = new Set(nodes.map(({ metadata }) => metadata.name));
    const doomed = pods.filter(
      (pod) => !names.has(nodeOf(pod) ?? "") || pod.status.phase === "Failed" || pod.status.phase === "Succeeded",
    );
    const bare: Node[] = [];
    for (const node of nodes) {
      const here = this.#on(node, pods);
      const old = here.filter((pod) => !this.#isUpdated(pod));
      const updated = here.find((pod) => this.#isUpdated(pod));
      // A pod that ends keeps its node until it has gone.
      if (here.length === 0 && !pods.some((pod) => nodeOf(pod) === node.metadata.name)) bare.push(node);
      else if (old.length > 0 && updated !== undefined && this.#isAvailable(updated)) doomed.push(...old);
      else if (type !== "OnDelete" && old.length > 0 && updated === undefined) {
        const isUp = old.some((pod) => this.#isAvailable(pod));
        if (isUp && surges > 0) {
          surges -= 1;
          bare.push(node);
        } else if (!isUp || (maxSurge === 0 && budget > 0)) {
          budget -= isUp ? 1 : 0;
          doomed.push(...old);
        }
      }
    }
    for (const pod of doomed) if (pod.metadata.deletionTimestamp === undefined) await remove(this.#context, Pod, pod);
    return Promise.all(bare.map((node) => this.#create(node)));
  }

  status(nodes: readonly Node[], wanted: readonly Node[], pods: readonly Pod[]) {
    const on = wanted.map((node) => this.#on(node, pods));
    const count = (is: (pod: Pod) => boolean): number => on.filter((here) => here.some(is)).length;
    const available = count((pod) => this.#isAvailable(pod));
    const names = new Set(wanted.map(({ metadata }) => metadata.name));
    return {
      observedGeneration: this.#set.metadata.generation,
      desiredNumberScheduled: wanted.length,
      currentNumberScheduled: count(() => true),
      numberMisscheduled: nodes.filter((node) => !names.has(node.metadata.name) && this.#on(node, pods).length > 0)
        .length,
      numberReady: count((pod) => readySince(pod) !== undefined),
      updatedNumberScheduled: count((pod) => this.#isUpdated(pod)) || undefined,
      numberAvailable: available || undefined,
      numberUnavailable: wanted.length - available || undefined,
    };
  }

  /** Returns the pods of a node that are not ending. */
  #on(node: Node, pods: readonly Pod[]): readonly Pod[] {
    return pods.filter((pod) => isActive(pod) && nodeOf(pod) === node.metadata.name);
  }

  #isUpdated({ metadata }: Pod): boolean {
    return metadata.labels?.[revisionLabel] === this.#hash;
  }

  #isAvailable(pod: Pod): boolean {
    return isAvailable(pod, this.#set.spec.minReadySeconds ?? 0, this.#context.client.clock.now());
  }

  #create({ metadata: { name } }: Node): Promise<Pod> {
    const { template } = this.#set.spec;
    const matchFields = [{ key: "metadata.name", operator: "In", values: [name] }];
    const required = template.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
    const terms = required?.nodeSelectorTerms ?? [{}];
    const nodeSelectorTerms = terms.map((term) => ({ ...term, matchFields }));
    const nodeAffinity = {
      ...template.spec.affinity?.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
    };
    const tolerated = ["not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"];
    const tolerations = tolerated.map((one, index) => ({
      key: this.#domain.rename(`node.kubernetes.io/${one}`),
      operator: "Exists",
      effect: index < 2 ? "NoExecute" : "NoSchedule",
    }));
    return createPod(this.#context, this.#set, template, {
      labels: { [revisionLabel]: this.#hash },
      spec: {
        affinity: { ...template.spec.affinity, nodeAffinity },
        tolerations: [...(template.spec.tolerations ?? []), ...tolerations],
      },
    });
  }
}
