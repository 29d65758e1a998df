/** Flags of services and of the service `default/kubernetes`. */
import type { PortRange } from "#kinds/service-allocator.ts";
import { ipFamily } from "#meta/ip-range.ts";
import { binnacleFlag, boolean, choice, type Flag, integer, list, optional, type OptionsOf } from "#std/flags.ts";
import { isObject } from "#std/is-object.ts";
import { StartError } from "#std/start-error.ts";

const services = (name: string) => [name, "Services"] as const;

const isPositive = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= 1;

/** A port range as `30000-32767`, or as `30000+2767`: the first port and the number of ports after it. */
function portRange(name: string, initial: PortRange, help: string): Flag<PortRange> {
  const last = ({ first, size }: PortRange): number => first + size - 1;
  return {
    name,
    group: "Services",
    hint: "first-last",
    help,
    default: initial,
    parse(value) {
      const match = /^(\d{1,5})([-+])(\d{1,5})$/.exec(value);
      const first = Number(match?.[1]);
      return { first, size: match?.[2] === "+" ? Number(match[3]) + 1 : Number(match?.[3]) - first + 1 };
    },
    check(value, refuse) {
      const { first, size } = isObject(value) ? value : {};
      if (isPositive(first) && isPositive(size) && first + size <= 65_536) return { first, size };
      throw refuse("must be a range of ports such as 30000-32767");
    },
    print: (range) => `${range.first}-${last(range)}`,
  };
}

/** An address as `namespace/name:port=host:port`; without the first port it holds for all ports of the service. */
export const serviceMapping =
  /^([a-z0-9-]{1,63}\/[a-z0-9-]{1,63}(?::\d{1,5})?)=(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/;

export const serviceFlags = {
  serviceClusterIpRange: {
    ...list(
      services("service-cluster-ip-range"),
      "cidr[,cidr]",
      "Ranges of services' cluster addresses: one, or one of each IP family of which the first is the default.",
    ),
    default: ["10.0.0.0/24"],
  },
  serviceNodePortRange: portRange(
    "service-node-port-range",
    { first: 30_000, size: 2768 },
    "Ports of services of the types NodePort and LoadBalancer.",
  ),
  kubernetesServiceNodePort: integer(
    services("kubernetes-service-node-port"),
    0,
    { min: 0, max: 65_535 },
    "Node port of the service default/kubernetes, which then has the type NodePort when it is made; 0 for none.",
  ),
  advertiseAddress: optional(
    services("advertise-address"),
    "ip",
    "Address at which programs in the cluster reach this server. Default: --bind-address, or one of the machine's when that is for all or local.",
    (address) => (ipFamily(address) === undefined ? "must be an IP address" : undefined),
  ),
  endpointReconcilerType: choice(
    services("endpoint-reconciler-type"),
    "lease",
    ["lease", "master-count", "none"],
    "Whether the endpoints of the service kubernetes are kept; none leaves them to others.",
  ),
  serviceAddress: list(
    binnacleFlag("service-address"),
    "namespace/name[:port]=host:port,...",
    "Where webhooks and aggregated API servers of a service are reached from here, instead of at its cluster address.",
    (entry) => (serviceMapping.test(entry) ? undefined : "must be namespace/name[:port]=host:port"),
  ),
  enableAggregatorRouting: boolean(
    services("enable-aggregator-routing"),
    false,
    "Reach aggregated API servers and webhooks at the endpoints of their services instead of at cluster addresses.",
  ),
};

export type ServiceFlags = OptionsOf<typeof serviceFlags>;

/** Throws `StartError` for a node port outside of the range of node ports. */
export function checkNodePort(options: Pick<ServiceFlags, "kubernetesServiceNodePort" | "serviceNodePortRange">): void {
  const { kubernetesServiceNodePort: port, serviceNodePortRange: range } = options;
  const last = range.first + range.size - 1;
  if (port === 0 || (port >= range.first && port <= last)) return;
  throw new StartError(`kubernetes service node port range ${range.first}-${last} doesn't contain ${port}`);
}
