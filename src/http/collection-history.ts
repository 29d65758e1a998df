/**
 * The history of a collection: the events of all objects of a resource, in a namespace or in all, newest first. It is read
 * in pieces, between which other requests are served. An answer ends when it has looked at many events, of which some
 * may be of no interest, and the next page goes on there.
 */
import type { UserInfo } from "#meta/user-info.ts";
import { badRequest, expired, tooManyRequests } from "#meta/status-error.ts";
import { parseLabelSelector } from "#meta/selector.ts";
import { Yielder } from "#std/cooperative.ts";
import { everything, type Revision } from "#storage/log-store.ts";
import type { Entry, PastChange, PastChanges } from "#storage/watch-cache.ts";
import type { HandledRequest, Reply } from "./api-request.ts";
import { factsOf, itemText, type VersionEvent } from "./history-items.ts";
import { historyReply, limitOf, startOf } from "./history-page.ts";
import { isUpTo, type Moment, momentOf } from "./history-times.ts";
import type { HistoryOptions, HistoryTarget } from "./history-versions.ts";

/** The number of events, and the bytes of their objects, that are looked at for one answer. */
const examinedMax = 5000;
const examinedBytesMax = 32 * 1024 * 1024;
/** A page ends after the item with which it has at least this number of bytes. */
const pageBytesMax = 2 * 1024 * 1024;
/** The number of events that are read at once. */
const pieceMax = 128;
/** The time by which the times of the log may be late. */
const logLateMs = 10_000;
/** The number of requests of one user that may wait for their turn. */
const waitingMax = 4;

/** The events that a request asks for. */
interface Wanted {
  readonly limit: number;
  readonly isDeletedOnly: boolean;
  readonly showsPrevious: boolean;
  /** Whether the labels of an entry are wanted. */
  matches(entry: Entry | undefined): boolean;
  /** The events in (after, before) are read. */
  readonly after: Revision;
  readonly before: Revision | undefined;
  /** Whether an event is inside of the times of the request, given its own time, or one of the log, which may be late. */
  isInTime(revision: Revision, time: string | undefined, isOfLog: boolean): boolean;
}

/** Answers requests, of which each user has one at a time. */
export class CollectionHistories {
  readonly #options: HistoryOptions;
  /** The last request of each user that has one, and the number of requests that wait for it. */
  readonly #turns = new Map<string, { tail: Promise<unknown>; waiting: number }>();

  constructor(options: HistoryOptions) {
    this.#options = options;
  }

  /** Returns a page of the history. The permission to list the collection has been checked. */
  answer(request: HandledRequest, target: HistoryTarget): Promise<Reply> {
    return this.#inTurn(request.user, () => readPage(this.#options, request, target));
  }

  async #inTurn(user: UserInfo, work: () => Promise<Reply>): Promise<Reply> {
    const turn = this.#turns.get(user.name) ?? { tail: Promise.resolve(), waiting: 0 };
    if (turn.waiting > waitingMax) {
      throw tooManyRequests("another history is being read for this user: read one after the other", 1);
    }
    turn.waiting++;
    this.#turns.set(user.name, turn);
    const result = turn.tail.then(work);
    turn.tail = result.catch(() => undefined);
    try {
      return await result;
    } finally {
      turn.waiting--;
      if (turn.waiting === 0) this.#turns.delete(user.name);
    }
  }
}

async function readPage(options: HistoryOptions, request: HandledRequest, target: HistoryTarget): Promise<Reply> {
  const { parts, versionReader } = options;
  const { store } = target;
  await parts.cache.fresh();
  const wanted = await readWanted(options, request, target);
  const range = { prefix: store.collection(target.namespace), isExact: false, after: wanted.after, limit: pieceMax };
  const yielder = new Yielder(parts.clock);
  const items: string[] = [];
  const bytes = { shown: 0, examined: 0 };
  let examined = 0;
  let next: Revision | undefined = wanted.before;
  let last: PastChanges;
  const isFull = (): boolean =>
    items.length >= wanted.limit ||
    bytes.shown >= pageBytesMax ||
    examined >= examinedMax ||
    bytes.examined >= examinedBytesMax ||
    request.aborted;
  do {
    last = await versionReader.changes({ ...range, before: next });
    next = last.next;
    const { changes } = last;
    const piece = {
      changes,
      conversions: await store.convertWithWebhook(
        changes.flatMap(({ entry, previous }) => [entry, previous].flatMap((one) => one ?? [])),
        request,
      ),
    };
    // Objects are read through `piece`, which keeps the results of a conversion webhook referenced.
    for (const [at, change] of piece.changes.entries()) {
      if (at > 0 && isFull()) {
        next = piece.changes[at - 1]!.revision;
        break;
      }
      examined++;
      bytes.examined += (change.entry?.valueLength ?? 0) + (change.previous?.valueLength ?? 0);
      const item = textOf(options, target, change, wanted);
      if (item !== undefined) {
        items.push(item);
        bytes.shown += item.length;
      }
      if (yielder.isDue) await yielder.pause();
    }
  } while (next !== 0 && !isFull());
  return historyReply("CollectionHistory", { ...last, next, items, revision: parts.cache.revision });
}

