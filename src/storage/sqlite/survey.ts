/**
 * Reads all revisions of the log once at the start, without values: finds the current keys, whether history is
 * complete, and whether the log matches the head file.
 */
import type { Revision } from "../log-store.ts";
import { digestSum } from "../digest.ts";
import type { Head } from "./head-file.ts";
import type { LogFile } from "./log-file.ts";
import { RevisionSet } from "./revision-set.ts";
import { isDropped } from "./sweep.ts";

const scanRows = 2048;

export interface Survey {
  /** The youngest revision, or the one that a compaction or restore left as such. */
  readonly revision: Revision;
  /** The digest of the entries current at `revision`. */
  readonly keys: number;
  readonly sum: number;
  /** The digest at the requested revision. */
  readonly keysBefore: number;
  readonly sumBefore: number;
  /** The rows that a later one replaced. */
  readonly replaced: RevisionSet;
  /** The first revision after the compacted one that has no row; `undefined`: none is missing. */
  readonly gap: Revision | undefined;
}

/** Surveys the log; `before` is a revision whose digest is computed as well. */
export function surveyLog(file: LogFile, before: Revision): Survey {
  const { checkpoints, lastRevision: revision } = file;
  const replaced = new RevisionSet();
  let keys = 0;
  let sum = 0;
  let keysBefore = 0;
  let sumBefore = 0;
  let next = checkpoints.compacted + 1;
  let gap: Revision | undefined;
  for (let at = 0; ; ) {
    const page = file.replacements(at, Number.MAX_SAFE_INTEGER, scanRows);
    for (const [row, previous, deleted] of page) {
      if (previous !== 0) replaced.add(previous);
      if (deleted === 0) {
        keys++;
        sum += row;
      }
      if (previous !== 0 && !isDropped(checkpoints, row, previous)) {
        keys--;
        sum -= previous;
      }
      sum = digestSum(sum);
      if (row <= before) {
        keysBefore = keys;
        sumBefore = sum;
      }
      if (row <= checkpoints.compacted) continue;
      if (row !== next) gap ??= next;
      next = row + 1;
    }
    if (page.length < scanRows) break;
    at = page.at(-1)![0];
  }
  return { revision, keys, sum, keysBefore, sumBefore, replaced, gap };
}

/** Returns the part of `head` that is missing in the log. */
export function missingFrom(survey: Survey, head: Head): "writes" | "rows" | undefined {
  if (survey.revision < head.revision) return "writes";
  return survey.keysBefore === head.keys && survey.sumBefore === head.sum ? undefined : "rows";
}
