/**
 * The state at a time or a version in the past: one object, or the list of a collection, in the forms of the API. The
 * answers go as far back as the history.
 */
import { badRequest, expired, notFound } from "#meta/status-error.ts";
import { parseLabelSelector } from "#meta/selector.ts";
import { timestampOf } from "#meta/time.ts";
import type { RequestContext } from "#meta/request-context.ts";
import { decodeContinue, encodeContinue } from "#registry/continue-token.ts";
import { updateStrategy } from "#registry/resource-definition.ts";
import { servingRulesOf } from "#registry/serving-rules.ts";
import type { ConvertedObjects } from "#registry/stored-object.ts";
import { Yielder } from "#std/cooperative.ts";
import { isCompacted, type LogRangeOptions, type Revision, type UndoneChanges } from "#storage/log-store.ts";
import type { Entry, Range } from "#storage/watch-cache.ts";
import type { HandledRequest, Reply } from "./api-request.ts";
import { encodeReply } from "./encode-reply.ts";
import { factsOf } from "./history-items.ts";
import { isUpTo, type Moment, momentOf } from "./history-times.ts";
import type { HistoryOptions, HistoryTarget } from "./history-versions.ts";
import { listReply, objectReply } from "./object-reply.ts";
import type { Scope } from "./scope.ts";

/** The number of objects of a page. */
const limitDefault = 500;
/** The bytes of objects after which a page ends, and the number of those that are read first. */
const bytesMax = 8 * 1024 * 1024;
const entriesAtFirst = 16;
/** The number of events that are looked at to find the revision of a time. */
const examinedMax = 50_000;

/** Answers with the object or the list at the moment `at`. The permission to get or list has been checked. */
export async function stateAt(options: HistoryOptions, request: HandledRequest, target: HistoryTarget): Promise<Reply> {
  const { parts } = options;
  const { query } = request;
  if (query.has("fieldSelector")) throw badRequest("fieldSelector is not supported in the history");
  const moment = momentOf(query, "at", parts.clock.now());
  if (moment === undefined) throw badRequest("at: a version or a time is missing");
  await parts.cache.fresh();
  const token = query.get("continue") ?? "";
  const start = token === "" ? undefined : decodeContinue(token);
  if (start?.revision === -1) throw badRequest("the continue parameter is not one that this server gave");
  const at = start?.revision ?? (await revisionAt(options, request, target, moment));
  const scope = scopeOf(options, request, target);
  const isOne = target.name !== "";
  const { hasRoutes } = servingRulesOf(target.definition);
  const negotiator = hasRoutes ? parts.negotiator : parts.negotiator.forCustom();
  const negotiated = negotiator.answer(request, parts.transforms, !isOne);
  if (isOne) {
    const { entries } = await readRange(options, target.key, { at, from: target.key, limit: 1 });
    const [entry] = entries;
    if (entry?.key !== target.key) throw notFound(target.definition, target.name);
    await target.store.convertAnew(entry, request);
    return encodeReply(objectReply(scope, negotiated, 200, target.store.object(entry), entry), scope);
  }
  const listed = await listAt(options, request, target, { at, start: start?.start ?? "" });
  return encodeReply(listReply(scope, negotiated, listed), scope);
}

