/**
 * Maintains the Endpoints of services with selectors, and deletes those of services that are gone. Source: upstream's
 * endpoints controller.
 */
import type { EndpointAddress, EndpointPort, Endpoints, Pod, Service } from "#api/core/v1.ts";
import { keyOf } from "#client/informer.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import { dropUndefined } from "#std/drop-undefined.ts";
import type { IpFamily } from "#meta/ip-range.ts";
import type { Controller, ControllerEnvironment } from "../controller.ts";
import { electionAnnotation, overCapacityAnnotation, triggerTimeAnnotation } from "./annotations.ts";
import { addressesOf, hostnameOf, isEndpoint, hasNoClusterIp, portOf, targetOf } from "./pod-address.ts";
import { Selections, selects } from "./selections.ts";
import { type PortAddress, subsetsOf, subsetsText, truncateSubsets } from "./subsets.ts";
import { TriggerTimes } from "./trigger-times.ts";
import { ignoreCodes, whileNamespaceLives } from "../ignore-codes.ts";
import { inNamespace, objectPath } from "../paths.ts";
import { isReady } from "../pods.ts";
import { follow } from "../reconcile.ts";
import type { SharedInformers } from "../shared-informers.ts";
import { RestingQueue } from "../resting-queue.ts";

const collection = "/api/v1/endpoints";
/** Upstream's maximum number of addresses in all subsets together. Slices have no such bound. */
const addressesMax = 1000;

/** Upstream's number of services that are processed at a time. */
const workersMax = 5;

export const endpointsController =
  (informers: SharedInformers): Controller =>
  (environment) =>
    new ServiceEndpoints(environment, informers).run();

class ServiceEndpoints {
  readonly #environment: ControllerEnvironment;
  readonly #selections: Selections;
  readonly #triggers = new TriggerTimes();

  constructor(environment: ControllerEnvironment, informers: SharedInformers) {
    this.#environment = environment;
    this.#selections = new Selections(informers);
  }

  async run(): Promise<void> {
    const queue = new RestingQueue(this.#environment, {
      name: "endpoint",
      workersMax,
      logKey: "service",
      work: (key) => this.#work(key),
      failure: "could not write the endpoints of a service; trying again",
    });
    this.#selections.listen((key) => queue.add(key));
    await this.#followEndpoints(queue);
  }

  #followEndpoints(queue: RestingQueue): Promise<void> {
    const { rename } = this.#environment.domain;
    return follow<Endpoints>(this.#environment, {
      what: "endpoints",
      path: collection,
      replaced(all) {
        // This also finds Endpoints of services that were deleted while nobody followed.
        for (const endpoints of all) {
          const isElection = endpoints.metadata.annotations?.[rename(electionAnnotation)] !== undefined;
          if (!isElection) queue.add(keyOf(endpoints));
        }
      },
      changed(type, endpoints) {
        if (type === "DELETED") queue.add(keyOf(endpoints));
      },
    });
  }

  async #work(key: string): Promise<void> {
    await this.#selections.synced();
    const { client } = this.#environment;
    const path = objectPath(collection, key);
    const service = this.#selections.service(key);
    if (service === undefined) {
      this.#triggers.forget(key);
      return this.#removeWithoutService(objectPath("/api/v1/services", key), path);
    }
    if (!selects(service)) return;
    const pods = this.#selections.podsOf(service);
    const triggerTime = this.#triggers.since(key, service, pods);
    const present = await ignoreNotFound(client.get<Endpoints>(path));
    const wanted = this.#wanted(service, pods, present, triggerTime);
    if (wanted === undefined) return;
    if (present !== undefined) await client.update<Endpoints>(path, { ...present, ...wanted });
    else if (service.metadata.deletionTimestamp === undefined) {
      const { name, namespace = "" } = service.metadata;
      const endpoints = { ...wanted, metadata: { ...wanted.metadata, name } };
      const created = client.create<Endpoints>(inNamespace(collection, namespace), endpoints);
      await whileNamespaceLives(created.then(() => undefined));
    }
  }

  /** Deletes Endpoints whose service is gone. The service is read live, since the known state may be stale. */
  async #removeWithoutService(service: string, path: string): Promise<void> {
    const { client } = this.#environment;
    if ((await ignoreNotFound(client.get(service))) !== undefined) return;
    const endpoints = await ignoreNotFound(client.get(path));
    if (endpoints === undefined) return;
    const { uid } = endpoints.metadata;
    await ignoreCodes([404, 409], client.delete(path, { preconditions: { uid } }));
  }

  /** Returns the wanted Endpoints; `undefined` when the present ones are equal. */
  #wanted(
    service: Service,
    pods: readonly Pod[],
    present: Endpoints | undefined,
    triggerTime: string | undefined,
  ): Endpoints | undefined {
    const { rename } = this.#environment.domain;
    const all = subsetsOf(pods.flatMap((pod) => entriesOf(pod, service)));
    const some = truncateSubsets(all, addressesMax);
    const subsets = some ?? all;
    const headless = rename("service.kubernetes.io/headless");
    const { [headless]: _, ...ownLabels } = service.metadata.labels ?? {};
    const labels = { ...ownLabels, ...(hasNoClusterIp(service) ? { [headless]: "" } : {}) };
    const { [rename(overCapacityAnnotation)]: capacity, ...others } = present?.metadata.annotations ?? {};
    const isSame =
      present !== undefined &&
      subsetsText(present.subsets ?? []) === subsetsText(subsets) &&
      sortedText(present.metadata.labels ?? {}) === sortedText(labels) &&
      capacity === (some === undefined ? undefined : "truncated");
    if (isSame) return undefined;
    const { [rename(triggerTimeAnnotation)]: __, ...rest } = others;
    const annotations = {
      ...rest,
      ...(some === undefined ? {} : { [rename(overCapacityAnnotation)]: "truncated" }),
      ...(triggerTime === undefined ? {} : { [rename(triggerTimeAnnotation)]: triggerTime }),
    };
    return {
      apiVersion: "v1",
      kind: "Endpoints",
      metadata: { ...present?.metadata, labels, annotations },
      subsets,
    };
  }
}

const sortedText = (labels: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1)));

/** Returns the entries of a pod: its address once for each port that it has, in the service's first family. */
function entriesOf(pod: Pod, service: Service): PortAddress[] {
  const { ports = [], publishNotReadyAddresses = false, ipFamilies = [] } = service.spec;
  if (!isEndpoint(pod, publishNotReadyAddresses)) return [];
  const family: IpFamily = ipFamilies[0] === "IPv6" ? "IPv6" : "IPv4";
  const [ip] = addressesOf(pod, family);
  if (ip === undefined) return [];
  const address = addressOf(pod, service, ip);
  const ready = publishNotReadyAddresses || isReady(pod);
  if (ports.length === 0) return hasNoClusterIp(service) ? [{ port: undefined, address, isReady: ready }] : [];
  return ports.flatMap((port) => {
    const number = portOf(pod, port, true);
    if (number === undefined) return [];
    const { name = "", protocol = "TCP", appProtocol } = port;
    const named = dropUndefined<EndpointPort>({ name: name || undefined, port: number, protocol, appProtocol });
    return [{ port: named, address, isReady: ready }];
  });
}

function addressOf(pod: Pod, service: Service, ip: string): EndpointAddress {
  const nodeName = pod.spec.nodeName || undefined;
  return dropUndefined<EndpointAddress>({ ip, hostname: hostnameOf(pod, service), nodeName, targetRef: targetOf(pod) });
}
