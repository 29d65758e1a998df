/**
 * Finds the address of a service that this server calls: the cluster IP, one of the endpoints
 * (`--enable-aggregator-routing`), or the address of `--service-address`. Calls to this server's own service need no
 * address. Source: upstream's `util/proxy` and the service resolvers of its aggregator.
 */
import type { Endpoints, EndpointSubset, Service, ServicePort } from "#api/core/v1.ts";
import type { FindServiceAddress, ServiceAddress } from "#egress/service-address.ts";
import { goQuote } from "#meta/field-error.ts";
import type { Random } from "#std/random.ts";
import type { Lookups } from "../lookups.ts";
import { serviceMapping, type ServiceFlags } from "./flags.ts";

interface ServiceAddressesOptions {
  readonly options: Pick<ServiceFlags, "serviceAddress" | "enableAggregatorRouting">;
  readonly lookups: Lookups;
  readonly random: Pick<Random, "next">;
  /** The URL of this server. */
  readonly url: string;
}

export function findServiceAddress({ options, lookups, random, url }: ServiceAddressesOptions): FindServiceAddress {
  const addresses = givenAddresses(options);
  const own = new URL(url);
  const ownAddress = { host: own.hostname.replace(/^\[|\]$/g, ""), port: Number(own.port || httpsPort) };
  return (namespace, name, port) => {
    const fixed = addresses(namespace, name, port);
    if (fixed !== undefined) return fixed;
    if (namespace === "default" && name === "kubernetes" && port === httpsPort) return ownAddress;
    const service = lookups.get("services", namespace, name);
    if (service === undefined) throw new Error(`service ${goQuote(name)} not found`);
    if (!options.enableAggregatorRouting) return clusterAddress(service, name, port);
    return endpointAddress(service, lookups.get("endpoints", namespace, name), { name, port, random });
  };
}

const httpsPort = 443;

/** Returns the addresses of `--service-address`. */
export function givenAddresses({
  serviceAddress,
}: Pick<ServiceFlags, "serviceAddress">): (...service: Parameters<FindServiceAddress>) => ServiceAddress | undefined {
  const byHost = new Map(
    serviceAddress.map((entry) => {
      const [, service, bracketed, host, port] = serviceMapping.exec(entry)!; // the flag has checked it
      return [service!, { host: bracketed ?? host!, port: Number(port) }] as const;
    }),
  );
  return (namespace, name, port) => byHost.get(`${namespace}/${name}:${port}`) ?? byHost.get(`${namespace}/${name}`);
}

function clusterAddress({ spec }: Service, name: string, port: number): ServiceAddress {
  const { type = "ClusterIP", clusterIP = "", externalName = "" } = spec;
  if (type === "ExternalName") return { host: externalName, port };
  if (!routedTypes.has(type)) throw new Error(`unsupported service type ${goQuote(type)}`);
  if (clusterIP === "None") throw new Error('cannot route to service with ClusterIP "None"');
  const servicePort = requiredPort(spec.ports, name, port);
  if (clusterIP === "") throw new Error(`service ${goQuote(name)} has no cluster address`);
  return { host: clusterIP, port: servicePort.port };
}

const routedTypes: ReadonlySet<string> = new Set(["ClusterIP", "NodePort", "LoadBalancer"]);

function requiredPort(ports: readonly ServicePort[] = [], name: string, port: number): ServicePort {
  const servicePort = ports.find((candidate) => candidate.port === port);
  if (servicePort === undefined) throw new Error(`no service port ${port} found for service ${goQuote(name)}`);
  return servicePort;
}

interface Wanted {
  readonly name: string;
  readonly port: number;
  readonly random: Pick<Random, "next">;
}

function endpointAddress(service: Service, endpoints: Endpoints | undefined, wanted: Wanted): ServiceAddress {
  const { name, port, random } = wanted;
  const { type = "ClusterIP", ports } = service.spec;
  if (!routedTypes.has(type)) throw new Error(`unsupported service type ${goQuote(type)}`);
  const { name: portName = "" } = requiredPort(ports, name, port);
  if (endpoints === undefined) throw new Error(`endpoints ${goQuote(name)} not found`);
  const all = (endpoints.subsets ?? []).flatMap((subset) => readyAddresses(subset, portName));
  const chosen = all[Math.floor(random.next() * all.length)];
  if (chosen === undefined) throw new Error(`no endpoints available for service ${goQuote(name)}`);
  return chosen;
}

/** Returns the ready addresses of a subset, each with the port of the name. */
function readyAddresses({ addresses = [], ports = [] }: EndpointSubset, portName: string): ServiceAddress[] {
  const endpointPort = ports.find(({ name = "" }) => name === portName);
  return endpointPort === undefined ? [] : addresses.map(({ ip }) => ({ host: ip, port: endpointPort.port }));
}
