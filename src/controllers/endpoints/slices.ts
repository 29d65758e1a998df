/**
 * Maintains the EndpointSlices of services with selectors: the addresses of the selected pods, by family and ports,
 * with nodes, zones and readiness. Source: upstream's EndpointSlice controller.
 */
import type { Node, Pod, Service, ServicePort } from "#api/core/v1.ts";
import type { Endpoint, EndpointPort } from "#api/discovery/v1.ts";
import { keyOf } from "#client/informer.ts";
import { referenceToOwner } from "#client/owner.ts";
import { dropUndefined } from "#std/drop-undefined.ts";
import type { Controller, ControllerEnvironment } from "../controller.ts";
import { addressesOf, conditionsOf, hostnameOf, isEndpoint, hasNoClusterIp, portOf, targetOf } from "./pod-address.ts";
import { Selections, selects } from "./selections.ts";
import { SliceKeeper } from "./slice-keeper.ts";
import { portsText, type SliceGroup } from "./slice-plan.ts";
import { nodePart, wantsHints, type ZoneShares, zoneShares, zonesOf } from "./topology-hints.ts";
import { TriggerTimes } from "./trigger-times.ts";
import { eventTeller, type TellEvent } from "../events.ts";
import { whileNamespaceLives } from "../ignore-codes.ts";
import type { SharedInformers } from "../shared-informers.ts";
import { RestingQueue } from "../resting-queue.ts";

interface EndpointSlicesOptions {
  readonly informers: SharedInformers;
  /** The maximum number of endpoints in a slice. */
  readonly endpointsMax: number;
}

/** Upstream's number of services that are processed at a time. */
const workersMax = 5;

export const endpointSlicesController =
  (options: EndpointSlicesOptions): Controller =>
  (environment) =>
    new EndpointSlices(environment, options).run();

class EndpointSlices {
  readonly #environment: ControllerEnvironment;
  readonly #options: EndpointSlicesOptions;
  readonly #selections: Selections;
  readonly #keeper: SliceKeeper;
  readonly #triggers = new TriggerTimes();
  readonly #zoneLabel: string;
  /** The names of the nodes on which endpoints depend, by key of the service. */
  readonly #nodes = new Map<string, Set<string>>();
  /** The shares of zones, computed from all nodes; `"unknown"` when the nodes have changed since. */
  #shares: ZoneShares | "unknown" = "unknown";
  /** The families of services that have hints, or have an event about the reason why not, by key of the service. */
  readonly #hinted = new Map<string, Map<string, boolean>>();
  readonly #tellEvent: TellEvent;

  constructor(environment: ControllerEnvironment, options: EndpointSlicesOptions) {
    this.#environment = environment;
    this.#options = options;
    this.#selections = new Selections(options.informers);
    this.#keeper = new SliceKeeper(environment, "endpointslice-controller.k8s.io");
    this.#tellEvent = eventTeller(environment, "endpoint-slice-controller");
    this.#zoneLabel = environment.domain.rename("topology.kubernetes.io/zone");
  }

  async run(): Promise<void> {
    const queue = new RestingQueue(this.#environment, {
      name: "endpoint_slice",
      workersMax,
      logKey: "service",
      work: (key) => whileNamespaceLives(this.#work(key)),
      failure: "could not write the endpoint slices of a service; trying again",
    });
    this.#selections.listen((key) => queue.add(key));
    this.#options.informers.nodes.subscribe((event) => {
      const { object: node } = event;
      const previous = event.type === "changed" ? event.previous : undefined;
      if (this.#partOf(previous) !== this.#partOf(node)) {
        this.#shares = "unknown";
        for (const key of this.#hinted.keys()) queue.add(key);
      }
      if (previous !== undefined && this.#zoneOf(previous) === this.#zoneOf(node)) return;
      for (const [key, nodes] of this.#nodes) if (nodes.has(keyOf(node))) queue.add(key);
    });
    await this.#keeper.follow((key) => queue.add(key));
  }

  async #work(key: string): Promise<void> {
    const { informers, endpointsMax } = this.#options;
    await Promise.all([this.#selections.synced(), informers.nodes.synced]);
    const [namespace = "", name = ""] = key.split("/");
    const service = this.#selections.service(key);
    this.#nodes.delete(key);
    // The garbage collector deletes the slices of a service that is gone. Another controller has those of a service
    // without selector.
    if (service === undefined) {
      this.#hinted.delete(key);
      return this.#triggers.forget(key);
    }
    if (!selects(service)) return undefined;
    const pods = this.#selections.podsOf(service);
    const triggerTime = this.#triggers.since(key, service, pods);
    await this.#keeper.keep({
      namespace,
      name,
      labels: this.#labelsOf(service),
      annotations: undefined,
      owner: referenceToOwner({ ...service, apiVersion: "v1", kind: "Service" }),
      triggerTime,
      endpointsMax,
      mayCreate: service.metadata.deletionTimestamp === undefined,
      groups: (service.spec.ipFamilies ?? []).flatMap((family) => this.#groupsOf(key, service, pods, family)),
    });
  }

  /** Returns the labels of the service, without those that have a meaning on slices. */
  #labelsOf(service: Service): Readonly<Record<string, string>> {
    const { rename } = this.#environment.domain;
    const headless = rename("service.kubernetes.io/headless");
    const reserved = [headless, rename("kubernetes.io/service-name"), rename("endpointslice.kubernetes.io/managed-by")];
    const labels = Object.entries(service.metadata.labels ?? {}).filter(([label]) => !reserved.includes(label));
    return { ...Object.fromEntries(labels), ...(hasNoClusterIp(service) ? { [headless]: "" } : {}) };
  }