/** Returns one page of a collection. */
async function listAt(
  options: HistoryOptions,
  request: HandledRequest,
  { definition, store, namespace }: HistoryTarget,
  { at, start }: { readonly at: Revision; readonly start: string },
): Promise<Parameters<typeof listReply>[2]> {
  const { objects, clock } = options.parts;
  const labels = parseLabelSelector(request.query.get("labelSelector") ?? "");
  const limit = limitOf(request.query);
  const prefix = store.collection(namespace);
  const undone: UndoneChanges = { replaced: new Map(), reached: at };
  const yielder = new Yielder(clock);
  const entries: Entry[] = [];
  const conversions: ConvertedObjects[] = [];
  let from = prefix + start;
  let [read, bytes, size] = [0, 0, entriesAtFirst];
  let range: Range;
  do {
    range = await readRange(options, prefix, { at, from, limit: Math.min(size, limit - read), undone });
    conversions.push(await store.convertWithWebhook(range.entries, request));
    const before = bytes;
    for (const entry of range.entries) {
      bytes += entry.valueLength;
      if (labels.empty || labels.matches(objects.labels(definition, entry) ?? {})) entries.push(entry);
      if (yielder.isDue) await yielder.pause();
    }
    read += range.entries.length;
    from = `${range.entries.at(-1)?.key ?? from}\0`;
    // The next values are probably as large as these.
    size = bytes - before > bytesMax / 16 ? size : size * 4;
  } while (range.more && read < limit && bytes < bytesMax && !request.aborted);
  return {
    entries,
    revision: at,
    continue: range.more ? encodeContinue({ revision: at, start: from.slice(prefix.length) }) : "",
    remainingItemCount: range.more && labels.empty ? range.remaining : undefined,
    conversions,
  };
}

async function readRange({ parts }: HistoryOptions, prefix: string, range: LogRangeOptions): Promise<Range> {
  const found = await parts.cache.rangeAt(prefix, { ...range, isKept: true });
  if (!isCompacted(found)) return found;
  throw expired(`version ${range.at} is no longer kept: the history begins after ${found.compacted}`);
}

/**
 * Returns the revision that was current at a moment. The store knows times to some seconds; between these bounds, the
 * times of the objects decide.
 */
async function revisionAt(
  { parts, versionReader }: HistoryOptions,
  request: HandledRequest,
  target: HistoryTarget,
  moment: Moment,
): Promise<Revision> {
  if ("revision" in moment) return target.store.reach(String(moment.revision));
  const { cache, clock } = parts;
  if (moment.ms >= clock.now()) return cache.revision;
  const { before, after } = await versionReader.revisionsAround(moment.ms);
  const [prefix, isExact] =
    target.name === "" ? [target.store.collection(target.namespace), false] : [target.key, true];
  const yielder = new Yielder(clock);
  let examined = 0;
  for (let next: Revision | undefined = after >= cache.revision ? undefined : after + 1; ; ) {
    const page = await versionReader.changes({ prefix, isExact, after: before, before: next, limit: 128 });
    const conversions = await target.store.convertWithWebhook(
      page.changes.flatMap(({ entry, previous }) => [entry, previous].flatMap((one) => one ?? [])),
      request,
    );
    const read = { ...page, conversions };
    for (const change of read.changes) {
      const { time, timeSource } = factsOf(target, { ...change, isCreation: change.previous === undefined });
      if (timeSource !== "log" && isUpTo(time, moment.ms) === true) return change.revision;
      examined++;
      if (yielder.isDue) await yielder.pause();
    }
    next = page.next;
    if (next !== 0 && examined < examinedMax && !request.aborted) continue;
    if (next === 0 && page.since <= before) return before;
    const from = page.sinceMs === undefined ? `version ${page.since}` : timestampOf(page.sinceMs);
    throw expired(`the state at ${timestampOf(moment.ms)} is no longer kept: the history begins with ${from}`);
  }
}

function limitOf(query: URLSearchParams): number {
  const text = query.get("limit") ?? "";
  const limit = text === "" ? limitDefault : /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit < 1) throw badRequest(`limit: ${JSON.stringify(text)} must be a number from 1 on`);
  return Math.min(limit, limitDefault);
}

/** Makes the scope in which an answer is shown. */
function scopeOf(
  { parts }: HistoryOptions,
  request: HandledRequest,
  { definition, store, namespace, name }: HistoryTarget,
): Scope {
  const context: RequestContext = {
    user: request.user,
    userAgent: "",
    signal: undefined,
    deadlineMs: request.deadlineMs,
    warn: () => undefined,
    annotate: () => undefined,
  };
  const updates = updateStrategy(definition.strategy, "");
  return { parts, request, context, definition, store, namespace, name, subresource: "", updates };
}
