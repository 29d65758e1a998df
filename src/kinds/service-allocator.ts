/**
 * Allocates cluster addresses and node ports. Reservations are derived from stored services; a pending write also
 * reserves its values until it is stored or has failed. There are no allocation objects that could become inconsistent,
 * so only services without an address need repair. Source: `Allocators` in upstream's
 * `pkg/registry/core/service/storage`.
 */
import type { Service, ServicePort, ServiceSpec } from "#api/core/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, goTexts, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { IpFamily, IpRange } from "#meta/ip-range.ts";
import { internalError, invalidObject, type StatusError } from "#meta/status-error.ts";
import type { Allocated, WriteAttributes } from "#registry/resource-definition.ts";
import { NumberPool } from "#std/number-pool.ts";
import type { Random } from "#std/random.ts";
import { resolveFamilies } from "./core/service-families.ts";
import {
  isHeadless,
  keepAllocated,
  mayHaveNodePorts,
  needsClusterIp,
  needsHealthCheckPort,
  needsNodePorts,
  nodePortsOf,
} from "./core/service-fields.ts";
import { withField } from "./edit.ts";

export interface PortRange {
  readonly first: number;
  readonly size: number;
}

interface ServiceAllocatorOptions {
  /** One or two ranges of different families. Services use the first one unless they request the other. */
  readonly clusterIps: readonly IpRange[];
  readonly nodePorts: PortRange;
  readonly random: Random;
}

/** A range of addresses or ports, whose members are numbers in its pool. */
interface Range {
  readonly pool: NumberPool;
  /** Returns the number of a member in the pool; `undefined` outside the range. */
  indexOf(member: string | number): number | undefined;
}

interface AddressRange extends Range {
  readonly family: IpFamily;
  /** The text of the range in messages. */
  readonly text: string;
  addressAt(index: number): string;
}

/** Reserved numbers, each with its pool. */
type Reservations = readonly (readonly [pool: NumberPool, number: number])[];

/** Returns the node port of a port; `index` is the position of the port. */
type GiveNodePort = (port: ServicePort, index: number) => number;

const portsPath = FieldPath.of("spec", "ports");
const healthCheckPath = FieldPath.of("spec", "healthCheckNodePort");
const portMax = 65535;

const isTaken = "taken";

export class ServiceAllocator {
  readonly #addresses: readonly AddressRange[];
  readonly #families: readonly IpFamily[];
  readonly #ports: Range;
  readonly #nodePorts: PortRange;
  readonly #random: Random;
  /** The reservations of stored services, by namespace and name. */
  readonly #stored = new Map<string, Reservations>();

