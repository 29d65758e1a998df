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
import { type IpFamily, ipFamily, type IpRange } from "#meta/ip-range.ts";
import { internalError, invalidObject, type StatusError } from "#meta/status-error.ts";
import type { Allocated, WriteAttributes } from "#registry/resource-definition.ts";
import { NumberPool } from "#std/number-pool.ts";
import type { Random } from "#std/random.ts";
import { AddressPool } from "./address-pool.ts";
import { resolveFamilies } from "./core/service-families.ts";
import {
  isHeadless,
  keepAllocated,
  mayHaveNodePorts,
  mayHaveClusterIp,
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

/** A service with its values, and whether some of them were free before. */
interface AllocatedService extends Allocated<Service> {
  readonly isNew: boolean;
}

/** Reserved values, each as the function that releases it. */
type Reservations = readonly (() => void)[];

/** Returns the node port of a port; `index` is the position of the port. */
type GiveNodePort = (port: ServicePort, index: number) => number;

const portsPath = FieldPath.of("spec", "ports");
const healthCheckPath = FieldPath.of("spec", "healthCheckNodePort");
const portMax = 65535;

const isTaken = "taken";

export class ServiceAllocator {
  readonly #addresses = new AddressPool();
  readonly #families: readonly IpFamily[];
  /** Whether the ranges are those of objects, which come and go. */
  #hasRangeObjects = false;
  /** The node ports, as numbers from 0. */
  readonly #ports: NumberPool;
  readonly #nodePorts: PortRange;
  readonly #random: Random;
  /** The reservations of stored services, by namespace and name. */
  readonly #stored = new Map<string, Reservations>();
  /** The addresses that are objects, and so reserved. */
  readonly #objects = new Set<string>();

  constructor({ clusterIps, nodePorts, random }: ServiceAllocatorOptions) {
    this.#addresses.setRanges(clusterIps);
    this.#families = clusterIps.map(({ family }) => family);
    this.#nodePorts = nodePorts;
    this.#ports = new NumberPool(nodePorts.size, portsOnRequest(nodePorts.size));
    this.#random = random;
  }

  /** Takes addresses from these ranges from now on, which are those of objects. Addresses that are in use stay so. */
  setRanges(ranges: readonly IpRange[]): void {
    this.#hasRangeObjects = true;
    this.#addresses.setRanges(ranges);
  }

  /** Reserves an address that is an object, or releases it. */
  setAddress(ip: string, isStored: boolean): void {
    if (isStored === this.#objects.has(ip)) return;
    if (isStored) {
      this.#objects.add(ip);
      this.#addresses.reserve(ip);
    } else {
      this.#objects.delete(ip);
      this.#addresses.release(ip);
    }
  }

  /** Forgets all addresses that are objects. */
  clearAddresses(): void {
    for (const ip of this.#objects) this.#addresses.release(ip);
    this.#objects.clear();
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
    const reservations = service === undefined ? [] : this.#reserveOf(service.spec);
    releaseAll(before);
    if (reservations.length === 0) this.#stored.delete(key);
    else this.#stored.set(key, reservations);
  }

  /**
   * The `allocate` hook of services. Throws `invalid` for values that are reserved or out of range, and `internalError`
   * when no value is free. Upstream: a dry run may name a reserved address and ports out of range.
   */
  allocate(object: Service, old: Service | undefined, attributes: WriteAttributes): AllocatedService {
    if (attributes.subresource !== "") return { object, isNew: false, release: () => undefined };
    const pending = new PendingReservations(object.metadata.name ?? "", attributes.dryRun);
    try {
      const spec = this.#allocateSpec(object.spec, old?.spec, pending);
      const allocated = withField(object, "spec", spec);
      // A dry run shows free values and reserves none.
      if (attributes.dryRun) pending.release();
      return { object: allocated, isNew: !pending.isEmpty, release: () => pending.release() };
    } catch (error) {
      pending.release();
      throw error;
    }
  }

  /** Whether a stored service has an address. */
  isInUse(ip: string): boolean {
    return this.#addresses.problemOf(ip) === isTaken;
  }

  /** Whether a service needs a cluster address or families and has none. */
  isIncomplete({ spec }: Service): boolean {
    return mayHaveClusterIp(spec) && (!spec.clusterIP || (spec.ipFamilies ?? []).length === 0);
  }

  /** Reserves the values of a stored service. */
  #reserveOf(spec: ServiceSpec): Reservations {
    const reservations: (() => void)[] = [];
    for (const ip of addressesOf(spec)) {
      this.#addresses.reserve(ip);
      reservations.push(() => this.#addresses.release(ip));
    }
    const ports = spec.type === "ExternalName" ? [] : [...nodePortsOf(spec)];
    if (needsHealthCheckPort(spec)) ports.push(spec.healthCheckNodePort ?? 0);
    for (const port of ports) {
      const index = this.#indexOf(port);
      if (index !== undefined) reservations.push(reserveIn(this.#ports, index));
    }
    return reservations;
  }

  /** Returns the number of a port in its pool; `undefined` outside the range. */
  #indexOf(port: number): number | undefined {
    const index = port - this.#nodePorts.first;
    return index >= 0 && index < this.#nodePorts.size ? index : undefined;
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
    if (!mayHaveClusterIp(spec) || isHeadless(spec)) return spec;
    const { clusterIPs = [], ipFamilies = [] } = spec;
    const before = old !== undefined && mayHaveClusterIp(old) ? (old.clusterIPs ?? []) : [];
    if (before[0] !== undefined && before[0] !== clusterIPs[0]) return spec; // validation refuses this change
    const addresses = ipFamilies.map((family, i) => {
      const ip = clusterIPs[i];
      if (ip !== undefined && before.includes(ip)) return ip;
      if (!this.#families.includes(family as IpFamily)) return ip ?? "";
      if (ip === undefined) return this.#anyAddress(family as IpFamily, pending);
      const problem = this.#addresses.problemOf(ip);
      if (problem === undefined) {
        this.#addresses.reserve(ip);
        pending.add(() => this.#addresses.release(ip));
      }
      if (problem === undefined || (problem === isTaken && pending.dryRun)) return ip;
      const text = `failed to allocate IP ${ip}: ${problem === isTaken ? "provided IP is already allocated" : this.#outsideText(ip)}`;
      throw pending.refusal([invalid(FieldPath.of("spec", "clusterIPs"), goTexts(clusterIPs), text)]);
    });
    const next = jsonEquals(addresses, clusterIPs) ? spec : withField(spec, "clusterIPs", addresses);
    return withField(next, "clusterIP", addresses[0]);
  }

  #anyAddress(family: IpFamily, pending: PendingReservations): string {
    const ip = this.#addresses.reserveAny(family, this.#random);
    if (ip === undefined) throw internalError("failed to allocate a serviceIP: range is full");
    pending.add(() => this.#addresses.release(ip));
    return ip;
  }

  #outsideText(ip: string): string {
    const range = this.#hasRangeObjects ? undefined : this.#addresses.rangeOf(ipFamily(ip) ?? "IPv4");
    return range === undefined
      ? "the provided network does not match the current range"
      : `the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${range.text}`;
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
    const index = this.#ports.reserveAny(this.#random);
    if (index === undefined) throw internalError(`${failure}: range is full`);
    pending.add(() => this.#ports.release(index));
    return this.#nodePorts.first + index;
  }

  /** Reserves a requested port. Returns the reason if this is impossible. */
  #reservePort(pending: PendingReservations, port: number): string | undefined {
    const index = this.#indexOf(port);
    if (index === undefined) {
      const { first, size } = this.#nodePorts;
      return pending.dryRun
        ? undefined
        : `provided port is not in the valid range. The range of valid ports is ${first}-${first + size - 1}`;
    }
    if (this.#ports.isReserved(index)) return "provided port is already allocated";
    pending.add(reserveIn(this.#ports, index));
    return undefined;
  }
}

/** The values that one write has reserved. All of them are released together. */
class PendingReservations {
  readonly #name: string;
  readonly dryRun: boolean;
  #reservations: (() => void)[] = [];

  constructor(name: string, dryRun: boolean) {
    this.#name = name;
    this.dryRun = dryRun;
  }

  get isEmpty(): boolean {
    return this.#reservations.length === 0;
  }

  /** Adds a reserved value by the function that releases it. */
  add(release: () => void): void {
    this.#reservations.push(release);
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
  for (const release of reservations) release();
}

/** Reserves a number. Returns the function that releases it. */
function reserveIn(pool: NumberPool, number: number): () => void {
  pool.reserve(number);
  return () => pool.release(number);
}

/** Returns the cluster addresses that a service has. */
export const addressesOf = (spec: ServiceSpec): readonly string[] =>
  mayHaveClusterIp(spec) && !isHeadless(spec) ? (spec.clusterIPs ?? []) : [];

/** Returns how many of the first ports are assigned automatically only when no other port is free. */
const portsOnRequest = (size: number): number => (size < 16 ? 0 : Math.min(Math.max(Math.floor(size / 32), 16), 128));
