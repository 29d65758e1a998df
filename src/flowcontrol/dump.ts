/**
 * The current state of levels, queues and requests, as text columns. Source of the columns: upstream's
 * `/debug/api_priority_and_fairness/` endpoints.
 */
import { apiVersionOf } from "#meta/group-version.ts";
import type { Clock } from "#std/clock.ts";
import { printGoDuration } from "#std/go-duration.ts";
import type { FlowControl } from "./flow-control.ts";
import type { FlowRequest } from "./flow-request.ts";
import type { PriorityLevel } from "./priority-level.ts";
import type { QueueDump, QueuedRequest } from "./queued-request.ts";

const root = "/debug/api_priority_and_fairness/";

type Column<T> = readonly [header: string, cell: (row: T) => unknown];

/** Returns the text of one of the paths; `undefined` for any other path. `details` adds the attributes of requests. */
export function dump(control: FlowControl, path: string, details: boolean, clock: Clock): string | undefined {
  if (!path.startsWith(root)) return undefined;
  switch (path.slice(root.length)) {
    case "dump_priority_levels":
      return table(levelColumns, control.levels());
    case "dump_queues":
      return table(queueColumns, control.levels().flatMap(queuesOf));
    case "dump_requests":
      return table([...requestColumns(clock), ...(details ? detailColumns : [])], control.levels().flatMap(requestsOf));
    default:
      return undefined;
  }
}

const levelColumns: readonly Column<PriorityLevel>[] = [
  ["PriorityLevelName", ({ config }) => config.name],
  ["ActiveQueues", (level) => level.queues().filter(({ waiting }) => waiting.length > 0).length],
  ["IsIdle", ({ isIdle }) => isIdle],
  ["IsQuiescing", ({ isQuiescing }) => isQuiescing],
  ["WaitingRequests", ({ waiting }) => waiting],
  ["ExecutingRequests", ({ executing }) => executing],
  ["DispatchedRequests", ({ dispatched }) => dispatched],
  ["RejectedRequests", ({ rejected }) => rejected],
  ["TimedoutRequests", ({ timedOut }) => timedOut],
  ["CancelledRequests", ({ cancelled }) => cancelled],
];

interface ShownQueue extends QueueDump {
  readonly level: string;
}

/** The maximum number of queues of a level that are shown: a configuration may have millions. */
const queuesMax = 10_000;

/** Returns the queues of a level, also those that are not in use. */
function queuesOf(level: PriorityLevel): readonly ShownQueue[] {
  const used = new Map(level.queues().map((queue) => [queue.index, queue]));
  const unused = { waiting: [], executing: 0, seatsInUse: 0, nextAt: 0, waitingWork: 0 };
  const count = Math.min(level.config.queues, queuesMax);
  return Array.from({ length: count }, (_, index) => ({
    ...(used.get(index) ?? { ...unused, index }),
    level: level.config.name,
  }));
}

const queueColumns: readonly Column<ShownQueue>[] = [
  ["PriorityLevelName", ({ level }) => level],
  ["Index", ({ index }) => index],
  ["PendingRequests", ({ waiting }) => waiting.length],
  ["ExecutingRequests", ({ executing }) => executing],
  ["SeatsInUse", ({ seatsInUse }) => seatsInUse],
  ["NextDispatchR", ({ nextAt }) => seatSeconds(nextAt)],
  ["InitialSeatsSum", ({ waiting }) => waiting.reduce((sum, { work }) => sum + work.initialSeats, 0)],
  ["MaxSeatsSum", ({ waiting }) => waiting.reduce((sum, { width }) => sum + width, 0)],
  ["TotalWorkSum", ({ waitingWork }) => seatSeconds(waitingWork)],
];

const seatSeconds = (value: number): string => `${value.toFixed(8)}ss`;

interface ShownRequest {
  readonly queued: QueuedRequest;
  /** The position in the queue; -1 for a running request. */
  readonly index: number;
}

const requestsOf = (level: PriorityLevel): readonly ShownRequest[] => [
  ...level.queues().flatMap(({ waiting }) => waiting.map((queued, index) => ({ queued, index }))),
  ...level.running().map((queued) => ({ queued, index: -1 })),
];

/** Upstream's text for the time of an event that has not happened. */
const never = "0001-01-01T00:00:00Z";

function requestColumns(clock: Clock): readonly Column<ShownRequest>[] {
  const time = (ms: number): string => {
    const text = new Date(clock.now() - (clock.monotonic() - ms)).toISOString();
    return text.replace(/\.?0+Z$/, "Z"); // Upstream: no zeros behind
  };
  return [
    ["PriorityLevelName", ({ queued }) => queued.level.config.name],
    ["FlowSchemaName", ({ queued }) => queued.flow.schema],
    ["QueueIndex", ({ queued }) => queued.queue?.index ?? -1],
    ["RequestIndexInQueue", ({ index }) => index],
    ["FlowDistingsher", ({ queued }) => queued.flow.distinguisher],
    ["ArriveTime", ({ queued }) => time(queued.arrivedMs)],
    ["InitialSeats", ({ queued }) => queued.work.initialSeats],
    ["FinalSeats", ({ queued }) => queued.work.finalSeats],
    ["AdditionalLatency", ({ queued }) => printGoDuration(Number(queued.work.lingerMs.toFixed(6)))],
    ["StartTime", ({ queued }) => (queued.state === "waiting" ? never : time(queued.startedMs))],
  ];
}

const infoColumn = (header: string, cell: (info: FlowRequest["info"]) => string): Column<ShownRequest> => [
  header,
  ({ queued }) => cell(queued.request.info),
];

const detailColumns: readonly Column<ShownRequest>[] = [
  ["UserName", ({ queued }) => queued.request.user.name],
  infoColumn("Verb", ({ verb }) => verb),
  infoColumn("APIPath", ({ path }) => path),
  infoColumn("Namespace", ({ namespace }) => namespace),
  infoColumn("Name", ({ name }) => name),
  infoColumn("APIVersion", apiVersionOf),
  infoColumn("Resource", ({ resource }) => resource),
  infoColumn("SubResource", ({ subresource }) => subresource),
];

/** Returns a table whose cells end with a comma and are padded to the width of their column. */
function table<T>(columns: readonly Column<T>[], rows: readonly T[]): string {
  const last = columns.length - 1;
  const cells = columns.map(([header, cell], index) => {
    const texts = [header, ...rows.map((row) => clean(String(cell(row))))];
    if (index === last) return texts;
    const width = texts.reduce((most, text) => Math.max(most, text.length + 2), 8);
    return texts.map((text) => `${text},`.padEnd(width));
  });
  const lines = Array.from({ length: rows.length + 1 }, (_, at) => cells.map((texts) => texts[at]).join(""));
  return `${lines.join("\n")}\n`;
}

/** Names and paths come from clients: nothing in them makes a line of its own. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
const clean = (text: string): string => text.replace(/[\u0000-\u001f\u007f]/g, "?");