  constructor({ clusterIps, nodePorts, random }: ServiceAllocatorOptions) {
    this.#addresses = clusterIps.map(addressRange);
    this.#families = clusterIps.map(({ family }) => family);
    this.#nodePorts = nodePorts;
    this.#ports = {
      pool: new NumberPool(nodePorts.size, portsOnRequest(nodePorts.size)),
      indexOf: (port) => {
        const index = Number(port) - nodePorts.first;
        return index >= 0 && index < nodePorts.size ? index : undefined;
      },
    };
    this.#random = random;
  }

  /** Forgets all stored services. The values of pending writes stay reserved. */
  clear(): void {
    for (const reservations of this.#stored.values()) releaseAll(reservations);
    this.#stored.clear();
  }

  /** Updates the reservations of a stored service; `service` is `undefined` when it is deleted. */
  set(namespace: string, name: string, service: Service | undefined): void {
    const key = `${namespace}/${name}`;
    const before = this.#stored.get(key) ?? [];
    const reservations = service === undefined ? [] : this.#reservationsOf(service.spec);
    for (const [pool, number] of reservations) pool.reserve(number);
    releaseAll(before);
    if (reservations.length === 0) this.#stored.delete(key);
    else this.#stored.set(key, reservations);
  }

  /**
   * The `allocate` hook of services. Throws `invalid` for values that are reserved or out of range, and `internalError`
   * when no value is free. Upstream: a dry run may name a reserved address and ports out of range.
   */
  allocate(object: Service, old: Service | undefined, attributes: WriteAttributes): Allocated<Service> {
    if (attributes.subresource !== "") return { object, release: () => undefined };
    const pending = new PendingReservations(object.metadata.name ?? "", this.#random, attributes.dryRun);
    try {
      const spec = this.#allocateSpec(object.spec, old?.spec, pending);
      const allocated = withField(object, "spec", spec);
      // A dry run shows free values and reserves none.
      if (attributes.dryRun) pending.release();
      return { object: allocated, release: () => pending.release() };
    } catch (error) {
      pending.release();
      throw error;
    }
  }

  /** Whether a service needs a cluster address or families and has none. */
  isIncomplete({ spec }: Service): boolean {
    return needsClusterIp(spec) && (!spec.clusterIP || (spec.ipFamilies ?? []).length === 0);
  }

  #reservationsOf(spec: ServiceSpec): Reservations {
    const reservations: [NumberPool, number][] = [];
    const add = ({ pool, indexOf }: Range, member: string | number): void => {
      const index = indexOf(member);
      if (index !== undefined) reservations.push([pool, index]);
    };
    if (needsClusterIp(spec)) {
      for (const ip of spec.clusterIPs ?? []) for (const range of this.#addresses) add(range, ip);
    }
    if (spec.type !== "ExternalName") for (const port of nodePortsOf(spec)) add(this.#ports, port);
    if (needsHealthCheckPort(spec)) add(this.#ports, spec.healthCheckNodePort ?? 0);
    return reservations;
  }

  #allocateSpec(spec: ServiceSpec, old: ServiceSpec | undefined, pending: PendingReservations): ServiceSpec {
    const resolved = resolveFamilies(keepAllocated(spec, old), old, this.#families);
    if (resolved.errors.length > 0) throw pending.refusal(resolved.errors);
    let next = resolved.spec;
    next = this.#withAddresses(next, old, pending);
    next = this.#withNodePorts(next, old, pending);
    return this.#withHealthCheckPort(next, old, pending);
  }

  #withAddresses(spec: ServiceSpec, old: ServiceSpec | undefined, pending: PendingReservations): ServiceSpec {
    if (!needsClusterIp(spec) || isHeadless(spec)) return spec;
    const { clusterIPs = [], ipFamilies = [] } = spec;
    const before = old !== undefined && needsClusterIp(old) ? (old.clusterIPs ?? []) : [];
    if (before[0] !== undefined && before[0] !== clusterIPs[0]) return spec; // validation refuses this change
    const addresses = ipFamilies.map((family, i) => {
      const ip = clusterIPs[i];
      if (ip !== undefined && before.includes(ip)) return ip;
      const range = this.#addresses.find((candidate) => candidate.family === family);
      if (range === undefined) return ip ?? "";
      if (ip === undefined) return range.addressAt(pending.reserveAny(range, "failed to allocate a serviceIP"));
      const problem = pending.tryReserve(range, ip);
      if (problem === undefined || (problem === isTaken && pending.dryRun)) return ip;
      const reason =
        problem === isTaken
          ? "provided IP is already allocated"
          : `the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${range.text}`;
      const text = `failed to allocate IP ${ip}: ${reason}`;
      throw pending.refusal([invalid(FieldPath.of("spec", "clusterIPs"), goTexts(clusterIPs), text)]);
    });
    const next = jsonEquals(addresses, clusterIPs) ? spec : withField(spec, "clusterIPs", addresses);
    return withField(next, "clusterIP", addresses[0]);
  }

  #withNodePorts(spec: ServiceSpec, old: ServiceSpec | undefined, pending: PendingReservations): ServiceSpec {
    if (!mayHaveNodePorts(spec)) return spec;
    const { ports = [] } = spec;
    const give =
      old === undefined
        ? this.#newNodePorts(ports, pending)
        : this.#keepNodePorts(mayHaveNodePorts(old) ? nodePortsOf(old) : [], pending);
    const next = ports.map((port, i) =>
      port.nodePort || needsNodePorts(spec) ? withField(port, "nodePort", give(port, i)) : port,
    );
    return next.every((port, i) => port === ports[i]) ? spec : withField(spec, "ports", next);
  }

  /**
   * Returns a function that gives node ports to a new service. Ports with the same number and different protocols share
   * a node port unless the service requests several.
   */
  #newNodePorts(ports: readonly ServicePort[], pending: PendingReservations): GiveNodePort {
    const asked = new Map<number, number>();
    for (const { port, nodePort = 0 } of ports) if (nodePort !== 0 && !asked.has(port)) asked.set(port, nodePort);
    const givenPorts = new Map<number, number>();
    return ({ port, nodePort = 0 }, i) => {
      const shared = givenPorts.get(port);
      const wanted = shared === undefined ? (asked.get(port) ?? 0) : nodePort;
      if (shared !== undefined && (wanted === 0 || wanted === shared)) return shared;
      const reserved = this.#nodePort(wanted, i, pending);
      if (shared === undefined) givenPorts.set(port, reserved);
      return reserved;
    };
  }

  /**
   * Returns a function that gives node ports to an existing service, which may use its old node ports at any of its
   * ports. Validation refuses duplicate ones.
   */
  #keepNodePorts(before: readonly number[], pending: PendingReservations): GiveNodePort {
    const own = new Set(before);
    return ({ nodePort = 0 }, i) => {
      const reserved = nodePort !== 0 && own.has(nodePort) ? nodePort : this.#nodePort(nodePort, i, pending);
      own.add(reserved);
      return reserved;
    };
  }

  /** Reserves the wanted port, or any port if `wanted` is 0. */
  #nodePort(wanted: number, index: number, pending: PendingReservations): number {
    if (wanted === 0) return this.#anyPort(pending, "failed to allocate a nodePort");
    const problem = this.#reservePort(pending, wanted);
    if (problem !== undefined)
      throw pending.refusal([invalid(portsPath.index(index).child("nodePort"), wanted, problem)]);
    return wanted;
  }

  #withHealthCheckPort(spec: ServiceSpec, old: ServiceSpec | undefined, pending: PendingReservations): ServiceSpec {
    if (!needsHealthCheckPort(spec) || (old !== undefined && needsHealthCheckPort(old))) return spec;
    const { healthCheckNodePort: wanted = 0 } = spec;
    if (wanted === 0) {
      return withField(
        spec,
        "healthCheckNodePort",
        this.#anyPort(pending, "failed to allocate a HealthCheck NodePort"),
      );
    }
    // Validation refuses numbers that are not ports.
    if (wanted < 1 || wanted > portMax) return spec;
    const problem = this.#reservePort(pending, wanted);
    if (problem === undefined) return spec;
    throw pending.refusal([invalid(healthCheckPath, wanted, problem)]);
  }

  #anyPort(pending: PendingReservations, failure: string): number {
    return this.#nodePorts.first + pending.reserveAny(this.#ports, failure);
  }

  /** Reserves a requested port. Returns the reason if this is impossible. */
  #reservePort(pending: PendingReservations, port: number): string | undefined {
    const problem = pending.tryReserve(this.#ports, port);
    if (problem === undefined || (problem === "outside" && pending.dryRun)) return undefined;
    const { first, size } = this.#nodePorts;
    return problem === isTaken
      ? "provided port is already allocated"
      : `provided port is not in the valid range. The range of valid ports is ${first}-${first + size - 1}`;
  }
}

