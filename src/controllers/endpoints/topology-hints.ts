/**
 * Hints that keep traffic in its zone (`service.kubernetes.io/topology-mode: Auto`). Each zone gets a share of the ready
 * endpoints in proportion to its share of the cluster's CPUs. Most endpoints serve their own zone; zones with too many
 * lend some to zones with too few. Pure functions. Source: KEP-2433, and the answers of 1.32.1.
 */
import type { Node, Service } from "#api/core/v1.ts";
import type { Endpoint } from "#api/discovery/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { integerQuantity, parseQuantity } from "#meta/quantity.ts";

/** Each zone's share of all CPUs; `undefined` with fewer than two zones, or when a node lacks its zone or CPUs. */
export type ZoneShares = ReadonlyMap<string, number> | undefined;

/** The part of a node that affects hints. */
interface NodePart {
  readonly zone: string;
  readonly milliCpus: number;
}

/** Whether a service wants hints by zones. Upstream: the older annotation counts if there are both. */
export function wantsHints({ metadata: { annotations = {} } }: Service, { rename }: ApiDomain): boolean {
  const mode =
    annotations[rename("service.kubernetes.io/topology-aware-hints")] ??
    annotations[rename("service.kubernetes.io/topology-mode")];
  return mode === "Auto" || mode === "auto";
}

/**
 * Returns the part of a node; `undefined` for nodes that do not count: those that are not ready, and those of the
 * control plane.
 */
export function nodePart({ metadata: { labels = {} }, status }: Node, { rename }: ApiDomain): NodePart | undefined {
  const roles = ["control-plane", "master"].map((role) => rename(`node-role.kubernetes.io/${role}`));
  if (roles.some((role) => Object.hasOwn(labels, role))) return undefined;
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status !== "True") return undefined;
  const cpu = parseQuantity(String(status.allocatable?.["cpu"] ?? "0"));
  return {
    zone: labels[rename("topology.kubernetes.io/zone")] ?? "",
    milliCpus: cpu === undefined ? 0 : Number(integerQuantity(cpu, "milli")),
  };
}

export function zoneShares(nodes: Iterable<Node>, domain: ApiDomain): ZoneShares {
  const cpus = new Map<string, number>();
  let total = 0;
  for (const node of nodes) {
    const part = nodePart(node, domain);
    if (part === undefined) continue;
    const { zone, milliCpus } = part;
    if (zone === "" || milliCpus <= 0) return undefined;
    cpus.set(zone, (cpus.get(zone) ?? 0) + milliCpus);
    total += milliCpus;
  }
  if (cpus.size < 2) return undefined;
  return new Map([...cpus].map(([zone, milliCpus]) => [zone, milliCpus / total]));
}

/** The share by which the traffic of an endpoint may exceed its own. */
const overload = 0.2;

/**
 * Returns the zone that each ready endpoint serves, or the reason why there are no hints, in the words of the event.
 */
export function zonesOf(
  endpoints: readonly Endpoint[],
  shares: ZoneShares,
): ReadonlyMap<Endpoint, string> | { readonly problem: string } {
  if (shares === undefined) {
    return { problem: "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes" };
  }
  const ready = endpoints.filter(({ conditions }) => conditions.ready === true);
  const counts = `(${ready.length} endpoints, ${shares.size} zones)`;
  if (ready.length < shares.size) return { problem: `Insufficient number of endpoints ${counts}` };
  const wanted = new Map<string, number>();
  let least = 0;
  for (const [zone, share] of shares) {
    const exact = share * ready.length;
    const atLeast = Math.ceil(exact / (1 + overload));
    least += atLeast;
    wanted.set(zone, Math.max(exact, atLeast));
  }
  if (least > ready.length) {
    return {
      problem: `Unable to allocate minimum required endpoints to each zone without exceeding overload threshold ${counts}`,
    };
  }
  if (ready.some(({ zone = "" }) => zone === "")) {
    return { problem: "One or more endpoints do not have a zone specified" };
  }
  return withLending(ready, wanted);
}

/** Returns the zone of each endpoint, after zones have lent endpoints. */
function withLending(ready: readonly Endpoint[], wanted: ReadonlyMap<string, number>): Map<Endpoint, string> {
  // The endpoints are sorted, so that the same ones are lent as long as nothing changes.
  const own = Map.groupBy(ready.toSorted(byAddress), ({ zone = "" }) => zone);
  const zones = new Map(ready.map((endpoint) => [endpoint, endpoint.zone ?? ""]));
  const excess = new Map([...wanted].map(([zone, count]) => [zone, (own.get(zone)?.length ?? 0) - count]));
  for (;;) {
    const [from, spare] = extreme(excess, (a, b) => a > b);
    const [to, missing] = extreme(excess, (a, b) => a < b);
    // Lending another endpoint would not improve the balance.
    if (spare <= 0 || missing >= 0 || (spare < 1 && missing > -1)) return zones;
    const endpoint = own.get(from)?.pop();
    if (endpoint === undefined) return zones;
    zones.set(endpoint, to);
    excess.set(from, spare - 1);
    excess.set(to, missing + 1);
  }
}

/** Returns the entry whose value comes first; of equal ones the earliest. */
function extreme(values: ReadonlyMap<string, number>, isBefore: (a: number, b: number) => boolean): [string, number] {
  let best: [string, number] | undefined;
  for (const [zone, value] of values) if (best === undefined || isBefore(value, best[1])) best = [zone, value];
  return best ?? ["", 0];
}

const byAddress = (a: Endpoint, b: Endpoint): number => {
  const [one = ""] = a.addresses ?? [];
  const [other = ""] = b.addresses ?? [];
  return one < other ? -1 : Number(one > other);
};
