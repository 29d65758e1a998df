/**
 * Service addresses and their ranges as objects (feature gate `MultiCIDRServiceAllocator`): the ranges of ServiceCIDRs,
 * and an IPAddress for each address that a service has. A write of a service is answered when its IPAddresses are
 * right; they are repaired when somebody else changes them. Source: upstream's address allocators and their repair.
 */
import type { Service } from "#api/core/v1.ts";
import type { IPAddress, ServiceCIDR } from "#api/networking/v1beta1.ts";
import { ignoreNotFound, type RestClient } from "#client/rest-client.ts";
import { WorkQueue } from "#client/work-queue.ts";
import { ignoreCodes } from "#controllers/ignore-codes.ts";
import { addressesOf, type ServiceAllocator } from "#kinds/service-allocator.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { qualifiedResource } from "#meta/group-version.ts";
import { ipFamily, type IpRange, parseIpRange, plainBytes } from "#meta/ip-range.ts";
import { printIp } from "#meta/ip-address.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { timeToMs } from "#meta/time.ts";
import type { ObjectHandlers } from "#registry/informer.ts";
import { override } from "#registry/override.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import { everything, type Turn } from "#storage/log-store.ts";
import type { HandlersByResource } from "../index-handlers.ts";
import { serviceHandlers, servicesTurn } from "../services.ts";

interface AddressObjectsOptions {
  readonly allocator: ServiceAllocator;
  readonly domain: ApiDomain;
  readonly clock: Clock;
  readonly log: Log;
}

/** The time for which an address of a missing service is kept: the service may be in creation elsewhere. */
const orphanMs = 60_000;
const workersMax = 8;
/** The turn of a write after which no earlier decision about addresses holds. */
const changesAll: Turn = { name: servicesTurn, seen: everything };
/** Upstream gives out addresses of an IPv6 range only if its prefix has this length or more. */
const prefixMin = 64;

export class AddressObjects {
  readonly handlers: HandlersByResource;
  readonly #options: AddressObjectsOptions;
  readonly #path: string;
  readonly #labels: { readonly family: string; readonly manager: string };
  readonly #manager: string;
  /** The addresses of each stored service, by namespace and name. */
  readonly #services = new Map<string, readonly string[]>();
  /** The service that has an address; of several the first one. */
  readonly #owners = new Map<string, string>();
  readonly #objects = new Map<string, IPAddress>();
  readonly #ranges = new Map<string, ServiceCIDR>();
  /** The addresses that a service has given up. */
  readonly #released = new Set<string>();
  /** The addresses for whose objects writes of services wait. */
  readonly #waited = new Map<string, PromiseWithResolvers<void>>();
  #queue: WorkQueue | undefined;