/** The values that one write has reserved. All of them are released together. */
class PendingReservations {
  readonly #name: string;
  readonly #random: Random;
  readonly dryRun: boolean;
  #reservations: [NumberPool, number][] = [];

  constructor(name: string, random: Random, dryRun: boolean) {
    this.#name = name;
    this.#random = random;
    this.dryRun = dryRun;
  }

  tryReserve({ pool, indexOf }: Range, member: string | number): "outside" | typeof isTaken | undefined {
    const index = indexOf(member);
    if (index === undefined) return "outside";
    if (pool.isReserved(index)) return isTaken;
    pool.reserve(index);
    this.#reservations.push([pool, index]);
    return undefined;
  }

  /** Reserves a free value. Throws when there is none, with `failure` as the beginning of the message. */
  reserveAny({ pool }: Range, failure: string): number {
    const index = pool.reserveAny(this.#random);
    if (index === undefined) throw internalError(`${failure}: range is full`);
    this.#reservations.push([pool, index]);
    return index;
  }

  refusal(errors: readonly FieldError[]): StatusError {
    return invalidObject({ group: "", kind: "Service" }, this.#name, errors);
  }

  release(): void {
    releaseAll(this.#reservations);
    this.#reservations = [];
  }
}

function releaseAll(reservations: Reservations): void {
  for (const [pool, number] of reservations) pool.release(number);
}

/** Returns the pool of a range without its network address and, for IPv4, without its broadcast address. */
function addressRange(range: IpRange): AddressRange {
  const size = Math.max(Number(range.size) - (range.family === "IPv4" ? 2 : 1), 0);
  return {
    family: range.family,
    text: range.text,
    pool: new NumberPool(size, size < 16 ? 0 : clamp(Math.floor(size / 16), 16, 256)),
    indexOf(address) {
      const index = range.indexOf(String(address));
      return index === undefined || index === 0n || index > BigInt(size) ? undefined : Number(index) - 1;
    },
    addressAt: (index) => range.addressAt(BigInt(index) + 1n),
  };
}

/** Returns how many of the first ports are assigned automatically only when no other port is free. */
const portsOnRequest = (size: number): number => (size < 16 ? 0 : clamp(Math.floor(size / 32), 16, 128));

const clamp = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most);
