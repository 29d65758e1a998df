/** The services of a server: their address and port ranges, with allocations in step with the store. */
import type { Service } from "#api/core/v1.ts";
import type { ServiceAllocator } from "#kinds/service-allocator.ts";
import { qualifiedResource } from "#meta/group-version.ts";
import { type IpRange, parseIpRange } from "#meta/ip-range.ts";
import type { ResourceDefinition, Strategy } from "#registry/resource-definition.ts";
import { override } from "#registry/override.ts";
import { StartError } from "#std/start-error.ts";
import type { HandlersByResource } from "./index-handlers.ts";

/** Gives the definition of services the allocator; returns other definitions unchanged. */
export function withAllocator(allocator: ServiceAllocator, definition: ResourceDefinition): ResourceDefinition {
  if (qualifiedResource(definition) !== "services") return definition;
  // Safe: by the schema, the objects of this definition are services.
  const allocate = allocator.allocate.bind(allocator) as unknown as NonNullable<Strategy["allocate"]>;
  return override(definition, { strategy: { ...definition.strategy, allocate } });
}

export const serviceHandlers = (allocator: ServiceAllocator): HandlersByResource => ({
  services: {
    cleared: () => allocator.clear(),
    changed: (namespace, name, service: Service | undefined) => allocator.set(namespace, name, service),
  },
});

/** The maximum number of host bits of a range: its addresses are cheap to count. Also upstream's limit. */
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
