/**
 * Compaction of the log: drops versions that no reader after a given revision can request, and frees space.
 *
 * One pass over the changes finds the dead versions, kept as one bit per revision. They are dropped table by table
 * (`segments.ts`), oldest first. A table that loses most of its rows is emptied as a whole, after its live rows have
 * moved to the table before it; that costs a tenth of dropping single rows. Where most rows stay, dead ones are dropped
 * singly. The order makes an interruption safe: a row names the older one it replaced, so the replacement of a row that
 * is still there is there as well.
 *
 *     log: 5 put a | 6 put b | 7 put a (previous 5) | 8 delete b (previous 6) | 9 put a (previous 7)
 *     sweep to 8: dead are 5, 6 and 8.  Dropped up to 5, then killed: 6, 7, 8 and 9 still say that 6 and 8 may go,
 *     and the checkpoint says that the row replaced by 7 is gone already.
 *
 * A step takes a few milliseconds and is not synced: the next write's sync covers it, and a step lost with the power is
 * repeated.
 *
 * Bound: later writes reuse freed pages, and the file is truncated beyond that. After a compaction it has at most twice
 * the pages in use (current versions and kept history) and 1 MiB.
 */
import type { Revision } from "../log-store.ts";
import type { LogFile, LogCheckpoints } from "./log-file.ts";
import { RevisionSet } from "./revision-set.ts";

/** The maximum work of one step. Tests make it small. */
interface StepLimits {
  /** The maximum number of ranges of the log at which rows are dropped: each is a page to write. */
  readonly runs: number;
  /**
   * The maximum number of rows, or gaps between rows, that one step moves out of a table before emptying it; 0 when
   * there is no room.
   */
  readonly rows: number;
}

const defaultLimits: StepLimits = { runs: 32, rows: 128 };
/** The limits on a full disk, which has no room for moves. */
export const withoutMoves: StepLimits = { runs: 32, rows: 0 };

const scanRows = 512;
/** The number of rows that one statement drops: with values of the largest size it still takes milliseconds. */
const runRows = 16;
const shrinkPages = 64;

/**
 * Forgets history before `revision`, and drops rows that were replaced, and deletions, up to `upTo`; that is an earlier
 * revision if the history of single keys is kept for longer than that of reads. After every step the log can be closed,
 * or lose power, and the sweep can continue later. Between the steps only writes may change the log, and no other job
 * may sum it up.
 */
export function* sweep(
  file: LogFile,
  revision: Revision,
  limits = defaultLimits,
  upTo = revision,
): Generator<undefined, undefined> {
  const { compacted, sweeping } = file.checkpoints;
  if (revision > compacted) file.transaction(() => file.setCheckpoint("compacted", revision));
  // A sweep that an earlier process began is finished first: the mark of its progress is valid for its own target only.
  if (sweeping > 0) yield* sweepTo(file, sweeping, limits);
  if (upTo > file.checkpoints.swept) {
    yield* sweepTo(file, upTo, limits);
    file.withoutSync(() => file.dropTimes(upTo));
  }
  do yield;
  while (file.shrink(shrinkPages));
  return undefined;
}

function* sweepTo(file: LogFile, target: Revision, limits: StepLimits): Generator<undefined, undefined> {
  const { swept, dropped } = file.checkpoints;
  const dead = new RevisionSet();
  for (let at = swept; at < target; ) {
    const page = file.replacements(at, target, scanRows);
    for (const [revision, previous, deleted] of page) {
      if (previous > dropped) dead.add(previous);
      if (deleted !== 0 && revision > dropped) dead.add(revision);
    }
    at = page.length < scanRows ? target : page.at(-1)![0];
    yield;
  }
  file.withoutSync(() => file.setCheckpoint("sweeping", target));
  for (let next = dead.next(0); next !== undefined; ) {
    const segment = file.segments.at(next);
    const { first, last } = segment;
    const count = dead.count(next, Math.min(last, target));
    const isEmptied = limits.rows > 0 && file.segments.isWorthEmptying(segment, count);
    let from: Revision | undefined = isEmptied ? first : next;
    while (from !== undefined && from <= last) {
      const start: Revision = from;
      let reached = 0;
      file.withoutSync(() => {
        reached = isEmptied
          ? file.segments.move(start, dead, limits.rows)
          : dropRuns(file, dead, start, last, limits.runs);
        file.setCheckpoint("dropped", Math.min(reached, target));
      });
      yield;
      from = isEmptied ? reached + 1 : dead.next(reached + 1);
    }
    next = last === Number.POSITIVE_INFINITY ? undefined : dead.next(last + 1);
  }
  file.withoutSync(() => {
    file.setCheckpoint("swept", target);
    file.setCheckpoint("sweeping", 0);
    file.setCheckpoint("dropped", 0);
  });
  return undefined;
}

/** Drops up to `runsMax` runs of neighbouring rows in [from, last]; returns the last revision that was dropped. */
function dropRuns(file: LogFile, dead: RevisionSet, from: Revision, last: Revision, runsMax: number): Revision {
  const runs: [Revision, Revision][] = [];
  for (let start = dead.next(from); start !== undefined && start <= last && runs.length < runsMax; ) {
    const end: Revision = Math.min(dead.nextAbsent(start) - 1, start + runRows - 1, last);
    runs.push([start, end]);
    start = dead.next(end + 1);
  }
  file.segments.drop(runs);
  return runs.at(-1)![1];
}

/** Whether the row `previous`, which the row at `revision` replaced, has been dropped already. */
export function isDropped(checkpoints: LogCheckpoints, revision: Revision, previous: Revision): boolean {
  return revision <= checkpoints.swept || (revision <= checkpoints.sweeping && previous <= checkpoints.dropped);
}
