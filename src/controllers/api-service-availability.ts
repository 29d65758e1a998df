/**
 * Checks the servers behind APIServices and writes the condition `Available`: when an APIService, its service or the
 * endpoints change, and every half minute. Source: upstream's availability controllers of `kube-aggregator`, with their
 * reasons and messages.
 */
import type { APIService, APIServiceCondition, ServiceReference } from "#api/apiregistration/v1.ts";
import type { Endpoints, Service } from "#api/core/v1.ts";
import { type Informer, keyOf } from "#client/informer.ts";
import { ignoreNotFound, type RestClient } from "#client/rest-client.ts";
import type { WorkQueue } from "#client/work-queue.ts";
import { goQuote } from "#meta/field-error.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { untilAborted } from "#std/abort.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { objectPath } from "./paths.ts";
import { follow, openInformer, workQueue } from "./reconcile.ts";

interface AvailabilityOptions {
  /**
   * Requests the discovery document of the group version from its server. Resolves with the problem, if there is one.
   */
  check(name: string, signal: AbortSignal): Promise<string | undefined>;
  /** Whether a service has a configured address, so that it need not exist. */
  hasGivenAddress(namespace: string, name: string, port: number): boolean;
  /** The maximum time between two checks of a service. */
  readonly periodMs?: number;
}

const usualPeriodMs = 30_000;
const workersMax = 8;
const httpsPort = 443;

/** The result of a check of one APIService. */
type Finding = Pick<APIServiceCondition, "status"> & { readonly reason: string; readonly message: string };

export const apiServiceAvailabilityController =
  (options: AvailabilityOptions): Controller =>
  (environment) =>
    new AvailabilityWatcher(environment, options).run();

class AvailabilityWatcher {
  readonly #environment: ControllerEnvironment;
  readonly #options: AvailabilityOptions;
  readonly #path: string;
  readonly #queue: WorkQueue;
  readonly #services: Informer<APIService>;
  /** Whether services and endpoints are followed, which begins with the first APIService that names a service. */
  #followsServices = false;

