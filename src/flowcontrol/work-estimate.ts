/**
 * Estimates the seats of a request: for a list by the number of objects, for a write by the number of watches that it
 * reaches. Source: upstream's `util/flowcontrol/request`.
 */
import type { Histogram } from "#std/metrics.ts";
import type { RequestAttributes } from "#meta/request-attributes.ts";
import type { FlowRequest, WorkEstimate } from "./flow-request.ts";
import type { WatchCounts } from "./watch-counts.ts";

const seatsMax = 10;
const objectsPerSeat = 100;
const watchesPerSeat = 10;
const eventMs = 5;

const oneSeat: WorkEstimate = { initialSeats: 1, finalSeats: 0, lingerMs: 0 };
/** The work of plain lists, by number of seats. */
const wide: readonly WorkEstimate[] = Array.from({ length: seatsMax + 1 }, (_, seats) => ({
  ...oneSeat,
  initialSeats: seats,
}));

export interface WorkSources {
  /** Returns the number of stored objects of the resource; `undefined` when there is no such resource. */
  objects(target: RequestAttributes): number | undefined;
  readonly watches: WatchCounts;
}

/**
 * Returns the estimate. `widthMax` is the level's own limit, or 0. `watchers` is the metric of the number of watches
 * that a write reaches.
 */
export function estimateWork(
  request: FlowRequest,
  sources: WorkSources,
  widthMax: number,
  watchers: Histogram,
): WorkEstimate {
  const { info } = request;
  if (!info.isResourceRequest) return oneSeat;
  switch (info.verb) {
    case "list":
    case "watch":
      return info.name === "" ? wide[listSeats(request, sources, limitOf(widthMax))]! : oneSeat;
    case "create":
    case "update":
    case "patch":
    case "delete":
      return writeWork(info, sources, limitOf(widthMax), watchers);
    default:
      return oneSeat;
  }
}

const limitOf = (widthMax: number): number => (widthMax === 0 ? seatsMax : Math.min(widthMax, seatsMax));

function listSeats({ info, url }: FlowRequest, sources: WorkSources, most: number): number {
  const mark = url.indexOf("?");
  const query = mark === -1 ? undefined : new URLSearchParams(url.slice(mark + 1));
  // A watch takes as many seats as a list only when it begins with all objects.
  if (info.verb === "watch" && query?.get("sendInitialEvents") !== "true") return 1;
  const stored = sources.objects(info);
  if (stored === undefined) return 1;
  const wanted = Number(query?.get("limit") ?? 0);
  const limit = wanted > 0 && wanted < stored ? wanted : stored;
  const selects =
    query !== undefined && ((query.get("fieldSelector") ?? "") || (query.get("labelSelector") ?? "")) !== "";
  // Upstream reads its memory from end to end for these; here a page is read from where it begins.
  const looksAt = selects ? stored : limit;
  return Math.max(1, Math.min(most, Math.ceil(looksAt / objectsPerSeat)));
}

function writeWork(
  target: RequestAttributes,
  { watches }: WorkSources,
  most: number,
  watchers: Histogram,
): WorkEstimate {
  // Tokens are created but never stored.
  if (target.subresource === "token") return oneSeat;
  const count = watches.seeing(target);
  watchers.observe(count);
  if (count < watchesPerSeat) return oneSeat;
  const seats = Math.ceil(count / watchesPerSeat);
  const finalSeats = Math.min(seats, most);
  return { initialSeats: 1, finalSeats, lingerMs: (seats * eventMs) / finalSeats };
}
