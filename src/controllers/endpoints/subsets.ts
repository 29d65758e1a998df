/**
 * The subsets of Endpoints: each is a set of addresses with the ports that all of them have. Ports with the same
 * addresses share a subset. Pure functions.
 */
import type { EndpointAddress, EndpointPort, EndpointSubset } from "#api/core/v1.ts";

/** An address and one port of it. */
export interface PortAddress {
  /** The port; `undefined` for an address without ports, as headless services may have. */
  readonly port: EndpointPort | undefined;
  readonly address: EndpointAddress;
  readonly isReady: boolean;
}

interface Group {
  readonly ports: EndpointPort[];
  readonly addresses: readonly PortAddress[];
}

/** Makes subsets. The addresses of a subset are sorted by their text, subsets by their first port. */
export function subsetsOf(entries: readonly PortAddress[]): EndpointSubset[] {
  const byPort = Map.groupBy(entries, ({ port }) => JSON.stringify(port ?? null));
  const groups = new Map<string, Group>();
  for (const members of byPort.values()) {
    const addresses = distinct(members);
    const key = addresses.map((entry) => `${entry.isReady} ${addressKey(entry.address)}`).join("\n");
    const group = groups.get(key) ?? { ports: [], addresses };
    const { port } = members[0]!; // of a group
    if (port !== undefined) group.ports.push(port);
    groups.set(key, group);
  }
  return [...groups.values()].map(subsetOf).sort((one, other) => firstPort(one) - firstPort(other));
}

/** Returns each address once. It is ready if any of its entries is. */
function distinct(entries: readonly PortAddress[]): PortAddress[] {
  const byAddress = new Map<string, PortAddress>();
  for (const entry of entries) {
    const key = addressKey(entry.address);
    if (byAddress.get(key)?.isReady !== true) byAddress.set(key, entry);
  }
  return [...byAddress].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, entry]) => entry);
}

const addressKey = ({ ip, targetRef }: EndpointAddress): string => `${ip} ${targetRef?.uid ?? ""}`;

function subsetOf({ ports, addresses }: Group): EndpointSubset {
  const [ready, notReady] = [true, false].map((wanted) =>
    addresses.flatMap(({ address, isReady }) => (isReady === wanted ? [address] : [])),
  );
  return {
    ...(ready!.length === 0 ? {} : { addresses: ready! }), // two lists were made
    ...(notReady!.length === 0 ? {} : { notReadyAddresses: notReady! }),
    ...(ports.length === 0 ? {} : { ports }),
  };
}

const firstPort = ({ ports }: EndpointSubset): number => Math.min(...(ports ?? []).map(({ port }) => port));

/**
 * Returns the subsets with at most `max` addresses altogether: ready ones before others, and the same share of each
 * subset. `undefined` when there are no more than that.
 */
export function truncateSubsets(subsets: readonly EndpointSubset[], max: number): EndpointSubset[] | undefined {
  const count = (of: (subset: EndpointSubset) => readonly EndpointAddress[] | undefined): number =>
    subsets.reduce((sum, subset) => sum + (of(subset)?.length ?? 0), 0);
  const ready = count(({ addresses }) => addresses);
  const notReady = count(({ notReadyAddresses }) => notReadyAddresses);
  if (ready + notReady <= max) return undefined;
  const some = shares(
    subsets.map(({ addresses = [] }) => addresses.length),
    Math.min(ready, max),
  );
  const others = shares(
    subsets.map(({ notReadyAddresses = [] }) => notReadyAddresses.length),
    max - Math.min(ready, max),
  );
  return subsets.flatMap(({ addresses = [], notReadyAddresses = [], ports }, at) => {
    const [first, second] = [addresses.slice(0, some[at]), notReadyAddresses.slice(0, others[at])];
    if (first.length + second.length === 0) return [];
    return [
      {
        ...(first.length === 0 ? {} : { addresses: first }),
        ...(second.length === 0 ? {} : { notReadyAddresses: second }),
        ...(ports === undefined ? {} : { ports }),
      },
    ];
  });
}

/** Divides `total` in proportion to `counts`; the rest after rounding goes to the first that have more. */
function shares(counts: readonly number[], total: number): number[] {
  const all = counts.reduce((sum, count) => sum + count, 0);
  if (all === 0) return counts.map(() => 0);
  const parts = counts.map((count) => Math.floor((count * total) / all));
  let rest = total - parts.reduce((sum, part) => sum + part, 0);
  return parts.map((part, at) => {
    const more = Math.min(rest, counts[at]! - part); // as many as counts
    rest -= more;
    return part + more;
  });
}

/** Returns a text that is equal for equal subsets. */
export const subsetsText = (subsets: readonly EndpointSubset[]): string =>
  JSON.stringify(
    subsets.map(({ addresses = [], notReadyAddresses = [], ports = [] }) => [
      addresses.map(addressText),
      notReadyAddresses.map(addressText),
      ports.map(({ name = "", port, protocol = "TCP", appProtocol = "" }) => [name, port, protocol, appProtocol]),
    ]),
  );

const addressText = ({ ip, hostname = "", nodeName = "", targetRef }: EndpointAddress): readonly string[] => {
  const { kind = "", namespace = "", name = "", uid = "" } = targetRef ?? {};
  return [ip, hostname, nodeName, kind, namespace, name, uid];
};