  constructor(options: AddressObjectsOptions) {
    const { rename } = options.domain;
    this.#options = options;
    this.#path = `/apis/${rename("networking.k8s.io")}/v1beta1/ipaddresses`;
    this.#labels = {
      family: rename("ipaddress.kubernetes.io/ip-family"),
      manager: rename("ipaddress.kubernetes.io/managed-by"),
    };
    this.#manager = rename("ipallocator.k8s.io");
    this.handlers = {
      services: this.#serviceHandlers(),
      "ipaddresses.networking.k8s.io": this.#addressHandlers(),
      "servicecidrs.networking.k8s.io": this.#rangeHandlers(),
    };
  }

  /**
   * Returns the definition of services with writes that are answered when their IPAddresses are right, and those of
   * ranges and addresses with writes that make the allocators of other servers decide again. Others are unchanged.
   */
  inStep(definition: ResourceDefinition): ResourceDefinition {
    const { rename } = this.#options.domain;
    const { strategy } = definition;
    switch (qualifiedResource(definition)) {
      case "services": {
        const afterCommit = (revision: number): MaybePromise<void> =>
          andThen(strategy.afterCommit?.(revision), () => this.#settled());
        return override(definition, { strategy: { ...strategy, afterCommit } });
      }
      case rename("servicecidrs.networking.k8s.io"):
        return override(definition, { strategy: { ...strategy, turn: () => changesAll } });
      case rename("ipaddresses.networking.k8s.io"):
        return override(definition, { strategy: { ...strategy, turn: (address) => this.#turnOf(address) } });
      default:
        return definition;
    }
  }

  /** Returns the turn of an address, unless a service has it, so that nobody decides otherwise with the object. */
  #turnOf({ metadata: { name = "" } }: Unstructured): Turn | undefined {
    return this.#owners.has(name) ? undefined : changesAll;
  }

  /** Begins to make and remove IPAddresses. */
  maintain(client: RestClient): void {
    const { clock, log } = this.#options;
    const queue = new WorkQueue({
      clock,
      workersMax,
      work: async (ip) => {
        try {
          await this.#reconcile(ip, client);
        } finally {
          this.#waited.get(ip)?.resolve();
          this.#waited.delete(ip);
        }
      },
      failed: (ip, err) => log.warn({ ip, err }, "could not write an IPAddress; trying again"),
    });
    this.#queue = queue;
    for (const ip of new Set([...this.#owners.keys(), ...this.#objects.keys()])) queue.add(ip);
  }

  close(): void {
    this.#queue?.close();
    // A service that changes from now on waits for nothing.
    this.#queue = undefined;
    for (const { resolve } of this.#waited.values()) resolve();
    this.#waited.clear();
  }

  #settled(): MaybePromise<void> {
    if (this.#waited.size === 0) return undefined;
    return Promise.all(this.#waited.values().map(({ promise }) => promise)).then(() => undefined);
  }

  #serviceHandlers(): ObjectHandlers<Service> {
    const { allocator } = this.#options;
    const inner = serviceHandlers(allocator)["services"]!; // it handles services
    return {
      cleared: () => {
        inner.cleared();
        this.#services.clear();
        this.#owners.clear();
      },
      changed: (namespace, name, service) => {
        inner.changed(namespace, name, service);
        this.#serviceChanged(
          `${namespace}/${name}`,
          service === undefined ? [] : addressesOf(service.spec).map(canonical),
        );
      },
    };
  }

  #serviceChanged(key: string, addresses: readonly string[]): void {
    const before = this.#services.get(key) ?? [];
    if (addresses.length === 0) this.#services.delete(key);
    else this.#services.set(key, addresses);
    for (const ip of before) {
      if (addresses.includes(ip) || this.#owners.get(ip) !== key) continue;
      this.#owners.delete(ip);
      this.#released.add(ip);
      this.#wait(ip);
    }
    for (const ip of addresses) {
      if (this.#owners.has(ip)) continue;
      this.#owners.set(ip, key);
      this.#released.delete(ip);
      this.#wait(ip);
    }
  }

  #addressHandlers(): ObjectHandlers<IPAddress> {
    const { allocator } = this.#options;
    return {
      cleared: () => {
        allocator.clearAddresses();
        this.#objects.clear();
      },
      changed: (_namespace, ip, object) => {
        allocator.setAddress(ip, object !== undefined);
        if (object === undefined) this.#objects.delete(ip);
        else this.#objects.set(ip, object);
        this.#queue?.add(ip);
      },
    };
  }

  #rangeHandlers(): ObjectHandlers<ServiceCIDR> {
    const { allocator } = this.#options;
    return {
      cleared: () => this.#ranges.clear(),
      changed: (_namespace, name, object) => {
        if (object === undefined) this.#ranges.delete(name);
        else this.#ranges.set(name, object);
        allocator.setRanges(rangesOf(this.#ranges.values()));
      },
    };
  }

  /** Reconciles an address; writes of services wait for it. */
  #wait(ip: string): void {
    if (this.#queue === undefined) return;
    if (!this.#waited.has(ip)) this.#waited.set(ip, Promise.withResolvers());
    this.#queue.add(ip);
  }

  async #reconcile(ip: string, client: RestClient): Promise<void> {
    const owner = this.#owners.get(ip);
    const object = this.#objects.get(ip);
    if (owner === undefined) {
      if (object === undefined) this.#released.delete(ip);
      if (object === undefined || !this.#isOurs(object)) return;
      if (!this.#isGone(object)) return;
      await this.#remove(object, client);
      this.#released.delete(ip);
      return;
    }
    if (object !== undefined && this.#isRight(object, owner)) return;
    if (object !== undefined) await this.#remove(object, client);
    const slash = owner.indexOf("/");
    const [namespace, name] = [owner.slice(0, slash), owner.slice(slash + 1)];
    const creating = client.create<IPAddress>(this.#path, {
      apiVersion: this.#path.split("/").slice(2, 4).join("/"),
      kind: "IPAddress",
      metadata: {
        name: ip,
        labels: { [this.#labels.family]: ipFamily(ip) ?? "", [this.#labels.manager]: this.#manager },
      },
      spec: { parentRef: { resource: "services", namespace, name } },
    });
    // Another server makes the same object. Its event brings the address here again.
    await ignoreCodes([409], creating);
  }

  #remove({ metadata }: IPAddress, client: RestClient): Promise<unknown> {
    const { name = "", uid } = metadata;
    return ignoreNotFound(client.delete(`${this.#path}/${name}`, { preconditions: { uid } }));
  }

  /** Whether an address without an owner is one that was made for a service. */
  #isOurs({ metadata: { name = "", labels = {} } }: IPAddress): boolean {
    return this.#released.has(name) || labels[this.#labels.manager] === this.#manager;
  }

  /** Whether no service needs an address any more. One of a missing service is looked at again later. */
  #isGone({ metadata: { name = "", creationTimestamp }, spec: { parentRef } }: IPAddress): boolean {
    const { group = "", resource, namespace, name: service } = parentRef ?? {};
    if (this.#released.has(name) || group !== "" || resource !== "services") return true;
    if (this.#services.has(`${namespace}/${service}`)) return true;
    const ageMs = this.#options.clock.now() - (timeToMs(creationTimestamp ?? "", "seconds") ?? 0);
    if (ageMs > orphanMs) return true;
    this.#queue?.addAfter(name, orphanMs - ageMs + 1);
    return false;
  }

  #isRight({ metadata: { name = "", labels = {} }, spec: { parentRef } }: IPAddress, owner: string): boolean {
    const { group = "", resource, namespace, name: service } = parentRef ?? {};
    const isLabelled = labels[this.#labels.manager] === this.#manager && labels[this.#labels.family] === ipFamily(name);
    return isLabelled && group === "" && resource === "services" && `${namespace}/${service}` === owner;
  }
}

/** Returns the ranges of those objects from which addresses may be taken. Without a condition, an object is ready. */
function rangesOf(objects: Iterable<ServiceCIDR>): readonly IpRange[] {
  const ranges = new Map<string, IpRange>();
  for (const { metadata, spec, status } of objects) {
    const ready = status.conditions?.find(({ type }) => type === "Ready");
    if (metadata.deletionTimestamp !== undefined || (ready !== undefined && ready.status !== "True")) continue;
    for (const text of spec.cidrs ?? []) {
      const range = parseIpRange(text);
      if (range !== undefined && (range.family === "IPv4" || range.prefix >= prefixMin)) ranges.set(text, range);
    }
  }
  return [...ranges.values()];
}

function canonical(ip: string): string {
  const bytes = plainBytes(ip);
  return bytes === undefined ? ip : printIp(bytes);
}
