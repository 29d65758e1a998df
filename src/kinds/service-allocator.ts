/**
 * Gives services their cluster addresses and node ports. What is in use follows from the services that are stored;
 * beside these, a write under way holds what it was given until it is stored or has failed. So there is nothing that
 * could fall out of step: no allocation objects, and nothing to repair but services without an address.
 * Source: `Allocators` in upstream's `pkg/registry/core/service/storage`.
 */
import { type FieldError, goTexts, invalid } from "#meta/field-error.ts";
import type { IpFamily, IpRange } from "#meta/ip-range.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { internalError, invalidObject, type StatusError, unclassified } from "#meta/status-error.ts";
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
  specOf,
  textsOf,
} from "./core/service-fields.ts";
import { type Json, listField, numberField, textField, withField } from "./json-edit.ts";

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
  /** What the range is called in messages. */
  readonly text: string;
  addressAt(index: number): string;
}

type Held = readonly (readonly [pool: NumberPool, number: number])[];

/** The node port of a port; `field` is where it stands. */
type GiveNodePort = (port: Json, field: string) => number;

const isTaken = "taken";

export class ServiceAllocator {
  readonly #addresses: readonly AddressRange[];
  readonly #families: readonly IpFamily[];
  readonly #ports: Range;
  readonly #nodePorts: PortRange;
  readonly #random: Random;
  /** What stored services hold, by their place. */
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

  /** Forgets all stored services; what writes hold stays. */
  clear(): void {
    for (const held of this.#stored.values()) releaseAll(held);
    this.#stored.clear();
  }

  /** A stored service as it is now; `undefined` when it is gone. */
  set(namespace: string, name: string, service: Unstructured | undefined): void {
    const place = `${namespace}/${name}`;
    const before = this.#stored.get(place) ?? [];
    const held = service === undefined ? [] : this.#heldBy(specOf(service));
    for (const [pool, number] of held) pool.hold(number);
    releaseAll(before);
    if (held.length === 0) this.#stored.delete(place);
    else this.#stored.set(place, held);
  }

  /**
   * The hook of services' strategy. Throws `invalid` for what is taken or outside the ranges, and `internalError` when
   * nothing is left.
   */
  allocate(object: Unstructured, old: Unstructured | undefined, attributes: WriteAttributes): Allocated {
    if (attributes.subresource !== "") return { object, release: () => undefined };
    const taking = new Taking(object.metadata.name ?? "", this.#random);
    try {
      const spec = this.#allocated(specOf(object), old === undefined ? undefined : specOf(old), taking);
      const allocated = withField(object, "spec", spec);
      // A trial shows what there would be, and nobody can see it hold anything.
      if (attributes.dryRun) taking.release();
      return { object: allocated, release: () => taking.release() };
    } catch (error) {
      taking.release();
      throw error;
    }
  }

  /** Whether a service lacks what it should have been given. */
  isIncomplete(service: Unstructured): boolean {
    const spec = specOf(service);
    return needsClusterIp(spec) && (textField(spec, "clusterIP") === "" || textsOf(spec, "ipFamilies").length === 0);
  }

  #heldBy(spec: Json): Held {
    const held: [NumberPool, number][] = [];
    const add = ({ pool, indexOf }: Range, member: string | number): void => {
      const index = indexOf(member);
      if (index !== undefined) held.push([pool, index]);
    };
    if (needsClusterIp(spec)) {
      for (const ip of textsOf(spec, "clusterIPs")) for (const range of this.#addresses) add(range, ip);
    }
    if (textField(spec, "type") !== "ExternalName") for (const port of nodePortsOf(spec)) add(this.#ports, port);
    if (needsHealthCheckPort(spec)) add(this.#ports, numberField(spec, "healthCheckNodePort"));
    return held;
  }

  #allocated(spec: Json, old: Json | undefined, taking: Taking): Json {
    const settled = settleFamilies(keepAllocated(spec, old), old, this.#families);
    if (settled.errors.length > 0) throw taking.refused(settled.errors);
    let next = settled.spec;
    next = this.#withAddresses(next, old, taking);
    next = this.#withNodePorts(next, old, taking);
    return this.#withHealthCheckPort(next, old, taking);
  }

  #withAddresses(spec: Json, old: Json | undefined, taking: Taking): Json {
    if (!needsClusterIp(spec) || isHeadless(spec)) return spec;
    const given = textsOf(spec, "clusterIPs");
    const before = old !== undefined && needsClusterIp(old) ? textsOf(old, "clusterIPs") : [];
    if (before[0] !== undefined && before[0] !== given[0]) return spec; // Validation refuses to change the first one.
    const addresses = textsOf(spec, "ipFamilies").map((family, i) => {
      const ip = given[i];
      if (ip !== undefined && before.includes(ip)) return ip;
      const range = this.#addresses.find((candidate) => candidate.family === family);
      if (range === undefined) return ip ?? "";
      if (ip === undefined) return range.addressAt(taking.any(range, "failed to allocate a serviceIP"));
      const problem = taking.tryOne(range, ip);
      if (problem === undefined) return ip;
      const reason =
        problem === isTaken
          ? "provided IP is already allocated"
          : `the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${range.text}`;
      const text = `failed to allocate IP ${ip}: ${reason}`;
      throw taking.refused([invalid("spec.clusterIPs", goTexts(given), text)]);
    });
    const next = sameTexts(addresses, given) ? spec : withField(spec, "clusterIPs", addresses);
    return withField(next, "clusterIP", addresses[0]);
  }

  #withNodePorts(spec: Json, old: Json | undefined, taking: Taking): Json {
    if (!mayHaveNodePorts(spec)) return spec;
    const ports = listField(spec, "ports");
    const give =
      old !== undefined && mayHaveNodePorts(old)
        ? this.#keptNodePorts(nodePortsOf(old), taking)
        : this.#newNodePorts(ports, taking);
    const next = ports.map((port, i) => {
      if (numberField(port, "nodePort") === 0 && !needsNodePorts(spec)) return port;
      return withField(port, "nodePort", give(port, `spec.ports[${i}].nodePort`));
    });
    return next.every((port, i) => port === ports[i]) ? spec : withField(spec, "ports", next);
  }

  /** Ports of one number, told apart by their protocols, share a node port unless they ask for several. */
  #newNodePorts(ports: readonly Json[], taking: Taking): GiveNodePort {
    const asked = new Map<number, number>();
    for (const port of ports) {
      const number = numberField(port, "port");
      const wanted = numberField(port, "nodePort");
      if (wanted !== 0 && !asked.has(number)) asked.set(number, wanted);
    }
    const given = new Map<number, number>();
    return (port, field) => {
      const number = numberField(port, "port");
      const shared = given.get(number);
      const wanted = shared === undefined ? (asked.get(number) ?? 0) : numberField(port, "nodePort");
      if (shared !== undefined && (wanted === 0 || wanted === shared)) return shared;
      const nodePort = this.#nodePort(wanted, field, taking);
      if (shared === undefined) given.set(number, nodePort);
      return nodePort;
    };
  }

  /** What the service had it may keep, at whichever of its ports. */
  #keptNodePorts(before: readonly number[], taking: Taking): GiveNodePort {
    const mine = new Set(before);
    const seen = new Set<string>();
    return (port, field) => {
      const wanted = numberField(port, "nodePort");
      const nodePort = wanted !== 0 && mine.has(wanted) ? wanted : this.#nodePort(wanted, field, taking);
      mine.add(nodePort);
      const key = `{${textField(port, "protocol")} ${nodePort}}`;
      if (seen.has(key)) throw unclassified(`duplicate nodePort: ${key}`);
      seen.add(key);
      return nodePort;
    };
  }

