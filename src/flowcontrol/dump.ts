/**
 * The current state of levels, queues and requests, as text columns. Source of the columns: upstream's
 * `/debug/api_priority_and_fairness/` endpoints.
 */
import { printGoDuration } from "#std/go-duration.ts";
import type { FlowControl } from "./flow-control.ts";
import type { PriorityLevel } from "./priority-level.ts";
import type { QueueDump, QueuedRequest } from "./queued-request.ts";

const root = "/debug/api_priority_and_fairness/";

export interface DumpClock {
  now(): number;
  monotonic(): number;
}

/** The text of one of the paths; `undefined` for any other path. `details` adds what requests are about. */
export function dump(control: FlowControl, path: string, details: boolean, clock: DumpClock): string | undefined {
  if (!path.startsWith(root)) return undefined;
  switch (path.slice(root.length)) {
    case "dump_priority_levels":
      return columns([levelHeaders, ...control.levels().map(levelRow)]);
    case "dump_queues":
      return columns([queueHeaders, ...control.levels().flatMap(queueRows)]);
    case "dump_requests":
      return columns([
        details ? [...requestHeaders, ...detailHeaders] : requestHeaders,
        ...control.levels().flatMap((level) => requestRows(level, details, clock)),
      ]);
    default:
      return undefined;
  }
}

const levelHeaders = [
  "PriorityLevelName",
  "ActiveQueues",
  "IsIdle",
  "IsQuiescing",
  "WaitingRequests",
  "ExecutingRequests",
  "DispatchedRequests",
  "RejectedRequests",
  "TimedoutRequests",
  "CancelledRequests",
];

function levelRow(level: PriorityLevel): readonly unknown[] {
  const active = level.queues().filter(({ waiting }) => waiting.length > 0).length;
  const { isIdle, isQuiescing, waiting, executing, dispatched, rejected, timedOut, cancelled } = level;
  return [
    level.config.name,
    active,
    isIdle,
    isQuiescing,
    waiting,
    executing,
    dispatched,
    rejected,
    timedOut,
    cancelled,
  ];
}

const queueHeaders = [
  "PriorityLevelName",
  "Index",
  "PendingRequests",
  "ExecutingRequests",
  "SeatsInUse",
  "NextDispatchR",
  "InitialSeatsSum",
  "MaxSeatsSum",
  "TotalWorkSum",
];

/** Most queues shown of a level: a configuration may ask for millions. */
const queuesMax = 10_000;

function queueRows(level: PriorityLevel): readonly (readonly unknown[])[] {
  const used = new Map(level.queues().map((queue) => [queue.index, queue]));
  const count = Math.min(level.config.queues, queuesMax);
  return Array.from({ length: count }, (_, index) => queueRow(level.config.name, index, used.get(index)));
}

function queueRow(level: string, index: number, queue: QueueDump | undefined): readonly unknown[] {
  const waiting = queue?.waiting ?? [];
  const sum = (of: (queued: QueuedRequest) => number): number => waiting.reduce((all, queued) => all + of(queued), 0);
  return [
    level,
    index,
    waiting.length,
    queue?.executing ?? 0,
    queue?.seatsInUse ?? 0,
    seatSeconds(queue?.nextAt ?? 0),
    sum(({ work }) => work.initialSeats),
    sum(({ width }) => width),
    seatSeconds(queue?.waitingWork ?? 0),
  ];
}

const seatSeconds = (value: number): string => `${value.toFixed(8)}ss`;

const requestHeaders = [
  "PriorityLevelName",
  "FlowSchemaName",
  "QueueIndex",
  "RequestIndexInQueue",
  "FlowDistingsher",
  "ArriveTime",
  "InitialSeats",
  "FinalSeats",
  "AdditionalLatency",
  "StartTime",
];
const detailHeaders = ["UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource"];

function requestRows(level: PriorityLevel, details: boolean, clock: DumpClock): readonly (readonly unknown[])[] {
  const waiting = level
    .queues()
    .flatMap((queue) => queue.waiting.map((queued, index) => requestRow(queued, index, details, clock)));
  return [...waiting, ...level.running().map((queued) => requestRow(queued, -1, details, clock))];
}

/** Upstream prints this for what has not happened. */
const never = "0001-01-01T00:00:00Z";

function requestRow(queued: QueuedRequest, index: number, details: boolean, clock: DumpClock): readonly unknown[] {
  const { level, flow, work, queue, request } = queued;
  const time = (ms: number): string => {
    const text = new Date(clock.now() - (clock.monotonic() - ms)).toISOString();
    return text.replace(/\.?0+Z$/, "Z"); // Upstream: no zeros behind
  };
  const row = [
    level.config.name,
    flow.schema,
    queue?.index ?? -1,
    index,
    flow.distinguisher,
    time(queued.arrivedMs),
    work.initialSeats,
    work.finalSeats,
    printGoDuration(Number(work.lingerMs.toFixed(6))),
    queued.state === "waiting" ? never : time(queued.startedMs),
  ];
  if (!details) return row;
  const { info, user } = request;
  const version = info.group === "" ? info.version : `${info.group}/${info.version}`;
  return [...row, user.name, info.verb, info.path, info.namespace, info.name, version, info.resource, info.subresource];
}

/** Cells end with a comma and are padded to the width of their column. */
function columns(rows: readonly (readonly unknown[])[]): string {
  const texts = rows.map((row) => row.map((cell, index) => clean(String(cell)) + (index < row.length - 1 ? "," : "")));
  const widths = (texts[0] ?? []).map((_, index) =>
    texts.reduce((most, row) => Math.max(most, row[index]!.length + 1), 8),
  );
  return texts
    .map(
      (row) => `${row.map((cell, index) => (index < row.length - 1 ? cell.padEnd(widths[index]!) : cell)).join("")}\n`,
    )
    .join("");
}

/** Names and paths come from clients: nothing in them makes a line of its own. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
const clean = (text: string): string => text.replace(/[\u0000-\u001f\u007f]/g, "?");