  constructor(environment: ControllerEnvironment, options: AvailabilityOptions) {
    const { domain } = environment;
    this.#environment = environment;
    this.#options = options;
    this.#path = `/apis/${domain.rename("apiregistration.k8s.io")}/v1/apiservices`;
    const source = { ...environment, reader: environment.client };
    this.#services = openInformer<APIService>(source, { what: "APIServices", path: this.#path });
    this.#queue = workQueue(environment, {
      name: "AvailableConditionController",
      workersMax,
      work: (name) => this.#reconcile(name),
      logKey: "name",
      failure: "the status of an APIService was not written; trying again",
    });
  }

  async run(): Promise<void> {
    this.#services.subscribe((event) => {
      const { type, object } = event;
      // Its own writes of the status are ignored.
      if (type === "added" || (type === "changed" && !isSameSpec(event.previous, object))) this.#look(object);
    });
    await untilAborted(this.#environment.signal);
  }

  #look(object: APIService): void {
    this.#queue.add(keyOf(object));
    if (object.spec.service === undefined || this.#followsServices) return;
    this.#followsServices = true;
    for (const resource of ["services", "endpoints"]) this.#follow(resource);
  }

  /** Checks an APIService again when its service or the endpoints of the service change. */
  #follow(resource: string): void {
    const changed = ({ metadata }: ApiObject): void => {
      for (const apiService of this.#services.list()) {
        const { service } = apiService.spec;
        if (service?.namespace === metadata.namespace && service?.name === metadata.name)
          this.#queue.add(keyOf(apiService));
      }
    };
    void follow(
      { ...this.#environment, reader: this.#environment.client },
      {
        what: resource,
        path: `/api/v1/${resource}`,
        replaced: (objects) => objects.forEach(changed),
        changed: (_type, object) => changed(object),
      },
    );
  }

  /** Checks an APIService. An unavailable one is checked again soon, with growing delays. */
  async #reconcile(name: string): Promise<"again" | void> {
    const { client, signal } = this.#environment;
    const apiService = this.#services.get(name);
    if (apiService === undefined || signal.aborted) return undefined;
    const { service } = apiService.spec;
    const finding = service === undefined ? local : await this.#examine(name, service);
    if (signal.aborted) return undefined;
    // The APIService may have changed while it was checked; then it is in the queue again.
    const present = await ignoreNotFound(client.get<APIService>(objectPath(this.#path, name)));
    if (present === undefined || !isSameSpec(present, apiService)) return undefined;
    await this.#write(present, finding);
    if (service === undefined) return undefined;
    if (finding.status !== "True") return "again";
    this.#queue.addAfter(name, this.#options.periodMs ?? usualPeriodMs);
    return undefined;
  }

  async #write(object: APIService, finding: Finding): Promise<void> {
    const { client, clock, domain } = this.#environment;
    const conditions = object.status?.conditions ?? [];
    const before = conditions.find(({ type }) => type === "Available");
    if (before?.status === finding.status && before.reason === finding.reason && before.message === finding.message) {
      return;
    }
    const now = new Date(clock.now()).toISOString().replace(/\.\d+/, "");
    const lastTransitionTime = before?.status === finding.status ? before.lastTransitionTime : now;
    const condition: APIServiceCondition = {
      type: "Available",
      status: finding.status,
      lastTransitionTime,
      reason: finding.reason,
      message: finding.message,
    };
    const next =
      before === undefined ? [...conditions, condition] : conditions.map((one) => (one === before ? condition : one));
    const path = `${objectPath(this.#path, object.metadata)}/status`;
    const manager = `?fieldManager=${domain.prefix}-apiserver`;
    await ignoreNotFound(
      client.update<APIService>(path + manager, { ...object, status: { ...object.status, conditions: next } }),
    );
  }

  async #examine(apiService: string, service: ServiceReference): Promise<Finding> {
    const { client, signal } = this.#environment;
    const { namespace = "", name = "", port = httpsPort } = service;
    const isGiven = this.#options.hasGivenAddress(namespace, name, port);
    const reached = isGiven ? undefined : await reachable(client, { namespace, name, port });
    if (reached !== undefined) return reached;
    const problem = await this.#options.check(apiService, signal);
    return problem === undefined
      ? { status: "True", reason: "Passed", message: "all checks passed" }
      : { status: "False", reason: "FailedDiscoveryCheck", message: problem };
  }
}

const local: Finding = { status: "True", reason: "Local", message: "Local APIServices are always available" };

const isSameSpec = (one: APIService, other: APIService): boolean =>
  one.metadata.uid === other.metadata.uid && JSON.stringify(one.spec) === JSON.stringify(other.spec);

/** Returns the reason why requests cannot reach the service; `undefined` when there is none. */
async function reachable(
  client: RestClient,
  { namespace, name, port }: Required<ServiceReference>,
): Promise<Finding | undefined> {
  const no = (reason: string, message: string): Finding => ({ status: "False", reason, message });
  const where = `service/${name} in ${goQuote(namespace)}`;
  const service = await ignoreNotFound(client.get<Service>(objectPath("/api/v1/services", { namespace, name })));
  if (service === undefined) return no("ServiceNotFound", `${where} is not present`);
  // Services of other types are reached elsewhere, so nothing is known of their endpoints.
  if ((service.spec.type ?? "ClusterIP") !== "ClusterIP") return undefined;
  const wanted = (service.spec.ports ?? []).find((candidate) => candidate.port === port);
  if (wanted === undefined) return no("ServicePortError", `${where} is not listening on port ${port}`);
  const endpoints = await ignoreNotFound(client.get<Endpoints>(objectPath("/api/v1/endpoints", { namespace, name })));
  if (endpoints === undefined) return no("EndpointsNotFound", `cannot find endpoints for ${where}`);
  const { name: portName = "" } = wanted;
  const isServed = (endpoints.subsets ?? []).some(
    ({ addresses = [], ports = [] }) => addresses.length > 0 && ports.some((one) => (one.name ?? "") === portName),
  );
  if (isServed) return undefined;
  return no("MissingEndpoints", `endpoints for ${where} have no addresses with port name ${goQuote(portName)}`);
}
