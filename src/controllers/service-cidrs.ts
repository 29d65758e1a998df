/**
 * ServiceCIDRs, the ranges of service addresses: the default one exists, each has a finalizer and says that it is
 * ready, and one that is being deleted goes when no address needs it. Source: upstream's controllers of ServiceCIDRs.
 */
import type { IPAddress, ServiceCIDR } from "#api/networking/v1beta1.ts";
import type { Informer } from "#client/informer.ts";
import { ignoreNotFound, type RestClient } from "#client/rest-client.ts";
import type { WorkQueue } from "#client/work-queue.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { type IpRange, parseIpRange } from "#meta/ip-range.ts";
import { timestampOf, timeToMs } from "#meta/time.ts";
import type { Clock } from "#std/clock.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { ignoreCodes } from "./ignore-codes.ts";
import { periodically } from "./repeat.ts";
import { openInformer, workQueue } from "./reconcile.ts";

const defaultName = "kubernetes";
const defaultPeriodMs = 10_000;
/** The time after which the allocators of all servers know about a deletion. */
const deletionMs = 10_000;

const apiVersionOf = ({ rename }: ApiDomain): string => `${rename("networking.k8s.io")}/v1beta1`;
const pathOf = (domain: ApiDomain): string => `/apis/${apiVersionOf(domain)}/servicecidrs`;

interface Ready {
  readonly status: "True" | "False";
  readonly message: string;
  readonly reason?: string;
}

interface Writer {
  readonly client: RestClient;
  readonly domain: ApiDomain;
  readonly clock: Pick<Clock, "now">;
}

/** Writes the condition `Ready` as a field manager. */
async function applyReady(
  { client, domain, clock }: Writer,
  name: string,
  manager: string,
  ready: Ready,
): Promise<void> {
  const condition = { type: "Ready", lastTransitionTime: timestampOf(clock.now()), ...ready };
  await client.apply<ServiceCIDR>(`${pathOf(domain)}/${name}/status`, manager, {
    apiVersion: apiVersionOf(domain),
    kind: "ServiceCIDR",
    metadata: { name },
    status: { conditions: [condition] },
  });
}

const conditionOf = ({ status }: ServiceCIDR) => status.conditions?.find(({ type }) => type === "Ready");

/** Creates the default ServiceCIDR with the ranges of this server if there is none, and says that it is ready. */
export async function keepDefaultServiceCidr(writer: Writer, ranges: readonly string[]): Promise<void> {
  const { client, domain } = writer;
  const read = () => ignoreNotFound(client.get<ServiceCIDR>(`${pathOf(domain)}/${defaultName}`));
  const create = () =>
    client.create<ServiceCIDR>(pathOf(domain), {
      apiVersion: apiVersionOf(domain),
      kind: "ServiceCIDR",
      metadata: { name: defaultName },
      spec: { cidrs: ranges },
    });
  // Another server may make it at the same time.
  const present = (await read()) ?? (await ignoreCodes([409], create())) ?? (await read());
  if (present === undefined) return;
  if (present.metadata.deletionTimestamp !== undefined || conditionOf(present) !== undefined) return;
  if (present.spec.cidrs?.join() !== ranges.join()) return;
  const message = "Kubernetes default Service CIDR is ready";
  await applyReady(writer, defaultName, "kubernetes-service-cidr-controller", { status: "True", message });
}

export const defaultServiceCidrController =
  (ranges: readonly string[]): Controller =>
  (environment) =>
    periodically(environment, defaultPeriodMs, "could not keep the default ServiceCIDR; trying again", () =>
      keepDefaultServiceCidr(environment, ranges),
    );

export const serviceCidrsController: Controller = (environment) => new ServiceCidrs(environment).run();

const manager = "service-cidr-controller";

class ServiceCidrs {
  readonly #environment: ControllerEnvironment;
  readonly #path: string;
  readonly #finalizer: string;
  readonly #managedBy: string;
  readonly #ranges: Informer<ServiceCIDR>;
  readonly #addresses: Informer<IPAddress>;
  readonly #queue: WorkQueue;

