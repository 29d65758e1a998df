/**
 * Counts the pods of disruption budgets and writes the number of allowed disruptions into their status; evictions
 * decrease it. Source: upstream's disruption controller.
 */
import type { Pod } from "#api/core/v1.ts";
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from "#api/policy/v1.ts";
import { type Informer, type InformerEvent, keyOf, statesOf } from "#client/informer.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import { compileLabelSelector, formatLabelSelector } from "#meta/label-selector.ts";
import { untilAborted } from "#std/abort.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { type ExpectedCounts, ExpectedPods, type ScaledKinds } from "./disruption/expected-pods.ts";
import { countHealth } from "./disruption/health.ts";
import { StaleDisruptions } from "./disruption/stale-disruptions.ts";
import { countedStatus, statusText, unknownStatus } from "./disruption/status.ts";
import { eventTeller, type TellEvent } from "./events.ts";
import { RestingQueue } from "./resting-queue.ts";
import { objectPath } from "./paths.ts";
import { openInformer } from "./reconcile.ts";
import type { SharedInformers } from "./shared-informers.ts";

export type { ScaledKinds } from "./disruption/expected-pods.ts";

interface DisruptionOptions {
  readonly informers: SharedInformers;
  readonly kinds: ScaledKinds;
}

const budgets = "/apis/policy/v1/poddisruptionbudgets";
/** The number of budgets that are worked on at the same time. */
const workersMax = 4;
/** The pause before a budget whose number of pods is not known is tried again. */
const askAgainMs = 30_000;

export const disruptionController =
  (options: DisruptionOptions): Controller =>
  (environment) =>
    new Disruption(environment, options).run();

class Disruption {
  readonly #environment: ControllerEnvironment;
  readonly #informers: SharedInformers;
  readonly #budgets: Informer<PodDisruptionBudget>;
  readonly #expected: ExpectedPods;
  readonly #tellEvent: TellEvent;
  readonly #queue: RestingQueue;

  constructor(environment: ControllerEnvironment, { informers, kinds }: DisruptionOptions) {
    this.#environment = environment;
    this.#informers = informers;
    this.#budgets = openInformer<PodDisruptionBudget>(environment, {
      what: "disruption budgets",
      path: budgets,
      trim: ({ metadata: { managedFields: _, ...metadata }, spec, status }) => ({ metadata, spec, status }),
    });
    this.#expected = new ExpectedPods(environment.client, kinds);
    this.#tellEvent = eventTeller(environment, "controllermanager");
    this.#queue = new RestingQueue(environment, {
      name: "disruption",
      workersMax,
      work: (key) => this.#work(key),
      logKey: "budget",
      failure: "could not write the status of a disruption budget; trying again",
    });
  }

  async run(): Promise<void> {
    let followsPods = false;
    this.#budgets.subscribe(({ type, object }) => {
      if (type === "deleted") return;
      if (!followsPods) {
        followsPods = true;
        this.#informers.pods.subscribe((event) => this.#podChanged(event));
      }
      this.#queue.add(keyOf(object));
    });
    new StaleDisruptions(this.#environment, this.#informers.pods).start();
    await untilAborted(this.#environment.signal);
  }

  #podChanged(event: InformerEvent<Pod>): void {
    for (const budget of this.#budgets.in(event.object.metadata.namespace ?? "")) {
      if (statesOf(event).some(selectorOf(budget))) this.#queue.add(keyOf(budget));
    }
  }

  async #work(key: string): Promise<void> {
    await Promise.all([this.#budgets.synced, this.#informers.pods.synced]);
    // The budget may be late: a write over an eviction that used it meanwhile is refused, and repeated.
    const budget = this.#budgets.get(key);
    if (budget === undefined) return;
    const status = await this.#statusOf(budget);
    if (statusText(budget.status) === statusText(status)) return;
    await ignoreNotFound(
      this.#environment.client.update<PodDisruptionBudget>(`${objectPath(budgets, key)}/status`, {
        ...budget,
        apiVersion: "policy/v1",
        kind: "PodDisruptionBudget",
        status,
      }),
    );
  }

  async #statusOf(budget: PodDisruptionBudget): Promise<PodDisruptionBudgetStatus> {
    const now = this.#environment.clock.now();
    const pods = this.#informers.pods.in(budget.metadata.namespace ?? "").filter(selectorOf(budget));
    const counts = await this.#countsOf(budget, pods);
    if (typeof counts === "string") {
      // The budget is examined again, because nobody reports changes of controllers.
      this.#queue.addAfter(keyOf(budget), askAgainMs);
      return unknownStatus(budget, counts, now);
    }
    if (pods.length === 0) this.#tell(budget, "Normal", "NoPods", "No matching pods found");
    if (counts.unmanaged.length > 0) this.#tell(budget, "Warning", "UnmanagedPods", unmanagedMessage(budget));
    const health = countHealth(pods, budget.status.disruptedPods ?? {}, now);
    for (const pod of health.overdue) {
      const message = `Pod was expected by PDB ${keyOf(budget)} to be deleted but it wasn't`;
      this.#tellEvent({ ...pod, kind: "Pod" }, "Warning", "NotDeleted", message);
    }
    if (health.nextMs !== undefined) this.#queue.addAfter(keyOf(budget), health.nextMs);
    return countedStatus(budget, counts, health, now);
  }

  /** Returns the counts; a text when they cannot be known. */
  async #countsOf(budget: PodDisruptionBudget, pods: readonly Pod[]): Promise<ExpectedCounts | string> {
    try {
      return await this.#expected.of(budget, pods);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const text = `Failed to calculate the number of expected pods: ${message}`;
      this.#tell(budget, "Warning", "CalculateExpectedPodCountFailed", text);
      return message;
    }
  }

  #tell(budget: PodDisruptionBudget, type: "Normal" | "Warning", reason: string, message: string): void {
    const typed = { ...budget, apiVersion: "policy/v1", kind: "PodDisruptionBudget" };
    this.#tellEvent(typed, type, reason, message);
  }
}

const unmanagedMessage = ({ spec: { selector } }: PodDisruptionBudget): string =>
  `Pods selected by this PodDisruptionBudget (selector: ${formatLabelSelector(selector)}) were found to be unmanaged. ` +
  "As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. " +
  'To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.';

/** Returns the selector of a budget. A budget without a selector means no pod, one with an empty selector each. */
function selectorOf({ spec: { selector } }: PodDisruptionBudget): (pod: Pod) => boolean {
  const matches = selector === undefined ? undefined : compileLabelSelector(selector)?.matches;
  return ({ metadata: { labels } }) => matches?.(labels) === true;
}