  /** Returns the part of a node that affects the shares of zones. */
  #partOf(node: Node | undefined): string {
    const part = node && nodePart(node, this.#environment.domain);
    return part === undefined ? "" : `${part.milliCpus} ${part.zone}`;
  }

  #groupsOf(key: string, service: Service, pods: readonly Pod[], family: string): SliceGroup[] {
    const groups = this.#plainGroupsOf(key, service, pods, family);
    if (!wantsHints(service, this.#environment.domain)) {
      this.#noteHints(key, service, family, undefined);
      return groups;
    }
    if (this.#shares === "unknown") {
      this.#shares = zoneShares(this.#options.informers.nodes.list(), this.#environment.domain);
    }
    const endpoints = groups.flatMap((group) => group.endpoints);
    const zones = zonesOf(endpoints, this.#shares);
    this.#noteHints(key, service, family, "problem" in zones ? zones.problem : "");
    if ("problem" in zones) return groups;
    const hinted = (endpoint: Endpoint): Endpoint => {
      const zone = zones.get(endpoint);
      return zone === undefined ? endpoint : { ...endpoint, hints: { forZones: [{ name: zone }] } };
    };
    return groups.map((group) => ({ ...group, endpoints: group.endpoints.map(hinted) }));
  }

  /**
   * Records an event when hints by zones begin or end, or cannot be given. `problem` is the reason, if they are wanted.
   */
  #noteHints(key: string, service: Service, family: string, problem: string | undefined): void {
    const had = this.#hinted.get(key)?.get(family) === true;
    const say = (type: "Normal" | "Warning", what: string): void => {
      const reason = type === "Normal" ? "TopologyAwareHintsEnabled" : "TopologyAwareHintsDisabled";
      const about = { ...service, apiVersion: "v1", kind: "Service" };
      this.#tellEvent(about, type, reason, `${what}, addressType: ${family}`);
    };
    if (problem === undefined) {
      if (had) say("Warning", "Topology Aware Hints has been disabled");
      this.#hinted.get(key)?.delete(family);
      if (this.#hinted.get(key)?.size === 0) this.#hinted.delete(key);
      return;
    }
    if (problem !== "") say("Warning", problem);
    else if (!had) say("Normal", "Topology Aware Hints has been enabled");
    const families = this.#hinted.get(key) ?? new Map<string, boolean>();
    this.#hinted.set(key, families.set(family, problem === ""));
  }

  #plainGroupsOf(key: string, service: Service, pods: readonly Pod[], family: string): SliceGroup[] {
    if (family !== "IPv4" && family !== "IPv6") return [];
    const groups = new Map<string, { ports: readonly EndpointPort[]; endpoints: Endpoint[] }>();
    for (const pod of pods) {
      if (!isEndpoint(pod, true)) continue;
      const addresses = addressesOf(pod, family);
      if (addresses.length === 0) continue;
      const node = this.#nodeOf(key, pod);
      // A pod of an unknown node cannot be reached; the service may publish it all the same.
      if (node === undefined && service.spec.publishNotReadyAddresses !== true) continue;
      const ports = portsOf(pod, service.spec.ports ?? []);
      const text = portsText(ports);
      const group = groups.get(text) ?? { ports, endpoints: [] };
      group.endpoints.push(this.#endpointOf(pod, service, node, addresses));
      groups.set(text, group);
    }
    if (groups.size === 0) return [{ addressType: family, ports: [], endpoints: [], isPlaceholder: true }];
    return [...groups.values()].map((group) => ({ addressType: family, ...group, isPlaceholder: false }));
  }

  #endpointOf(pod: Pod, service: Service, node: Node | undefined, addresses: readonly string[]): Endpoint {
    const zone = node === undefined ? "" : this.#zoneOf(node);
    const conditions = conditionsOf(pod, service);
    const prefersClose =
      service.spec.trafficDistribution === "PreferClose" && !wantsHints(service, this.#environment.domain);
    const isNear = prefersClose && conditions.ready && zone !== "";
    return dropUndefined<Endpoint>({
      addresses,
      conditions,
      targetRef: targetOf(pod),
      hostname: hostnameOf(pod, service),
      nodeName: pod.spec.nodeName || undefined,
      zone: zone || undefined,
      hints: isNear ? { forZones: [{ name: zone }] } : undefined,
    });
  }

  /** Returns the node of a pod. The service is reconciled when the node is created, deleted or changes its zone. */
  #nodeOf(key: string, { spec: { nodeName = "" } }: Pod): Node | undefined {
    if (nodeName === "") return undefined;
    const nodes = this.#nodes.get(key) ?? new Set();
    this.#nodes.set(key, nodes.add(nodeName));
    return this.#options.informers.nodes.get(nodeName);
  }

  #zoneOf({ metadata }: Node): string {
    return metadata.labels?.[this.#zoneLabel] ?? "";
  }
}

/** Returns the ports of a service at a pod; ports that the pod does not have are left out. */
function portsOf(pod: Pod, ports: readonly ServicePort[]): EndpointPort[] {
  return ports.flatMap((port) => {
    const number = portOf(pod, port, false);
    if (number === undefined) return [];
    const { name = "", protocol = "TCP", appProtocol } = port;
    return [dropUndefined<EndpointPort>({ name, protocol, port: number, appProtocol })];
  });
}