  /** The wanted one, or for 0 any. */
  #nodePort(wanted: number, field: string, taking: Taking): number {
    if (wanted === 0) return this.#anyPort(taking, "failed to allocate a nodePort");
    const problem = this.#takePort(taking, wanted);
    if (problem !== undefined) throw taking.refused([invalid(field, wanted, problem)]);
    return wanted;
  }

  #withHealthCheckPort(spec: Json, old: Json | undefined, taking: Taking): Json {
    if (!needsHealthCheckPort(spec) || (old !== undefined && needsHealthCheckPort(old))) return spec;
    const wanted = numberField(spec, "healthCheckNodePort");
    if (wanted === 0) {
      return withField(spec, "healthCheckNodePort", this.#anyPort(taking, "failed to allocate a HealthCheck NodePort"));
    }
    const problem = this.#takePort(taking, wanted);
    if (problem === undefined) return spec;
    throw internalError(`failed to allocate requested HealthCheck NodePort ${wanted}: ${problem}`);
  }

  #anyPort(taking: Taking, failure: string): number {
    return this.#nodePorts.first + taking.any(this.#ports, failure);
  }

  /** What is wrong with a port that somebody asks for. */
  #takePort(taking: Taking, port: number): string | undefined {
    const problem = taking.tryOne(this.#ports, port);
    if (problem === undefined) return undefined;
    const { first, size } = this.#nodePorts;
    return problem === isTaken
      ? "provided port is already allocated"
      : `provided port is not in the valid range. The range of valid ports is ${first}-${first + size - 1}`;
  }
}

/** What one write takes, until it lets go of all of it. */
class Taking {
  readonly #name: string;
  readonly #random: Random;
  #held: [NumberPool, number][] = [];

  constructor(name: string, random: Random) {
    this.#name = name;
    this.#random = random;
  }

  tryOne({ pool, indexOf }: Range, member: string | number): "outside" | typeof isTaken | undefined {
    const index = indexOf(member);
    if (index === undefined) return "outside";
    if (pool.isHeld(index)) return isTaken;
    pool.hold(index);
    this.#held.push([pool, index]);
    return undefined;
  }

  /** Throws when nothing is left, with `failure` as the beginning of the message. */
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

const nodePortsOf = (spec: Json): readonly number[] =>
  listField(spec, "ports").map((port) => numberField(port, "nodePort"));

const sameTexts = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((text, i) => text === other[i]);

/** Without the address of the network and, of IPv4, that for everybody: nobody gets these. */
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
