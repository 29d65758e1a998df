/**
 * Allocates cluster addresses and node ports. Used values are derived from stored services; a pending write also holds
 * its values until it is stored or has failed. There are no allocation objects, so nothing can get out of step, and
 * repair is needed only for services without an address. Source: `Allocators` in upstream's
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
import { settleFamilies } from "./core/service-families.ts";
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

export interface ServiceAllocatorOptions {
  /** One or two, of different families; services are of the first unless they ask for more. */
  readonly clusterIps: readonly IpRange[];
  readonly nodePorts: PortRange;
  readonly random: Random;
}

/** Numbers of one range, and how its members are called. */
interface Range {
  readonly pool: NumberPool;
  /** Number in the pool; `undefined` outside. */
  indexOf(member: string | number): number | undefined;
}

interface AddressRange extends Range {
  readonly family: IpFamily;
  /** The range in messages. */
  readonly text: string;
  addressAt(index: number): string;
}

type Held = readonly (readonly [pool: NumberPool, number: number])[];

/** Assigns the node port of a port; `index` is its position. */
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
  /** Values held by stored services, by key. */
  readonly #stored = new Map<string, Held>();

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

  /** Forgets all stored services; pending writes keep their values. */
  clear(): void {
    for (const held of this.#stored.values()) releaseAll(held);
    this.#stored.clear();
  }

  /** Updates a stored service; `undefined` when it is deleted. */
  set(namespace: string, name: string, service: Service | undefined): void {
    const place = `${namespace}/${name}`;
    const before = this.#stored.get(place) ?? [];
    const held = service === undefined ? [] : this.#heldBy(service.spec);
    for (const [pool, number] of held) pool.hold(number);
    releaseAll(before);
    if (held.length === 0) this.#stored.delete(place);
    else this.#stored.set(place, held);
  }

  /**
   * The `allocate` hook of services. Throws `invalid` for values that are taken or out of range, and `internalError`
   * when none is free. Upstream: a dry run may name an address that is taken, and ports out of range.
   */
  allocate(object: Service, old: Service | undefined, attributes: WriteAttributes): Allocated<Service> {
    if (attributes.subresource !== "") return { object, release: () => undefined };
    const taking = new Taking(object.metadata.name ?? "", this.#random, attributes.dryRun);
    try {
      const spec = this.#allocated(object.spec, old?.spec, taking);
      const allocated = withField(object, "spec", spec);
      // A dry run shows free values and holds none.
      if (attributes.dryRun) taking.release();
      return { object: allocated, release: () => taking.release() };
    } catch (error) {
      taking.release();
      throw error;
    }
  }

  /** Whether a service lacks what it should have been given. */
  isIncomplete({ spec }: Service): boolean {
    return needsClusterIp(spec) && (!spec.clusterIP || (spec.ipFamilies ?? []).length === 0);
  }

  #heldBy(spec: ServiceSpec): Held {
    const held: [NumberPool, number][] = [];
    const add = ({ pool, indexOf }: Range, member: string | number): void => {
      const index = indexOf(member);
      if (index !== undefined) held.push([pool, index]);
    };
    if (needsClusterIp(spec)) {
      for (const ip of spec.clusterIPs ?? []) for (const range of this.#addresses) add(range, ip);
    }
    if (spec.type !== "ExternalName") for (const port of nodePortsOf(spec)) add(this.#ports, port);
    if (needsHealthCheckPort(spec)) add(this.#ports, spec.healthCheckNodePort ?? 0);
    return held;
  }

  #allocated(spec: ServiceSpec, old: ServiceSpec | undefined, taking: Taking): ServiceSpec {
    const settled = settleFamilies(keepAllocated(spec, old), old, this.#families);
    if (settled.errors.length > 0) throw taking.refused(settled.errors);
    let next = settled.spec;
    next = this.#withAddresses(next, old, taking);
    next = this.#withNodePorts(next, old, taking);
    return this.#withHealthCheckPort(next, old, taking);
  }

  #withAddresses(spec: ServiceSpec, old: ServiceSpec | undefined, taking: Taking): ServiceSpec {
    if (!needsClusterIp(spec) || isHeadless(spec)) return spec;
    const { clusterIPs: given = [], ipFamilies = [] } = spec;
    const before = old !== undefined && needsClusterIp(old) ? (old.clusterIPs ?? []) : [];
    if (before[0] !== undefined && before[0] !== given[0]) return spec; // Validation refuses to change the first one.
    const addresses = ipFamilies.map((family, i) => {
      const ip = given[i];
      if (ip !== undefined && before.includes(ip)) return ip;
      const range = this.#addresses.find((candidate) => candidate.family === family);
      if (range === undefined) return ip ?? "";
      if (ip === undefined) return range.addressAt(taking.any(range, "failed to allocate a serviceIP"));
      const problem = taking.tryOne(range, ip);
      if (problem === undefined || (problem === isTaken && taking.dryRun)) return ip;
      const reason =
        problem === isTaken
          ? "provided IP is already allocated"
          : `the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${range.text}`;
      const text = `failed to allocate IP ${ip}: ${reason}`;
      throw taking.refused([invalid(FieldPath.of("spec", "clusterIPs"), goTexts(given), text)]);
    });
    const next = jsonEquals(addresses, given) ? spec : withField(spec, "clusterIPs", addresses);
    return withField(next, "clusterIP", addresses[0]);
  }

  #withNodePorts(spec: ServiceSpec, old: ServiceSpec | undefined, taking: Taking): ServiceSpec {
    if (!mayHaveNodePorts(spec)) return spec;
    const { ports = [] } = spec;
    const give =
      old === undefined
        ? this.#newNodePorts(ports, taking)
        : this.#keptNodePorts(mayHaveNodePorts(old) ? nodePortsOf(old) : [], taking);
    const next = ports.map((port, i) =>
      port.nodePort || needsNodePorts(spec) ? withField(port, "nodePort", give(port, i)) : port,
    );
    return next.every((port, i) => port === ports[i]) ? spec : withField(spec, "ports", next);
  }

  /** Ports with the same number and different protocols share a node port unless they ask for several. */
  #newNodePorts(ports: readonly ServicePort[], taking: Taking): GiveNodePort {
    const asked = new Map<number, number>();
    for (const { port, nodePort = 0 } of ports) if (nodePort !== 0 && !asked.has(port)) asked.set(port, nodePort);
    const given = new Map<number, number>();
    return ({ port, nodePort = 0 }, i) => {
      const shared = given.get(port);
      const wanted = shared === undefined ? (asked.get(port) ?? 0) : nodePort;
      if (shared !== undefined && (wanted === 0 || wanted === shared)) return shared;
      const found = this.#nodePort(wanted, i, taking);
      if (shared === undefined) given.set(port, found);
      return found;
    };
  }

  /** A service may keep its node ports, at any of its ports. Validation refuses one that comes twice. */
  #keptNodePorts(before: readonly number[], taking: Taking): GiveNodePort {
    const mine = new Set(before);
    return ({ nodePort = 0 }, i) => {
      const found = nodePort !== 0 && mine.has(nodePort) ? nodePort : this.#nodePort(nodePort, i, taking);
      mine.add(found);
      return found;
    };
  }

  /** The wanted one, or for 0 any. */
  #nodePort(wanted: number, index: number, taking: Taking): number {
    if (wanted === 0) return this.#anyPort(taking, "failed to allocate a nodePort");
    const problem = this.#takePort(taking, wanted);
    if (problem !== undefined)
      throw taking.refused([invalid(portsPath.index(index).child("nodePort"), wanted, problem)]);
    return wanted;
  }

  #withHealthCheckPort(spec: ServiceSpec, old: ServiceSpec | undefined, taking: Taking): ServiceSpec {
    if (!needsHealthCheckPort(spec) || (old !== undefined && needsHealthCheckPort(old))) return spec;
    const { healthCheckNodePort: wanted = 0 } = spec;
    if (wanted === 0) {
      return withField(spec, "healthCheckNodePort", this.#anyPort(taking, "failed to allocate a HealthCheck NodePort"));
    }
    // Validation refuses what is no port at all.
    if (wanted < 1 || wanted > portMax) return spec;
    const problem = this.#takePort(taking, wanted);
    if (problem === undefined) return spec;
    throw taking.refused([invalid(healthCheckPath, wanted, problem)]);
  }

  #anyPort(taking: Taking, failure: string): number {
    return this.#nodePorts.first + taking.any(this.#ports, failure);
  }

  /** The error of a requested port. */
  #takePort(taking: Taking, port: number): string | undefined {
    const problem = taking.tryOne(this.#ports, port);
    if (problem === undefined || (problem === "outside" && taking.dryRun)) return undefined;
    const { first, size } = this.#nodePorts;
    return problem === isTaken
      ? "provided port is already allocated"
      : `provided port is not in the valid range. The range of valid ports is ${first}-${first + size - 1}`;
  }
}

