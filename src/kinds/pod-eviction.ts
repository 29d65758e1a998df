/**
 * Eviction: deletes a pod unless a disruption budget forbids it. `kubectl drain` posts it to `pods/NAME/eviction`.
 * Source: `EvictionREST` in upstream's `pkg/registry/core/pod/storage`.
 */
import type { Pod } from "#api/core/v1.ts";
import type { Condition } from "#api/meta/v1.ts";
import type { Eviction, PodDisruptionBudget, PodDisruptionBudgetStatus } from "#api/policy/v1.ts";
import type { Action, ActionRequest } from "#meta/action.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { compileLabelSelector } from "#meta/label-selector.ts";
import {
  badRequest,
  conflict,
  disruptionRefused,
  forbidden,
  StatusError,
  success,
  unclassified,
} from "#meta/status-error.ts";
import { checkDeleteOptions, type CheckedDeleteOptions } from "#registry/delete-options.ts";
import type { Store } from "#registry/store.ts";
import { nearestNumber } from "#std/int64.ts";
import { changeStored } from "./change-stored.ts";
import { withPodCondition } from "./pod-condition.ts";

interface PodEvictionOptions {
  readonly domain: ApiDomain;
  pods(): Store;
  /** Returns the store of disruption budgets; `undefined` when budgets are not served. */
  budgets(): Store | undefined;
  /** Returns the present time in the format of object fields. */
  now(): string;
}

/** The maximum number of attempts after concurrent writes of the pod. */
const attemptsMax = 20;
/** The maximum number of evicted pods that the controller of a budget has not counted yet. */
const unconfirmedMax = 2000;
const condition = {
  type: "DisruptionTarget",
  status: "True",
  reason: "EvictionByEvictionAPI",
  message: "Eviction API: evicting",
} as const;

export function podEviction(options: PodEvictionOptions): Action {
  const action: Action = async (request) => {
    const { object, dryRun } = request;
    if (object.metadata.name !== request.name) throw badRequest("name in URL does not match name in Eviction object");
    const eviction = object as unknown as Eviction; // by its schema
    checkDryRun(eviction, dryRun);
    await request.admit(object);
    // Upstream: the deletion checks the options, so a missing pod is reported before them.
    await options.pods().get(request.namespace, request.name, "");
    const deletion = deletionOf(eviction, dryRun, options.domain);
    await new PodEviction(options, request, deletion).run();
    return success(201);
  };
  return Object.assign(action, { accepted: [{ group: "policy", version: "v1beta1", kind: "Eviction" }] });
}

/** Returns the delete options in the body, which are a dry run if the query asks for one. */
function deletionOf({ deleteOptions = {} }: Eviction, dryRun: boolean, domain: ApiDomain): CheckedDeleteOptions {
  return checkDeleteOptions(dryRun ? { ...deleteOptions, dryRun: ["All"] } : deleteOptions, domain);
}

/** Throws if the query and the body disagree about a dry run. */
function checkDryRun({ deleteOptions }: Eviction, dryRun: boolean): void {
  const requestedDryRun = deleteOptions?.dryRun ?? [];
  if (dryRun && requestedDryRun.length > 0 && (requestedDryRun.length > 1 || requestedDryRun[0] !== "All")) {
    throw unclassified(`Non-matching dry-run options in request and content: [All] and [${requestedDryRun.join(" ")}]`);
  }
}

/** Whether a pod has ended, has not started or is being deleted: the eviction of such a pod is no disruption. */
const isIdle = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp !== undefined || ["Succeeded", "Failed", "Pending"].includes(status.phase ?? "");

const isReady = ({ status: { conditions = [] } }: Pod): boolean =>
  conditions.some(({ type, status }) => type === "Ready" && status === "True");

const isConflict = (error: unknown): boolean => error instanceof StatusError && error.status.reason === "Conflict";

const stillProcessed = (budget: string): StatusError =>
  disruptionRefused(`The disruption budget ${budget} is still being processed by the server.`, 10);

/** The eviction of one pod. */
class PodEviction {
  readonly #options: PodEvictionOptions;
  readonly #request: ActionRequest;
  readonly #deletion: CheckedDeleteOptions;

  constructor(options: PodEvictionOptions, request: ActionRequest, deletion: CheckedDeleteOptions) {
    this.#options = options;
    this.#request = request;
    this.#deletion = deletion;
  }

  async run(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const pod = await this.#pod();
      if (!isIdle(pod)) return this.#runWithin(await this.#budgetsOf(pod), pod);
      try {
        return await this.#remove(pod.metadata.resourceVersion);
      } catch (error) {
        // The pod may have started meanwhile, so the next attempt reads it again.
        if (!isConflict(error) || this.#insists || attempt === attemptsMax) throw error;
      }
    }
  }

  async #runWithin(budgets: readonly PodDisruptionBudget[], pod: Pod): Promise<void> {
    const [budget] = budgets;
    if (budget === undefined) return this.#remove(undefined);
    if (budgets.length > 1) {
      throw unclassified(
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
      );
    }
    if (isReady(pod) || !mayGoUnready(budget)) {
      await this.#spend(budget);
      return this.#remove(undefined);
    }
    try {
      // Only this version of the pod is deleted: a pod that became ready meanwhile would count.
      return await this.#remove(pod.metadata.resourceVersion);
    } catch (error) {
      if (isConflict(error) && !this.#insists) throw stillProcessed(budget.metadata.name ?? "");
      throw error;
    }
  }

