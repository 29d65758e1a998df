/**
 * Maintains the service `default/kubernetes` and its endpoints, by which programs in the cluster reach this server.
 * Source: upstream's kubernetes service controller and endpoint reconcilers.
 */
import type { Endpoints, Service, ServicePort } from "#api/core/v1.ts";
import type { EndpointSlice } from "#api/discovery/v1.ts";
import type { DeepPartial } from "#client/draft.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { periodically } from "./repeat.ts";

export interface KubernetesServiceOptions {
  /** The first address of the range of cluster addresses. */
  readonly clusterIp: string;
  /** The port at which the server listens. */
  readonly port: number;
  /** The address in the endpoints; `undefined` when the server does not write endpoints. */
  readonly endpoint: { readonly ip: string; readonly family: "IPv4" | "IPv6" } | undefined;
}

const periodMs = 10_000;
const name = "kubernetes";
const namespace = "/namespaces/default";

export const kubernetesServiceController =
  (options: KubernetesServiceOptions): Controller =>
  (environment) => {
    const objects = wantedObjects(options, environment);
    return periodically(environment, periodMs, "could not keep the service kubernetes; trying again", async () => {
      for (const keep of objects) await keep();
    });
  };

/** `T` is the type of the object. */
interface Wanted<T extends ApiObject> {
  readonly collection: string;
  readonly object: DeepPartial<T>;
  /** Returns the repaired object; the given one when it is right. */
  mend(object: T): T;
}

const keeper =
  ({ client }: ControllerEnvironment) =>
  <T extends ApiObject>({ collection, object, mend }: Wanted<NoInfer<T>>) =>
  async (): Promise<void> => {
    const path = `${collection}/${name}`;
    const present = await ignoreNotFound(client.get<T>(path));
    // The resource may be switched off.
    if (present === undefined) return void (await ignoreNotFound(client.create<T>(collection, object)));
    const mended = mend(present);
    if (mended !== present) await client.update<T>(path, mended);
  };

/** Returns functions that each maintain one object when they are called. */
function wantedObjects(
  { clusterIp, port, endpoint }: KubernetesServiceOptions,
  environment: ControllerEnvironment,
): readonly (() => Promise<void>)[] {
  const { rename } = environment.domain;
  const keep = keeper(environment);
  const service = keep<Service>({
    collection: `/api/v1${namespace}/services`,
    object: {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace: "default", labels: { component: "apiserver", provider: "kubernetes" } },
      spec: {
        clusterIP: clusterIp,
        ipFamilyPolicy: "SingleStack",
        ports: [{ name: "https", port: 443, protocol: "TCP", targetPort: port }],
        sessionAffinity: "None",
        type: "ClusterIP",
      },
    },
    mend(present) {
      const wanted = { type: "ClusterIP", ports: servicePorts(present, port) };
      return withField(present, "spec", { ...present.spec, ...wanted });
    },
  });
  if (endpoint === undefined) return [service];
  const ports = [{ name: "https", port, protocol: "TCP" }];
  const subsets = [{ addresses: [{ ip: endpoint.ip }], ports }];
  const skipsMirror = { [rename("endpointslice.kubernetes.io/skip-mirror")]: "true" };
  const endpoints = keep<Endpoints>({
    collection: `/api/v1${namespace}/endpoints`,
    object: {
      apiVersion: "v1",
      kind: "Endpoints",
      metadata: { name, namespace: "default", labels: skipsMirror },
      subsets,
    },
    mend: (present) => withLabels(withField(present, "subsets", subsets), skipsMirror),
  });
  const group = rename("discovery.k8s.io/v1");
  const ofService = { [rename("kubernetes.io/service-name")]: name };
  const members = [{ addresses: [endpoint.ip], conditions: { ready: true } }];
  const slice = keep<EndpointSlice>({
    collection: `/apis/${group}${namespace}/endpointslices`,
    object: {
      apiVersion: group,
      kind: "EndpointSlice",
      metadata: { name, namespace: "default", labels: ofService },
      addressType: endpoint.family,
      endpoints: members,
      ports,
    },
    mend: (present) => withLabels(withField(withField(present, "endpoints", members), "ports", ports), ofService),
  });
  return [service, endpoints, slice];
}

/** Returns the ports of the existing service, with their node port, if they are the server's own; else its own. */
function servicePorts({ spec: { ports = [] } }: Service, port: number): readonly ServicePort[] {
  const wanted = { name: "https", protocol: "TCP", port: 443, targetPort: port };
  const [first] = ports;
  return ports.length === 1 && first !== undefined && holds(first, wanted) ? ports : [wanted];
}

/** Whether `present` contains all of `wanted`. */
function holds(present: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null) return present === wanted;
  if (typeof present !== "object" || present === null) return false;
  if (Array.isArray(wanted) && (!Array.isArray(present) || present.length !== wanted.length)) return false;
  const members = present as Readonly<Record<string, unknown>>; // an object, or a list by its indexes
  return Object.entries(wanted).every(([key, value]) => holds(members[key], value));
}

const withField = <T extends ApiObject, Field extends keyof T>(object: T, field: Field, value: T[Field]): T =>
  holds(object[field], value) ? object : { ...object, [field]: value };

const withLabels = <T extends ApiObject>(object: T, labels: Readonly<Record<string, string>>): T =>
  holds(object.metadata.labels, labels)
    ? object
    : { ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, ...labels } } };
