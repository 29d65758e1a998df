/** Reads of the log that the thread does between commits, as jobs of short steps. */
import { digestSum } from "../digest.ts";
import type { Revision } from "../log-store.ts";
import type { JobSteps } from "./job-queue.ts";
import type { LogChange, LogFile } from "./log-file.ts";
import type { LogRequestOf, LogResults } from "./messages.ts";
import { RowWriter } from "./packed-rows.ts";
import { isDropped } from "./sweep.ts";

/** The number of rows of one step. */
const stepRows = 512;
/** The bounds of one page of old events. */
const pageEvents = 200;
const pageBytes = 256 * 1024;
/**
 * The number of rows that one step searches for older versions of a key, and the number of such steps for one result.
 */
const searchRows = 4096;
const searchesMax = 64;

/** Calls `visit` for the rows in (after, upTo] in order, some of them a step, until it returns false. */
export function* eachChange(
  file: LogFile,
  after: Revision,
  upTo: Revision,
  visit: (change: LogChange) => boolean,
): JobSteps<void> {
  for (let at = after; at < upTo; ) {
    const page = file.changes(at, upTo, stepRows);
    for (const change of page) if (!visit(change)) return;
    const last = page.at(-1);
    if (last === undefined || page.length < stepRows) return;
    at = last.revision;
    yield;
  }
}

/** Reads changes with the rows they replaced, as many as fit into a page. */
export function* readHistory(
  file: LogFile,
  { prefix, exact, after, upTo }: LogRequestOf<"history">,
): JobSteps<LogResults["history"]> {
  const writer = new RowWriter(pageBytes);
  const times: number[] = [];
  const timeOf = timesInOrder(file);
  let reached = upTo;
  let isGone = false;
  yield* eachChange(file, after, upTo, ({ revision, key, previous }) => {
    if (exact ? key !== prefix : !key.startsWith(prefix)) return true;
    const row = file.row(revision);
    const replaced = previous === 0 ? undefined : file.row(previous);
    if (row === undefined || (previous !== 0 && replaced === undefined)) {
      isGone = true;
      return false;
    }
    writer.addRow(row);
    if (replaced !== undefined) writer.addRow(replaced);
    times.push(timeOf(revision));
    if (times.length < pageEvents && writer.length < pageBytes) return true;
    reached = revision;
    return false;
  });
  return { rows: isGone ? undefined : writer.take(), times, reached };
}

/** Returns a function that finds the times of revisions, 0 for unknown. It is asked in the order of revisions. */
function timesInOrder(file: LogFile): (revision: Revision) => number {
  let known: { readonly upTo: Revision; readonly at: number } | undefined;
  return (revision) => {
    if (known === undefined || revision > known.upTo) known = file.noteOf(revision);
    return known?.at ?? 0;
  };
}

/** Reads the keys that changed, and the revisions that their first changes replaced. */
export function* readRollback(
  file: LogFile,
  { from, to, after, upTo }: LogRequestOf<"rollback">,
): JobSteps<LogResults["rollback"]> {
  const first = new Map<string, Revision>();
  yield* eachChange(file, after, upTo, ({ key, previous }) => {
    if (key >= from && (to === undefined || key < to) && !first.has(key)) first.set(key, previous);
    return true;
  });
  return { keys: [...first.keys()], previous: [...first.values()] };
}

/** Reads the rows of some revisions. */
export function* readRows(file: LogFile, { revisions }: LogRequestOf<"rows">): JobSteps<LogResults["rows"]> {
  const writer = new RowWriter(64 * 1024);
  for (const [i, revision] of revisions.entries()) {
    const row = file.row(revision);
    if (row !== undefined) writer.addRow(row);
    if (i % stepRows === stepRows - 1) yield;
  }
  return { rows: writer.take() };
}

/**
 * Reads older versions of a key. A row names the one that it replaced, so they are found one by one. Only versions from
 * before the key was last created have to be searched for, row by row.
 */
export function* readVersions(
  file: LogFile,
  { key, before, limit }: LogRequestOf<"versions">,
): JobSteps<LogResults["versions"]> {
  const writer = new RowWriter(pageBytes);
  const times: number[] = [];
  let next = before;
  let searches = searchesMax;
  while (next > 0 && times.length < limit && writer.length < pageBytes && searches > 0) {
    const since = file.forgotten;
    // An old row that is still there is current, or a younger row names it; or it is a deletion that is about to go.
    const named = file.row(next - 1);
    const isKept = named?.key === key && (named.deleted === 0 || named.revision > since);
    let row = isKept ? named : undefined;
    if (row === undefined) {
      const { revision, reached } = file.youngestOf(key, since, next, searchRows);
      searches--;
      row = revision === 0 ? undefined : file.row(revision);
      if (row === undefined) next = reached;
    }
    if (row !== undefined) {
      writer.addRow(row);
      times.push(file.timeOf(row.revision) ?? 0);
      const isLast = row.revision <= since;
      next = isLast ? 0 : row.previous === 0 ? row.revision : row.previous + 1;
    }
    yield;
  }
  const since = file.forgotten;
  return { rows: writer.take(), times, next, since, sinceMs: file.timeUpTo(since) };
}

/**
 * Adds up number and sum of the revisions current at `upTo`. Each row adds itself (unless it is a deletion) and
 * subtracts the row that it replaced, unless that row has been dropped.
 */
export function* sumUp(file: LogFile, { revision: upTo }: LogRequestOf<"digest">): JobSteps<LogResults["digest"]> {
  const { checkpoints } = file;
  let keys = 0;
  let sum = 0;
  yield* eachChange(file, 0, upTo, ({ revision, previous, deleted }) => {
    if (deleted === 0) {
      keys++;
      sum += revision;
    }
    if (previous !== 0 && !isDropped(checkpoints, revision, previous)) {
      keys--;
      sum -= previous;
    }
    sum = digestSum(sum);
    return true;
  });
  return { keys, sum };
}
