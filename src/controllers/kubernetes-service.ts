/**
 * Maintains the service `default/kubernetes` and its endpoints, by which programs in the cluster reach the servers.
 * Source: upstream's kubernetes service controller and endpoint reconcilers.
 */
import type { Endpoints, EndpointSubset, Service, ServicePort } from "#api/core/v1.ts";
import type { Endpoint, EndpointSlice } from "#api/discovery/v1.ts";
import type { DeepPartial } from "#client/draft.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import { ipFamily } from "#meta/ip-range.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { periodically } from "./repeat.ts";

export interface KubernetesServiceOptions {
  /** The first address of the range of cluster addresses. */
  readonly clusterIp: string;
  /** The port at which the server listens. */
  readonly port: number;
  /** The node port with which the service is made; 0 for a service without one. */
  readonly nodePort: number;
  /** The servers that can be reached now. */
  readonly servers: LiveServers;
  /** The family of the addresses in endpoints; `undefined` when this server writes no endpoints. */
  readonly family: "IPv4" | "IPv6" | undefined;
}

/** The servers that can be reached now. */
interface LiveServers {
  /** Returns them, with this one unless it ends. */
  list(): readonly ServerEndpoint[];
}

export interface ServerEndpoint {
  readonly ip: string;
  readonly port: number;
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
  /** Returns the object that is created. */
  make(): DeepPartial<T>;
  /** Returns the repaired object; the given one when it is right. */
  mend(object: T): T;
}

/** The number of attempts to write an object that other servers write at the same time. */
const triesMax = 5;

const keeper =
  ({ client }: ControllerEnvironment) =>
  <T extends ApiObject>({ collection, make, mend }: Wanted<NoInfer<T>>) =>
  async (): Promise<void> => {
    const path = `${collection}/${name}`;
    for (let tries = 1; ; tries++) {
      try {
        const present = await ignoreNotFound(client.get<T>(path));
        // The resource may be switched off.
        if (present === undefined) return void (await ignoreNotFound(client.create<T>(collection, make())));
        const mended = mend(present);
        if (mended !== present) await client.update<T>(path, mended);
        return;
      } catch (error) {
        if (!(error instanceof StatusError) || error.status.code !== 409 || tries === triesMax) throw error;
      }
    }
  };

/** Returns functions that each maintain one object when they are called. */
function wantedObjects(
  options: KubernetesServiceOptions,
  environment: ControllerEnvironment,
): readonly (() => Promise<void>)[] {
  const { clusterIp, port, nodePort, servers, family } = options;
  const keep = keeper(environment);
  const service = keep<Service>({
    collection: `/api/v1${namespace}/services`,
    make: () => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace: "default", labels: { component: "apiserver", provider: "kubernetes" } },
      spec: {
        clusterIP: clusterIp,
        ipFamilyPolicy: "SingleStack",
        ports: [
          { name: "https", port: 443, protocol: "TCP", targetPort: port, ...(nodePort === 0 ? {} : { nodePort }) },
        ],
        sessionAffinity: "None",
        type: nodePort === 0 ? "ClusterIP" : "NodePort",
      },
    }),
    mend: (present) =>
      withField(present, "spec", {
        ...present.spec,
        // Servers of one store may have several ports. The first one stays for as long as a server has it.
        ports: servicePorts(present, commonPort(servers.list(), present.spec.ports?.[0]?.targetPort, port)),
      }),
  });
  return family === undefined ? [service] : [service, ...wantedEndpoints(options, family, environment)];
}

/** Returns the port that is shown where there is only one: the present one, if a server has it. */
const commonPort = (servers: readonly ServerEndpoint[], present: unknown, own: number): number =>
  servers.some(({ port }) => port === present) ? Number(present) : Math.min(...servers.map(({ port }) => port), own);

function wantedEndpoints(
  { port: ownPort, servers }: KubernetesServiceOptions,
  family: "IPv4" | "IPv6",
  environment: ControllerEnvironment,
): readonly (() => Promise<void>)[] {
  const { rename } = environment.domain;
  const keep = keeper(environment);
  const portsOf = (port: number) => [{ name: "https", port, protocol: "TCP" }];
  const addressesAt = (wanted: number): readonly string[] => {
    const ips = servers.list().flatMap(({ ip, port }) => (port === wanted && ipFamily(ip) === family ? [ip] : []));
    return [...new Set(ips)].sort();
  };
  /** Returns a subset for each port, in their order. */
  const subsets = (): readonly EndpointSubset[] =>
    [...new Set(servers.list().map(({ port }) => port))]
      .sort((a, b) => a - b)
      .map((port) => ({ addresses: addressesAt(port).map((ip) => ({ ip })), ports: portsOf(port) }))
      .filter(({ addresses }) => addresses.length > 0);
  const skipsMirror = { [rename("endpointslice.kubernetes.io/skip-mirror")]: "true" };
  const endpoints = keep<Endpoints>({
    collection: `/api/v1${namespace}/endpoints`,
    make: () => ({
      apiVersion: "v1",
      kind: "Endpoints",
      metadata: { name, namespace: "default", labels: skipsMirror },
      subsets: subsets(),
    }),
    mend: (present) =>
      withLabels(holds(present.subsets ?? [], subsets()) ? present : { ...present, subsets: subsets() }, skipsMirror),
  });
  const group = rename("discovery.k8s.io/v1");
  const ofService = { [rename("kubernetes.io/service-name")]: name };
  // A slice has one list of ports, so it names the servers that have them.
  const membersAt = (port: number): readonly Endpoint[] =>
    addressesAt(port).map((ip) => ({ addresses: [ip], conditions: { ready: true } }));
  const slice = keep<EndpointSlice>({
    collection: `/apis/${group}${namespace}/endpointslices`,
    make() {
      const port = commonPort(servers.list(), undefined, ownPort);
      return {
        apiVersion: group,
        kind: "EndpointSlice",
        metadata: { name, namespace: "default", labels: ofService },
        addressType: family,
        endpoints: membersAt(port),
        ports: portsOf(port),
      };
    },
    mend(present) {
      const port = commonPort(servers.list(), present.ports?.[0]?.port, ownPort);
      const members = withField(present, "endpoints", membersAt(port));
      return withLabels(withField(members, "ports", portsOf(port)), ofService);
    },
  });
  return [endpoints, slice];
}

/** Returns the ports of the existing service, with their node port, if they lead to `targetPort`; else such ports. */
function servicePorts({ spec: { ports = [] } }: Service, targetPort: string | number): readonly ServicePort[] {
  const wanted = { name: "https", protocol: "TCP", port: 443, targetPort };
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
