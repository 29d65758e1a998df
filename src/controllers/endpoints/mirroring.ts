/**
 * Mirrors Endpoints that clients wrote for services without selectors to EndpointSlices, which is what kube-proxy reads.
 * Source: upstream's EndpointSlice mirroring controller.
 */
import type { EndpointAddress, Endpoints, EndpointSubset, Service } from "#api/core/v1.ts";
import type { Endpoint, EndpointPort } from "#api/discovery/v1.ts";
import { keyOf, statesOf } from "#client/informer.ts";
import { referenceToOwner } from "#client/owner.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import { dropUndefined } from "#std/drop-undefined.ts";
import type { Controller, ControllerEnvironment } from "../controller.ts";
import { electionAnnotation, overCapacityAnnotation, triggerTimeAnnotation } from "./annotations.ts";
import { familyOf } from "./pod-address.ts";
import { SliceKeeper, type SliceSet } from "./slice-keeper.ts";
import { portsText, type SliceGroup } from "./slice-plan.ts";
import { whileNamespaceLives } from "../ignore-codes.ts";
import { objectPath } from "../paths.ts";
import { follow } from "../reconcile.ts";
import type { SharedInformers } from "../shared-informers.ts";
import { RestingQueue } from "../resting-queue.ts";

/** Upstream's maximum number of mirrored addresses of a subset; as many fit into a slice. */
const addressesMax = 1000;

/** Upstream's number of services that are processed at a time. */
const workersMax = 5;

export const endpointSliceMirroringController =
  (informers: SharedInformers): Controller =>
  async (environment) => {
    const { services } = informers;
    const keeper = new SliceKeeper(environment, "endpointslicemirroring-controller.k8s.io");
    const queue = new RestingQueue(environment, {
      name: "endpoint_slice_mirroring",
      workersMax,
      logKey: "service",
      work: (key) => whileNamespaceLives(mirror(environment, keeper, key)),
      failure: "could not mirror the endpoints of a service; trying again",
    });
    services.subscribe((event) => {
      const [before, after = false] = statesOf(event).map(isMirrored);
      if (before !== after) queue.add(keyOf(event.object));
    });
    const changed = (endpoints: Endpoints): void => {
      const key = keyOf(endpoints);
      const service = services.get(key);
      // Another controller writes the slices of services with selectors.
      if (service === undefined || isMirrored(service)) queue.add(key);
    };
    await Promise.all([
      keeper.follow((key) => queue.add(key)),
      follow<Endpoints>(environment, {
        what: "endpoints",
        path: "/api/v1/endpoints",
        trim: ({ metadata }) => ({ metadata }),
        replaced: (all) => all.forEach(changed),
        changed: (_type, endpoints) => changed(endpoints),
      }),
    ]);
  };

const isMirrored = ({ spec: { selector } }: Service): boolean => Object.keys(selector ?? {}).length === 0;

/** Mirrors Endpoints by their present state, which is read live, so that events may be late. */
async function mirror(environment: ControllerEnvironment, keeper: SliceKeeper, key: string): Promise<void> {
  const { client } = environment;
  const [namespace = "", name = ""] = key.split("/");
  const service = await ignoreNotFound(client.get<Service>(objectPath("/api/v1/services", key)));
  const endpoints = await ignoreNotFound(client.get<Endpoints>(objectPath("/api/v1/endpoints", key)));
  const exist = service !== undefined && endpoints !== undefined;
  if (exist && isMirrored(service) && mayBeMirrored(environment, endpoints)) {
    await keeper.keep(sliceSetOf(environment, endpoints));
  } else await keeper.clear(namespace, name);
}

function mayBeMirrored({ domain: { rename } }: ControllerEnvironment, { metadata }: Endpoints): boolean {
  const { labels = {}, annotations = {} } = metadata;
  if (labels[rename("endpointslice.kubernetes.io/skip-mirror")] === "true") return false;
  return annotations[rename(electionAnnotation)] === undefined;
}

function sliceSetOf({ domain: { rename } }: ControllerEnvironment, endpoints: Endpoints): SliceSet {
  const { namespace = "", name = "", labels = {}, deletionTimestamp } = endpoints.metadata;
  const own = [
    rename("kubectl.kubernetes.io/last-applied-configuration"),
    rename(overCapacityAnnotation),
    rename(triggerTimeAnnotation),
  ];
  const annotations = endpoints.metadata.annotations ?? {};
  return {
    namespace,
    name,
    labels,
    annotations: Object.fromEntries(Object.entries(annotations).filter(([key]) => !own.includes(key))),
    owner: referenceToOwner({ ...endpoints, apiVersion: "v1", kind: "Endpoints" }),
    triggerTime: annotations[rename(triggerTimeAnnotation)],
    endpointsMax: addressesMax,
    mayCreate: deletionTimestamp === undefined,
    groups: groupsOf(endpoints.subsets ?? []),
  };
}

/** Groups subsets for slices: subsets with the same ports share slices, if their addresses are of the same family. */
function groupsOf(subsets: readonly EndpointSubset[]): SliceGroup[] {
  const groups = new Map<string, { addressType: string; ports: readonly EndpointPort[]; endpoints: Endpoint[] }>();
  /** The first entry of each address; later entries of the same address do not count. */
  const first = new Map<string, EndpointAddress>();
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets) {
    const named = ports.map(({ name = "", port, protocol = "TCP", appProtocol }) =>
      dropUndefined<EndpointPort>({ name, port, protocol, appProtocol }),
    );
    const endpoints = [
      ...addresses.map((address) => ({ address, ready: true })),
      ...notReadyAddresses.map((address) => ({ address, ready: false })),
    ];
    for (const { address, ready } of endpoints.slice(0, addressesMax)) {
      const addressType = familyOf(address.ip);
      const key = `${addressType} ${portsText(named)}`;
      const group = groups.get(key) ?? { addressType, ports: named, endpoints: [] };
      groups.set(key, group);
      const one = `${address.ip} ${address.targetRef?.uid ?? ""}`;
      if (!first.has(one)) first.set(one, address);
      group.endpoints.push(endpointOf(first.get(one) ?? address, ready));
    }
  }
  return [...groups.values()].map((group) => ({ ...group, isPlaceholder: false }));
}

const endpointOf = ({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean): Endpoint =>
  dropUndefined<Endpoint>({ addresses: [ip], conditions: { ready }, hostname, nodeName, targetRef });