/** The values taken by one write, until it releases all of them. */
class Taking {
  readonly #name: string;
  readonly #random: Random;
  readonly dryRun: boolean;
  #held: [NumberPool, number][] = [];

  constructor(name: string, random: Random, dryRun: boolean) {
    this.#name = name;
    this.#random = random;
    this.dryRun = dryRun;
  }

  tryOne({ pool, indexOf }: Range, member: string | number): "outside" | typeof isTaken | undefined {
    const index = indexOf(member);
    if (index === undefined) return "outside";
    if (pool.isHeld(index)) return isTaken;
    pool.hold(index);
    this.#held.push([pool, index]);
    return undefined;
  }

  /** Throws when none is free, with `failure` as the beginning of the message. */
  any({ pool }: Range, failure: string): number {
    const index = pool.take(this.#random);
    if (index === undefined) throw internalError(`${failure}: range is full`);
    this.#held.push([pool, index]);
    return index;
  }

  refused(errors: readonly FieldError[]): StatusError {
    return invalidObject({ group: "", kind: "Service" }, this.#name, errors);
  }

  release(): void {
    releaseAll(this.#held);
    this.#held = [];
  }
}

function releaseAll(held: Held): void {
  for (const [pool, number] of held) pool.release(number);
}

/** Excludes the network address and, for IPv4, the broadcast address. */
function addressRange(range: IpRange): AddressRange {
  const size = Math.max(Number(range.size) - (range.family === "IPv4" ? 2 : 1), 0);
  return {
    family: range.family,
    text: range.text,
    pool: new NumberPool(size, size < 16 ? 0 : bounded(Math.floor(size / 16), 16, 256)),
    indexOf(address) {
      const index = range.indexOf(String(address));
      return index === undefined || index === 0n || index > BigInt(size) ? undefined : Number(index) - 1;
    },
    addressAt: (index) => range.addressAt(BigInt(index) + 1n),
  };
}

/** How many of the first ports are given out only on request, while there are others. */
const portsOnRequest = (size: number): number => (size < 16 ? 0 : bounded(Math.floor(size / 32), 16, 128));

const bounded = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most);
