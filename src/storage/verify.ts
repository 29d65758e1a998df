/**
 * Reads a whole store that no process has open, or a backup, and reports what is wrong with it. It changes nothing. The
 * caller checks the meaning of the values.
 */
import { existsSync, statSync } from "node:fs";

import type { MaybePromise } from "#std/maybe-promise.ts";
import { type Revision, StorageFailure, type Unversioned, type ValueForm } from "./log-store.ts";
import { readHead } from "./sqlite/head-file.ts";
import { LogFile, type LogRow, logFilePath } from "./sqlite/log-file.ts";
import { revisionStep } from "./sqlite/open-log.ts";
import { missingFrom, type Survey, surveyLog } from "./sqlite/survey.ts";
import { packedForm, unpack } from "./packed-value.ts";

/** A data folder, or the file of a backup. */
export type StoreToVerify = { readonly dataDir: string } | { readonly backupFile: string };

/** A current version of a key. */
export interface VerifiedEntry {
  readonly key: string;
  readonly revision: Revision;
  /** The value as it is stored. */
  readonly value: Unversioned;
  /** The time at which the entry expires, in milliseconds since the epoch; 0 for never. */
  readonly expiresAt: number;
}

/** A fault of the store. */
export interface StoreProblem {
  /** The key with the fault; empty when it is not about a single key. */
  readonly key: string;
  /** The revision of the row with the fault; 0 when it is not about a single row. */
  readonly revision: Revision;
  readonly problem: string;
}

interface VerifiedStore {
  readonly revision: Revision;
  /** Clients may know revisions up to this one; of a backup, many that its store gave out later. */
  readonly floor: Revision;
  /** The number of current keys, and that of all rows, history included. */
  readonly keys: number;
  readonly rows: number;
}

export interface Verification {
  readonly form: ValueForm;
  /** Reads all rows, and visits the current entries one after the other. */
  read(visit: Visit, report: (problem: StoreProblem) => void): Promise<VerifiedStore>;
  close(): void;
}

type Visit = (entry: VerifiedEntry) => MaybePromise<void>;

/**
 * Opens the store. Throws `StorageFailure` when another process has it open, or there is no store, or it cannot be read
 * at all.
 */
export function openVerification(store: StoreToVerify): Verification {
  if ("dataDir" in store) {
    const path = logFilePath(store.dataDir);
    if (!existsSync(path)) throw new StorageFailure(`${path} does not exist`);
    const file = new LogFile(path, { isExpected: true });
    return {
      form: packedForm,
      read: (visit, report) => read(file, store.dataDir, visit, report),
      close: () => file.abandon(),
    };
  }
  const { backupFile } = store;
  if (statSync(backupFile, { throwIfNoEntry: false })?.isFile() !== true) {
    throw new StorageFailure(`${backupFile} is no file`);
  }
  const file = new LogFile(backupFile, { isBackup: true });
  return {
    form: packedForm,
    read: (visit, report) => read(file, undefined, visit, report),
    close: () => file.close(),
  };
}

async function read(
  file: LogFile,
  dataDir: string | undefined,
  visit: Visit,
  report: (problem: StoreProblem) => void,
): Promise<VerifiedStore> {
  file.check();
  const head = dataDir === undefined ? undefined : readHead(dataDir);
  const survey = surveyLog(file, typeof head === "object" ? head.revision : 0);
  for (const problem of wholeProblems(survey, head)) report({ key: "", revision: 0, problem });
  let rows = 0;
  let keys = 0;
  for (const { row, isIntact } of file.rows()) {
    rows++;
    const { key, revision, deleted, value } = row;
    for (const problem of rowProblems(row, isIntact)) report({ key, revision, problem });
    if (deleted !== 0 || survey.replaced.has(revision)) continue;
    keys++;
    if (!isIntact) continue;
    await visit({ key, revision, value: unpack(Buffer.from(value)), expiresAt: row.expires });
  }
  const { revision } = survey;
  const isBackup = dataDir === undefined;
  const floor = isBackup ? revision + revisionStep : Math.max(revision, typeof head === "object" ? head.floor : 0);
  return { revision, floor, keys, rows };
}

function wholeProblems(survey: Survey, head: ReturnType<typeof readHead> | undefined): string[] {
  const problems: string[] = [];
  if (survey.gap !== undefined) problems.push(`revision ${survey.gap} is missing`);
  if (typeof head === "string")
    problems.push(`the head file is ${head}: whether the last writes are there is not known`);
  const missing = typeof head === "object" ? missingFrom(survey, head) : undefined;
  if (missing === "writes" && typeof head === "object") {
    problems.push(`writes after revision ${survey.revision} up to ${head.revision} are missing`);
  }
  if (missing === "rows") problems.push("current rows are missing, or others are there");
  return problems;
}

function rowProblems({ revision, previous, deleted, value }: LogRow, isIntact: boolean): string[] {
  const problems: string[] = [];
  if (!isIntact) problems.push("does not match its checksum");
  if (previous >= revision) problems.push(`says that it replaced the later revision ${previous}`);
  if (deleted !== 0 && value.length > 0) problems.push("is a deletion with a value");
  return problems;
}
