/**
 * Plans which slices to create, change and delete for the endpoints of a service: few writes are more important than
 * few slices, and slices are filled before new ones are made. Pure functions.
 */
import type { Endpoint, EndpointPort, EndpointSlice } from "#api/discovery/v1.ts";

/** Endpoints that have the same ports and addresses of the same family, and so can share slices. */
export interface SliceGroup {
  readonly addressType: string;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
  /** Whether there must be a slice even without endpoints. */
  readonly isPlaceholder: boolean;
}

export interface SliceContent {
  readonly addressType: string;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
}

export interface SlicePlan {
  readonly create: readonly SliceContent[];
  readonly update: readonly { readonly slice: EndpointSlice; readonly content: SliceContent }[];
  readonly remove: readonly EndpointSlice[];
}

/** A slice that stays, with its new content. */
interface KeptSlice {
  readonly slice: EndpointSlice;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: Endpoint[];
  isChanged: boolean;
}

/** Plans the writes. `isOutdated`: whether something other than the content of a slice has to be changed. */
export function planSlices(
  existing: readonly EndpointSlice[],
  groups: readonly SliceGroup[],
  endpointsMax: number,
  isOutdated: (slice: EndpointSlice) => boolean,
): SlicePlan {
  const byGroup = Map.groupBy(existing, ({ addressType, ports }) => groupKey(addressType, ports ?? []));
  const create: SliceContent[] = [];
  const keptSlices: KeptSlice[] = [];
  const remove: EndpointSlice[] = [];
  for (const group of groups) {
    const key = groupKey(group.addressType, group.ports);
    const plan = planGroup(byGroup.get(key) ?? [], group, endpointsMax, isOutdated);
    byGroup.delete(key);
    create.push(...plan.create);
    keptSlices.push(...plan.keptSlices);
    remove.push(...plan.remove);
  }
  for (const slices of byGroup.values()) remove.push(...slices);
  const update = keptSlices
    .filter(({ isChanged }) => isChanged)
    .map(({ slice, ports, endpoints }) => ({
      slice,
      content: { addressType: slice.addressType, ports, endpoints },
    }));
  return recycleSlices({ create, update, remove });
}

function planGroup(
  existing: readonly EndpointSlice[],
  group: SliceGroup,
  endpointsMax: number,
  isOutdated: (slice: EndpointSlice) => boolean,
): { create: SliceContent[]; keptSlices: KeptSlice[]; remove: EndpointSlice[] } {
  const { addressType, ports } = group;
  /** Endpoints that have no slice yet. */
  const missing = new Map(group.endpoints.map((endpoint) => [identityOf(endpoint), endpoint]));
  const keptSlices: KeptSlice[] = [];
  const remove: EndpointSlice[] = [];
  for (const slice of existing) {
    const plan = keep(slice, ports, missing, isOutdated(slice));
    // A slice beyond its bound loses the excess, which other slices get.
    for (const endpoint of plan.endpoints.splice(endpointsMax)) {
      missing.set(identityOf(endpoint), endpoint);
      plan.isChanged = true;
    }
    if (plan.endpoints.length > 0) keptSlices.push(plan);
    else remove.push(slice);
  }
  const rest = fill(
    keptSlices.filter(({ isChanged }) => isChanged),
    [...missing.values()],
    endpointsMax,
  );
  const create: SliceContent[] = [];
  while (rest.length > 0) {
    const target = rest.length < endpointsMax ? fullestWithRoom(keptSlices, rest.length, endpointsMax) : undefined;
    if (target === undefined) create.push({ addressType, ports, endpoints: rest.splice(0, endpointsMax) });
    else {
      target.endpoints.push(...rest.splice(0));
      target.isChanged = true;
    }
  }
  if (group.isPlaceholder && keptSlices.length === 0 && create.length === 0) {
    const [empty, ...others] = remove;
    if (empty === undefined) return { create: [{ addressType, ports, endpoints: [] }], keptSlices, remove };
    const isChanged = (empty.endpoints ?? []).length > 0 || isOutdated(empty);
    return { create, keptSlices: [{ slice: empty, ports, endpoints: [], isChanged }], remove: others };
  }
  return { create, keptSlices, remove };
}

/** Returns the endpoints that stay in a slice, and removes them from `missing`. */
function keep(
  slice: EndpointSlice,
  ports: readonly EndpointPort[],
  missing: Map<string, Endpoint>,
  isOutdated: boolean,
): KeptSlice {
  const endpoints: Endpoint[] = [];
  let isChanged = isOutdated || portsText(slice.ports ?? []) !== portsText(ports);
  for (const endpoint of slice.endpoints ?? []) {
    const key = identityOf(endpoint);
    const wanted = missing.get(key);
    if (wanted === undefined) {
      isChanged = true;
      continue;
    }
    missing.delete(key);
    if (endpointText(wanted) !== endpointText(endpoint)) isChanged = true;
    endpoints.push(wanted);
  }
  return { slice, ports, endpoints, isChanged };
}

/**
 * Adds endpoints to slices that are written anyway, fuller ones first. Returns the endpoints for which there was no
 * room.
 */
function fill(slices: readonly KeptSlice[], endpoints: readonly Endpoint[], endpointsMax: number): Endpoint[] {
  const rest = [...endpoints];
  for (const { endpoints: into } of slices.toSorted((a, b) => b.endpoints.length - a.endpoints.length)) {
    into.push(...rest.splice(0, Math.max(0, endpointsMax - into.length)));
  }
  return rest;
}

function fullestWithRoom(slices: readonly KeptSlice[], count: number, endpointsMax: number): KeptSlice | undefined {
  let best: KeptSlice | undefined;
  for (const slice of slices) {
    const { length } = slice.endpoints;
    if (length + count <= endpointsMax && length >= (best?.endpoints.length ?? 0)) best = slice;
  }
  return best;
}

/** Writes new slices over old ones of the same family, which spares a deletion. */
function recycleSlices({ create, update, remove }: SlicePlan): SlicePlan {
  const free = [...remove];
  const fresh: SliceContent[] = [];
  const reused: SlicePlan["update"][number][] = [];
  for (const content of create) {
    const at = free.findIndex(({ addressType }) => addressType === content.addressType);
    const [slice] = at < 0 ? [] : free.splice(at, 1);
    if (slice === undefined) fresh.push(content);
    else reused.push({ slice, content });
  }
  return { create: fresh, update: [...update, ...reused], remove: free };
}

const groupKey = (addressType: string, ports: readonly EndpointPort[]): string => `${addressType} ${portsText(ports)}`;

/** Returns a text that is equal for the same ports in any order. */
export const portsText = (ports: readonly EndpointPort[]): string =>
  JSON.stringify(
    ports
      .map(({ name = "", protocol = "TCP", port = 0, appProtocol = "" }) => [name, protocol, port, appProtocol])
      .sort((one, other) => (String(one) < String(other) ? -1 : 1)),
  );

function identityOf({ addresses, hostname, targetRef }: Endpoint): string {
  return JSON.stringify([addresses, hostname ?? "", targetRef?.namespace, targetRef?.name, targetRef?.uid]);
}

/** Returns a text that is equal for equal endpoints. */
function endpointText(endpoint: Endpoint): string {
  const { conditions, nodeName, zone, hints, targetRef } = endpoint;
  const { ready, serving, terminating } = conditions;
  const zones = hints?.forZones?.map(({ name }) => name);
  return JSON.stringify([ready, serving, terminating, nodeName, zone, zones, targetRef?.kind]);
}
