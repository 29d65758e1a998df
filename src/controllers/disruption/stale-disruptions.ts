/**
 * Resets the condition `DisruptionTarget` of pods that still run two minutes after it was set: the disruption did not
 * happen. Conditions set by the kubelet stay, and so do those of pods that have ended.
 */
import type { Pod } from "#api/core/v1.ts";
import { type Informer, keyOf } from "#client/informer.ts";
import { ignoreNotFound, jsonBody } from "#client/rest-client.ts";
import type { WorkQueue } from "#client/work-queue.ts";
import { timestampOf, timeToMs } from "#meta/time.ts";
import type { ControllerEnvironment } from "../controller.ts";
import { objectPath } from "../paths.ts";
import { isTerminal } from "../pods.ts";
import { workQueue } from "../reconcile.ts";

const staleAfterMs = 120_000;
const type = "DisruptionTarget";
/** The reason of conditions that the kubelet sets. */
const terminationByKubelet = "TerminationByKubelet";

export class StaleDisruptions {
  readonly #environment: ControllerEnvironment;
  readonly #pods: Informer<Pod>;
  readonly #queue: WorkQueue;

  constructor(environment: ControllerEnvironment, pods: Informer<Pod>) {
    this.#environment = environment;
    this.#pods = pods;
    this.#queue = workQueue(environment, {
      name: "stale_pod_disruption",
      workersMax: 1,
      work: (key) => this.#work(key),
      logKey: "pod",
      failure: "could not take back the disruption of a pod; trying again",
    });
  }

  /** Works until the environment's signal is aborted. */
  start(): void {
    this.#pods.subscribe(({ type: change, object }) => {
      const leftMs = change === "deleted" ? undefined : this.#leftMs(object);
      if (leftMs !== undefined) this.#queue.addAfter(keyOf(object), Math.max(0, leftMs));
    });
  }

  /** The time for which the condition may still stay; `undefined` when it is not to be reset. */
  #leftMs(pod: Pod): number | undefined {
    if (pod.metadata.deletionTimestamp !== undefined || isTerminal(pod)) return undefined;
    const condition = pod.status.conditions?.find((one) => one.type === type);
    if (condition?.status !== "True" || condition.reason === terminationByKubelet) return undefined;
    return (timeToMs(condition.lastTransitionTime ?? "") ?? 0) + staleAfterMs - this.#environment.clock.now();
  }

  async #work(key: string): Promise<void> {
    const { client, clock } = this.#environment;
    const pod = this.#pods.get(key);
    const leftMs = pod === undefined ? undefined : this.#leftMs(pod);
    if (pod === undefined || leftMs === undefined) return;
    if (leftMs > 0) return this.#queue.addAfter(key, leftMs);
    const { uid, resourceVersion } = pod.metadata;
    const condition = {
      type,
      status: "False",
      lastTransitionTime: timestampOf(clock.now()),
      reason: null,
      message: null,
    };
    await ignoreNotFound(
      client.call({
        method: "PATCH",
        path: `${objectPath("/api/v1/pods", key)}/status`,
        ...jsonBody(
          { metadata: { uid, resourceVersion }, status: { conditions: [condition] } },
          "application/strategic-merge-patch+json",
        ),
      }),
    );
  }
}
