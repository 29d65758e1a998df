/** The services of a server: their address and port ranges, with allocations in step with the store. */
import type { Service } from "#api/core/v1.ts";
import type { ServiceAllocator } from "#kinds/service-allocator.ts";
import { qualifiedResource } from "#meta/group-version.ts";
import { type IpRange, parseIpRange } from "#meta/ip-range.ts";
import type { Allocated, ResourceDefinition, Strategy } from "#registry/resource-definition.ts";
import { override } from "#registry/override.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import { StartError } from "#std/start-error.ts";
import type { Revision } from "#storage/log-store.ts";
import type { HandlersByResource } from "./index-handlers.ts";

/** The knowledge of an allocator about the store. */
export interface AllocatorState {
  /** The revision up to which it knows all services, addresses and ranges. */
  position(): Revision;
  /** Resolves when it knows everything that reads see now; `undefined` if it does, or no other server decides. */
  inStep(): Promise<void> | undefined;
  /** Resolves when it knows everything that anybody has written before; `undefined` if it does. */
  refresh(): Promise<void> | undefined;
}

/** The turn of all decisions about values of services (`Turn`). */
export const servicesTurn = "services";

/** Gives the definition of services the allocator; returns other definitions unchanged. */
export function withAllocator(
  allocator: ServiceAllocator,
  state: AllocatorState,
  definition: ResourceDefinition,
): ResourceDefinition {
  if (qualifiedResource(definition) !== "services") return definition;
  const inTurn = (...args: Parameters<ServiceAllocator["allocate"]>): Allocated<Service> => {
    const seen = state.position();
    const { isNew, ...allocated } = allocator.allocate(...args);
    return isNew ? { ...allocated, turn: { name: servicesTurn, seen } } : allocated;
  };
  const orRefreshed = (...args: Parameters<ServiceAllocator["allocate"]>): MaybePromise<Allocated<Service>> => {
    try {
      return inTurn(...args);
    } catch (error) {
      // Another server may have released what is taken here.
      const refreshed = state.refresh();
      if (refreshed === undefined) throw error;
      return refreshed.then(() => inTurn(...args));
    }
  };
  const allocate = (...args: Parameters<ServiceAllocator["allocate"]>): MaybePromise<Allocated<Service>> =>
    // A decision on an older state would lose its turn.
    andThen(state.inStep(), () => orRefreshed(...args));
  // Safe: by the schema, the objects of this definition are services.
  const ofStrategy = allocate as unknown as NonNullable<Strategy["allocate"]>;
  return override(definition, { strategy: { ...definition.strategy, allocate: ofStrategy } });
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
