/** The services of a server: their address and port ranges, with allocations in step with the store. */
import type { Service } from "#api/core/v1.ts";
import { type PortRange, ServiceAllocator } from "#kinds/service-allocator.ts";
import { type IpRange, parseIpRange } from "#meta/ip-range.ts";
import type { ResourceDefinition, Strategy } from "#registry/resource-definition.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import type { StoreInformers } from "#registry/store-informers.ts";
import { override } from "#registry/override.ts";
import type { Random } from "#std/random.ts";
import { StartError } from "#std/start-error.ts";

export interface ServiceFollowerOptions {
  readonly random: Random;
  readonly informers: StoreInformers;
  readonly clusterIps: readonly IpRange[];
  readonly nodePorts: PortRange;
}

const isServices = ({ group, resource }: ResourceDefinition): boolean => group === "" && resource === "services";

export class ServiceFollower {
  readonly allocator: ServiceAllocator;
  readonly #informers: StoreInformers;

  constructor(options: ServiceFollowerOptions) {
    this.#informers = options.informers;
    this.allocator = new ServiceAllocator(options);
  }

  /** The definition of services whose deletion is acknowledged once its addresses and ports are free. */
  readonly waiting = (definition: ResourceDefinition): ResourceDefinition => {
    if (!isServices(definition)) return definition;
    // Its objects are services, by its schema.
    const allocate = this.allocator.allocate.bind(this.allocator) as unknown as NonNullable<Strategy["allocate"]>;
    const allocating = override(definition, { strategy: { ...definition.strategy, allocate } });
    return this.#informers.waiting(allocating);
  };

  /** Reads the current objects and follows them. */
  async start(table: ResourceTable): Promise<void> {
    const definition = table.definitions.find(isServices);
    if (definition === undefined) return;
    const { allocator } = this;
    await this.#informers.follow<Service>(definition, {
      cleared: () => allocator.clear(),
      changed: (namespace, name, object) => allocator.set(namespace, name, object),
    });
  }
}

/** The largest range whose addresses are cheap to count; also upstream's limit. */
const rangeBitsMax = 20;

/** The ranges of `--service-cluster-ip-range`. Throws `StartError`. */
export function clusterIpRanges(texts: readonly string[]): readonly IpRange[] {
  const bad = (text: string, why: string): StartError =>
    new StartError(`invalid value ${JSON.stringify(text)} for --service-cluster-ip-range: ${why}`);
  const all = texts.join(",");
  const ranges = texts.map((text) => {
    const range = parseIpRange(text);
    if (range === undefined) throw bad(text, "must be a range such as 10.0.0.0/24");
    const bits = range.family === "IPv4" ? 32 : 128;
    if (range.size > 2n ** BigInt(rangeBitsMax)) {
      throw bad(text, `too large; for ${bits}-bit addresses, the mask must be >= ${bits - rangeBitsMax}`);
    }
    if (range.size < 8n) throw bad(text, "must hold at least 8 addresses");
    return range;
  });
  if (ranges.length > 2) throw bad(all, "must not hold more than two ranges");
  if (ranges.length === 2 && ranges[0]!.family === ranges[1]!.family) {
    throw bad(all, "two ranges must be of different IP families");
  }
  return ranges;
}
