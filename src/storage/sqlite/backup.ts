/**
 * Makes backups: a copy of all current rows, as a file of the log's own format, made in short steps while writes go on.
 */
import { existsSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";

import { syncPath } from "#std/folder.ts";

import type { Revision } from "../log-store.ts";
import type { JobSteps } from "./job-queue.ts";
import { full, LogFile, sqliteCode } from "./log-file.ts";
import { eachChange } from "./log-queries.ts";
import { RevisionSet } from "./revision-set.ts";

/** The number of rows that are copied in one step. */
const stepRows = 256;

/**
 * Copies the rows current at `revision`, the last one of the log, into a new file, which gets its name when it is
 * complete and durable.
 */
export function* backUp(file: LogFile, revision: Revision, target: string): JobSteps<{ readonly revision: Revision }> {
  if (existsSync(target)) throw new Error(`${target} exists already`);
  const replaced = new RevisionSet();
  yield* eachChange(file, file.checkpoints.swept, revision, ({ previous }) => {
    if (previous !== 0) replaced.add(previous);
    return true;
  });
  const partial = `${target}.partial`;
  const discard = (): void => {
    for (const rest of ["", "-wal", "-journal"]) rmSync(partial + rest, { force: true });
  };
  discard();
  let isFinished = false;
  try {
    yield* copyCurrent(file, partial, revision, replaced);
    renameSync(partial, target);
    syncPath(dirname(target));
    isFinished = true;
  } catch (error) {
    throw sqliteCode(error) === full ? new Error(`no space left on the disk of ${target}`, { cause: error }) : error;
  } finally {
    if (!isFinished) discard();
  }
  return { revision };
}

function* copyCurrent(file: LogFile, path: string, revision: Revision, replaced: RevisionSet): JobSteps<void> {
  const copy = new LogFile(path, { scratch: true });
  try {
    for (let at = 0; at < revision; ) {
      const page = file.changes(at, revision, stepRows);
      copy.transaction(() => {
        for (const change of page) {
          if (change.deleted === 0 && !replaced.has(change.revision)) copy.append(file.row(change.revision)!);
        }
      });
      at = page.length < stepRows ? revision : page.at(-1)!.revision;
      yield;
    }
    copy.transaction(() => {
      copy.setCheckpoint("compacted", revision);
      copy.setCheckpoint("swept", revision);
    });
    copy.finish();
  } finally {
    copy.close();
  }
}