  /** Whether the client requires a certain version of the pod, or its uid. */
  get #insists(): boolean {
    return (
      (this.#deletion.preconditions?.resourceVersion ?? "") !== "" || this.#deletion.preconditions?.uid !== undefined
    );
  }

  async #pod(): Promise<Pod> {
    const pods = this.#options.pods();
    return pods.object(await pods.get(this.#request.namespace, this.#request.name, "")) as unknown as Pod; // by its schema
  }

  async #budgetsOf({ metadata: { labels = {} } }: Pod): Promise<readonly PodDisruptionBudget[]> {
    const budgets = this.#options.budgets();
    if (budgets === undefined || Object.keys(labels).length === 0) return [];
    const all = { limit: 0, continue: "", resourceVersion: "", resourceVersionMatch: "", filter: undefined };
    const { entries } = await budgets.list({ ...all, namespace: this.#request.namespace });
    return entries
      .map((entry) => budgets.object(entry) as unknown as PodDisruptionBudget) // by its schema
      .filter(({ spec: { selector } }) => selector !== undefined && compileLabelSelector(selector)?.matches(labels));
  }

  /** Takes one disruption from the budget. Throws when the budget allows none. */
  async #spend({ metadata: { name = "" } }: PodDisruptionBudget): Promise<void> {
    const budgets = this.#options.budgets()!; // a budget exists, so budgets are served
    const attributes = { context: this.#request.context, subresource: "status", dryRun: this.#deletion.dryRun };
    await changeStored<PodDisruptionBudget>(budgets, this.#request.namespace, name, attributes, (budget) =>
      spent(budget, this.#request.name, this.#options.now()),
    );
  }

  /**
   * Sets the pod's disruption condition, then deletes the pod. With `version`, only this version of the pod is deleted.
   */
  async #remove(version: string | undefined): Promise<void> {
    const { context, namespace, name } = this.#request;
    const pods = this.#options.pods();
    const deletion = this.#deletion;
    const { uid, resourceVersion = version } = deletion.preconditions ?? {};
    let current = resourceVersion;
    if (!deletion.dryRun) {
      const attributes = { context, subresource: "eviction", dryRun: false };
      const { metadata } = await changeStored<Pod>(pods, namespace, name, attributes, (pod) => {
        checkPreconditions(pod, uid, resourceVersion);
        return withPodCondition(pod, condition, this.#options.now());
      });
      if (current !== undefined) current = metadata.resourceVersion;
    }
    await pods.delete(namespace, name, {
      ...deletion,
      preconditions: {
        ...(uid === undefined ? {} : { uid }),
        ...(current === undefined ? {} : { resourceVersion: current }),
      },
    });
  }
}

function checkPreconditions({ metadata }: Pod, uid: string | undefined, version: string | undefined): void {
  const refuse = (reason: string): never => {
    throw conflict({ group: "", resource: "Pod" }, metadata.name ?? "", reason);
  };
  if (uid !== undefined && uid !== metadata.uid) {
    refuse(
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    );
  }
  if (version !== undefined && version !== metadata.resourceVersion) {
    refuse(
      `the ResourceVersion in the precondition (${version}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    );
  }
}

/** Whether the budget allows the eviction of unready pods without counting it. */
function mayGoUnready({ spec, status: { desiredHealthy, currentHealthy } }: PodDisruptionBudget): boolean {
  return spec.unhealthyPodEvictionPolicy === "AlwaysAllow" || (desiredHealthy > 0 && currentHealthy >= desiredHealthy);
}

/** Returns the budget with one disruption less, and with the pod in its list of disrupted pods. */
function spent(budget: PodDisruptionBudget, pod: string, now: string): PodDisruptionBudget {
  const { name = "", generation = 0 } = budget.metadata;
  const { status } = budget;
  const { observedGeneration = 0, disruptionsAllowed, disruptedPods = {}, currentHealthy, desiredHealthy } = status;
  if (nearestNumber(observedGeneration) < nearestNumber(generation)) throw stillProcessed(name);
  const of = { group: "policy", resource: "poddisruptionbudget" };
  if (disruptionsAllowed < 0) throw forbidden(of, name, "pdb disruptions allowed is negative");
  if (Object.keys(disruptedPods).length > unconfirmedMax) {
    throw forbidden(of, name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller");
  }
  if (disruptionsAllowed === 0) {
    throw disruptionRefused(
      `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`,
    );
  }
  const next = {
    ...status,
    disruptionsAllowed: disruptionsAllowed - 1,
    disruptedPods: { ...disruptedPods, [pod]: now },
  };
  return { ...budget, status: disruptionsAllowed === 1 ? withoutDisruptions(next, now) : next };
}

function withoutDisruptions(status: PodDisruptionBudgetStatus, now: string): PodDisruptionBudgetStatus {
  const { conditions = [], observedGeneration = 0 } = status;
  const at = conditions.findIndex(({ type }) => type === "DisruptionAllowed");
  const before = conditions[at];
  const next: Condition = {
    type: "DisruptionAllowed",
    status: "False",
    observedGeneration,
    lastTransitionTime: before?.status === "False" ? before.lastTransitionTime : now,
    reason: "InsufficientPods",
    message: "",
  };
  return { ...status, conditions: at < 0 ? [...conditions, next] : conditions.with(at, next) };
}
