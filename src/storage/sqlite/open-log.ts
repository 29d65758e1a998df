/**
 * Opens the log of a data folder and checks that it is complete. Either all acknowledged writes are there, or the start
 * is refused without changes, unless a loss is accepted. Called from the worker.
 *
 *     head file says                    log                                then
 *     what the log is                   reads, adds up                     goes on
 *     the same, but of another boot     reads, adds up                     goes on far ahead: the head may be older
 *     more than the log has             shorter, gone, another digest      refused, or accepted: goes on far ahead
 *     nothing: it is gone, or damaged   reads, adds up                     refused, or accepted: goes on far ahead
 *     nothing: it is gone               gone, and there was one            refused, or accepted: goes on far ahead
 *     whatever                          cannot be read                     refused
 *
 * "Far ahead" means that all revisions up to there count as compacted: clients that know an earlier one start over, and
 * no revision is used twice.
 */
import { existsSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";

import { makeFolder } from "#std/folder.ts";

import { LostWrites, type Revision } from "../log-store.ts";
import { type Head, HeadFile, headFilePath, makeHeadFile, presentBoot, readHead } from "./head-file.ts";
import { damagedFile, setAsidePath, LogFile, logFilePath } from "./log-file.ts";
import type { LogFolder } from "./messages.ts";
import { missingFrom, type Survey, surveyLog } from "./survey.ts";

/** The step by which revisions move on where some may have been given out that the log does not know. */
export const revisionStep = 1_000_000_000;

export interface OpenLogFiles {
  readonly file: LogFile;
  readonly headFile: HeadFile;
  readonly survey: Survey;
  /** The revision after which new revisions continue; beyond that of the log if they moved ahead. */
  readonly revision: Revision;
  /** A notice for the user: a loss was accepted, or cannot be excluded. */
  readonly notice: string | undefined;
}

/** Whether a folder has a file of a store. */
export function hasStore(dataDir: string): boolean {
  const path = logFilePath(dataDir);
  return existsSync(path) || existsSync(setAsidePath(path)) || readHead(dataDir) !== "missing";
}

/**
 * Opens the files. Throws `LostWrites` when the log is incomplete, `StorageFailure` when it cannot be read; the files
 * are unchanged in both cases.
 */
export function openLogFiles({ dataDir, isExpected: wasThere, acceptLoss, faults }: Required<LogFolder>): OpenLogFiles {
  const { segmentRows, boot = presentBoot() } = faults;
  makeFolder(dataDir);
  const path = logFilePath(dataDir);
  // An earlier refusal was interrupted.
  if (!existsSync(path) && existsSync(setAsidePath(path))) renameSync(setAsidePath(path), path);
  let head = readHead(dataDir);
  // Opening the log makes a write-ahead log.
  const walSize = sizeOf(`${path}-wal`);
  let loss = lossInSight(path, head, { boot, wasThere });
  const accept = (newLoss: Loss): void => {
    if (!acceptLoss) throw new LostWrites(newLoss.message);
    loss = newLoss;
  };
  if (loss !== undefined) {
    accept(loss);
    for (const file of loss.useless) rmSync(file, { force: true });
  }
  if (head === "missing" && !existsSync(path)) {
    head = { state: "new", boot, revision: 0, keys: 0, sum: 0, floor: 0 };
    makeHeadFile(dataDir, head);
  }
  const isExpected = typeof head === "object" && head.state !== "new" && existsSync(path);
  const file = new LogFile(path, { segmentRows, isExpected });
  try {
    file.check();
    const survey = surveyLog(file, typeof head === "object" ? head.revision : 0);
    if (survey.gap !== undefined) throw damagedFile(path, undefined, `revision ${survey.gap} is missing`);
    const lossFound = loss === undefined ? lossWithin(path, head, survey, walSize) : undefined;
    if (lossFound !== undefined) accept(lossFound);
    return goOn({ dataDir, boot, file, head, survey, loss });
  } catch (error) {
    file.abandon();
    throw error;
  }
}

interface Loss {
  readonly message: string;
  /** Files that must not be read any more. */
  readonly useless: readonly string[];
}

type FoundHead = ReturnType<typeof readHead>;

/** Finds losses without reading the log. Reading would already change files beside a missing log. */
function lossInSight(
  path: string,
  head: FoundHead,
  { boot, wasThere }: { readonly boot: string; readonly wasThere: boolean },
): Loss | undefined {
  const wal = `${path}-wal`;
  const size = sizeOf(path);
  const isGone = size === undefined || size === 0;
  const walSize = sizeOf(wal) ?? 0;
  const isNew = typeof head === "object" && head.state === "new";
  if (isGone && !isNew && (head !== "missing" || size === 0 || walSize > 0)) {
    const upTo = typeof head === "object" ? ` up to revision ${head.revision}` : "";
    return {
      message: `${path} is ${size === undefined ? "missing" : "empty"}, and with it all that was written${upTo}`,
      useless: [path, wal],
    };
  }
  if (isGone && head === "missing" && wasThere) {
    const message = `${path} and ${headFilePath(dirname(path))} are missing, and with them all that was written`;
    return { message, useless: [] };
  }
  if (typeof head === "string") return undefined;
  if (head.state === "closed" && walSize > 0) {
    const message = `${wal} was not there when the store was closed, and does not belong to ${path}`;
    return { message, useless: [wal] };
  }
  if (head.state === "used" && !isOfBoot(head, boot) && walSize === 0) {
    const what = sizeOf(wal) === undefined ? "missing" : "empty";
    return {
      message: `${wal} is ${what}, and with it the last writes, up to revision ${head.revision} at least`,
      useless: [],
    };
  }
  return undefined;
}

/** Finds losses that show only when the log is read. `walSize` is the size before the log was opened. */
function lossWithin(path: string, head: FoundHead, survey: Survey, walSize: number | undefined): Loss | undefined {
  const lost = (message: string): Loss => ({ message, useless: [] });
  const { revision, keys } = survey;
  if (typeof head === "string") {
    return lost(
      `${headFilePath(dirname(path))} is ${head}: without it nobody can tell whether writes after revision ${revision}, which ${path} reaches, are missing`,
    );
  }
  const missing = missingFrom(survey, head);
  if (missing === undefined) return undefined;
  if (missing === "rows") {
    return lost(
      `${path} or ${path}-wal is damaged: something that was written up to revision ${head.revision} is missing (${keys} keys are there of ${head.keys})`,
    );
  }
  const between = `the writes after revision ${revision} up to ${head.revision} are missing`;
  if (head.state !== "used") return lost(`${path} is older than its store: ${between}`);
  const what = walSize === undefined ? "missing" : walSize === 0 ? "empty" : "cut short or damaged";
  return lost(`${path}-wal is ${what}: ${between}`);
}

interface Examined {
  readonly dataDir: string;
  readonly boot: string;
  readonly file: LogFile;
  readonly head: FoundHead;
  readonly survey: Survey;
  readonly loss: Loss | undefined;
}

function goOn({ dataDir, boot, file, head, survey, loss }: Examined): OpenLogFiles {
  let notice: string | undefined;
  if (loss !== undefined) notice = `a loss was accepted: ${loss.message}`;
  else if (typeof head === "object" && head.state === "used" && !isOfBoot(head, boot)) {
    notice = "the machine stopped while the store was open, and a loss of the last writes cannot be excluded";
  }
  const { revision: reached, keys, sum } = survey;
  let revision = typeof head === "object" ? Math.max(reached, head.floor, head.revision) : reached;
  if (notice !== undefined) {
    revision += revisionStep;
    notice += `; revisions go on after ${revision}`;
  }
  const next: Head = { state: "open", boot, revision: reached, keys, sum, floor: revision };
  if (typeof head === "string") makeHeadFile(dataDir, next);
  return { file, headFile: new HeadFile(dataDir, next), survey, revision, notice };
}

/** Whether the head file's last write survived, because the machine has not restarted since. */
function isOfBoot(head: Head, boot: string): boolean {
  return boot !== "" && head.boot === boot;
}

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}