  constructor(environment: ControllerEnvironment) {
    const { domain } = environment;
    this.#environment = environment;
    this.#path = pathOf(domain);
    this.#finalizer = domain.rename("networking.k8s.io/service-cidr-finalizer");
    this.#managedBy = domain.rename("ipaddress.kubernetes.io/managed-by");
    this.#ranges = openInformer<ServiceCIDR>(environment, { what: "service ranges", path: this.#path });
    this.#addresses = openInformer<IPAddress>(environment, {
      what: "IP addresses",
      path: `/apis/${apiVersionOf(domain)}/ipaddresses`,
    });
    this.#queue = workQueue(environment, {
      name: "ipaddresses",
      workersMax: 1,
      work: (name) => this.#work(name),
      logKey: "serviceCIDR",
      failure: "could not reconcile a ServiceCIDR; trying again",
    });
  }

  async run(): Promise<void> {
    this.#ranges.subscribe(({ object }) => {
      this.#queue.add(object.metadata.name ?? "");
      this.#lookAtDeleted();
    });
    this.#addresses.subscribe(() => this.#lookAtDeleted());
    const { signal } = this.#environment;
    const { promise, resolve } = Promise.withResolvers<void>();
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
  }

  /** Examines the ranges that wait for their deletion: what they need may have changed. */
  #lookAtDeleted(): void {
    for (const { metadata } of this.#ranges.in("")) {
      if (metadata.deletionTimestamp !== undefined) this.#queue.add(metadata.name ?? "");
    }
  }

  async #work(name: string): Promise<void> {
    const { client, clock } = this.#environment;
    await Promise.all([this.#ranges.synced, this.#addresses.synced]);
    const object = await ignoreNotFound(client.get<ServiceCIDR>(`${this.#path}/${name}`));
    if (object === undefined) return;
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    if (deletionTimestamp === undefined) {
      if (!finalizers.includes(this.#finalizer)) await this.#setFinalizers(object, [...finalizers, this.#finalizer]);
      if (conditionOf(object)?.status === "True") return;
      return applyReady(this.#environment, name, manager, {
        status: "True",
        message: "Kubernetes Service CIDR is ready",
      });
    }
    if (this.#isNeeded(object)) {
      const message =
        "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR";
      if (conditionOf(object)?.reason === "Terminating") return;
      return applyReady(this.#environment, name, manager, { status: "False", reason: "Terminating", message });
    }
    const waitMs = deletionMs - (clock.now() - (timeToMs(deletionTimestamp, "seconds") ?? 0));
    if (waitMs > 0) return this.#queue.addAfter(name, waitMs);
    if (!finalizers.includes(this.#finalizer)) return;
    await this.#setFinalizers(
      object,
      finalizers.filter((one) => one !== this.#finalizer),
    );
  }

  async #setFinalizers({ metadata }: ServiceCIDR, finalizers: readonly string[]): Promise<void> {
    const { name = "", resourceVersion } = metadata;
    const patch = { metadata: { finalizers, resourceVersion } };
    await ignoreNotFound(this.#environment.client.patch<ServiceCIDR>(`${this.#path}/${name}`, patch));
  }

  /** Whether an address of a service is in this range alone. */
  #isNeeded(object: ServiceCIDR): boolean {
    const own = parsed(object);
    const others = this.#ranges
      .in("")
      .filter(({ metadata }) => metadata.name !== object.metadata.name)
      .flatMap(parsed);
    if (own.every((range) => others.some((other) => other.text === range.text || other.strictlyHolds(range))))
      return false;
    const addresses = this.#addresses
      .in("")
      .filter(({ metadata }) => metadata.labels?.[this.#managedBy] !== undefined)
      .map(({ metadata }) => metadata.name ?? "");
    const has = (ranges: readonly IpRange[], ip: string): boolean =>
      ranges.some((range) => range.indexOf(ip) !== undefined);
    return addresses.some((ip) => has(own, ip) && !has(others, ip));
  }
}

const parsed = ({ spec }: ServiceCIDR): IpRange[] => (spec.cidrs ?? []).flatMap((text) => parseIpRange(text) ?? []);