/** Returns the item of a change, if it is wanted. */
function textOf(
  { parts }: HistoryOptions,
  target: HistoryTarget,
  { entry, previous, revision, writtenAt, note }: PastChange,
  wanted: Wanted,
): string | undefined {
  if (wanted.isDeletedOnly && entry !== undefined) return undefined;
  if (!wanted.matches(entry ?? previous)) return undefined;
  const isCreation = previous === undefined;
  const event: VersionEvent = { revision, entry, previous, isCreation, writtenAt, note };
  const facts = factsOf(target, event);
  if (!wanted.isInTime(revision, facts.time, facts.timeSource === "log")) return undefined;
  // A user who may list only objects of some labels sees no other ones, also as those that were replaced.
  const showsPrevious = wanted.showsPrevious && wanted.matches(previous);
  return itemText(parts, target, event, { isNamed: true, showsPrevious }, facts);
}

/** Reads the parameters. Throws `badRequest` and `expired`. */
async function readWanted(
  { parts, versionReader }: HistoryOptions,
  { query }: HandledRequest,
  { definition, store }: HistoryTarget,
): Promise<Wanted> {
  // A field selector would count for the permission.
  if (query.has("fieldSelector")) throw badRequest("fieldSelector is not supported in the history");
  const labels = parseLabelSelector(query.get("labelSelector") ?? "");
  const nowMs = parts.clock.now();
  const [since, until] = [momentOf(query, "since", nowMs), momentOf(query, "until", nowMs)];
  const start = startOf(query.get("continue") ?? "");
  const { after, latest: latestBefore } = await boundsOf(since);
  const end = await boundsOf(until);
  if (since !== undefined && "revision" in since) await checkKept(since.revision);
  // The event at the end itself is wanted. Between the bounds, its own time decides.
  const last = until === undefined ? undefined : end.latest === everything ? undefined : end.latest + 1;
  const before = start ?? last;
  return {
    limit: limitOf(query.get("limit") ?? ""),
    isDeletedOnly: flagOf(query, "deleted"),
    showsPrevious: flagOf(query, "previous"),
    after,
    before,
    matches: (entry) =>
      labels.empty || (entry !== undefined && labels.matches(parts.objects.labels(definition, entry) ?? {})),
    isInTime(revision, time, isOfLog) {
      const isUncertain = { since: revision <= latestBefore, until: revision > end.after };
      // An event of the second in which the time lies counts.
      if (since !== undefined && "ms" in since && isUncertain.since && isUpTo(time, since.ms - 1000) === true)
        return false;
      if (until === undefined || !("ms" in until) || !isUncertain.until) return true;
      return isUpTo(time, until.ms + (isOfLog ? logLateMs : 0)) !== false;
    },
  };

  /** Returns the revisions between which a moment lies: up to `after` is before it, beyond `latest` after it. */
  async function boundsOf(
    moment: Moment | undefined,
  ): Promise<{ readonly after: Revision; readonly latest: Revision }> {
    if (moment === undefined) return { after: 0, latest: everything };
    if ("revision" in moment) return { after: moment.revision, latest: moment.revision };
    const { before, after: latest } = await versionReader.revisionsAround(moment.ms);
    return { after: before, latest };
  }

  async function checkKept(revision: Revision): Promise<void> {
    const range = { prefix: store.prefix, isExact: false, after: everything, before: undefined, limit: 1 };
    const { since: kept } = await versionReader.changes(range);
    if (revision < kept) throw expired(`version ${revision} is no longer kept: the history begins after ${kept}`);
  }
}

/** Reads a parameter that is true or false. Throws `badRequest`. */
function flagOf(query: URLSearchParams, parameter: string): boolean {
  const text = query.get(parameter) ?? "";
  if (text !== "" && text !== "true" && text !== "false") throw badRequest(`${parameter} must be true or false`);
  return text === "true";
}
