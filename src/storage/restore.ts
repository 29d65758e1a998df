/**
 * Makes a data folder from a backup. The revision moves far ahead, and all earlier ones count as compacted. So no
 * revision of the lost store is reused, and watches and lists that know one start over.
 */
import { chmodSync, copyFileSync, constants, existsSync, renameSync, rmSync, statSync } from "node:fs";

import { makeFolder, syncPath } from "#std/folder.ts";
import { type Revision, StorageFailure } from "./log-store.ts";
import { type Head, headFilePath, makeHeadFile } from "./sqlite/head-file.ts";
import { damagedFile, LogFile, logFilePath } from "./sqlite/log-file.ts";
import { revisionStep as defaultRevisionStep } from "./sqlite/open-log.ts";
import { surveyLog } from "./sqlite/survey.ts";

interface RestoreOptions {
  /** A file that a backup wrote (`SqliteLog.backup`). It is only read. */
  readonly backupFile: string;
  /** The folder of the new store; it must not contain one. */
  readonly dataDir: string;
  /**
   * The step by which the revision moves; it must exceed the number of writes since the backup. Default 1,000,000,000.
   */
  readonly revisionStep?: number;
}

interface Restored {
  /** The revision of the new store, which is its compacted revision, too. */
  readonly revision: Revision;
  readonly keys: number;
}

/**
 * Makes the store, and checks every row. On an error it throws `StorageFailure` and leaves the folder without a store.
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  try {
    return restoreFile(options);
  } catch (error) {
    if (error instanceof StorageFailure) throw error;
    throw new StorageFailure(`${options.backupFile} cannot be restored: ${(error as Error).message}`, { cause: error });
  }
}

function restoreFile(options: RestoreOptions): Restored {
  const { backupFile, dataDir } = options;
  const target = logFilePath(dataDir);
  const status = statSync(backupFile, { throwIfNoEntry: false });
  if (status === undefined) throw new StorageFailure(`${backupFile} does not exist`);
  if (!status.isFile()) throw new StorageFailure(`${backupFile} is no file`);
  checkWithoutStore(dataDir);
  const partial = `${target}.partial`;
  const discard = (): void => {
    for (const rest of ["", "-wal", "-journal"]) rmSync(partial + rest, { force: true });
    rmSync(headFilePath(dataDir), { force: true });
  };
  const rollback = makeFolder(dataDir);
  discard();
  try {
    copyFileSync(backupFile, partial, constants.COPYFILE_FICLONE);
    chmodSync(partial, 0o600);
    const restored = moveForward(partial, options);
    syncPath(partial);
    makeHeadFile(dataDir, restored);
    renameSync(partial, target);
    syncPath(dataDir);
    return { revision: restored.revision, keys: restored.keys };
  } catch (error) {
    discard();
    rollback();
    throw error;
  }
}

/** Throws `StorageFailure` when a folder has a store already. */
export function checkWithoutStore(dataDir: string): void {
  const target = logFilePath(dataDir);
  for (const file of [target, `${target}-wal`, headFilePath(dataDir)]) {
    if (existsSync(file)) throw new StorageFailure(`${file} exists already: restore into an empty folder`);
  }
}

function moveForward(path: string, { backupFile, revisionStep = defaultRevisionStep }: RestoreOptions): Head {
  const file = new LogFile(path, { copyOf: backupFile });
  try {
    file.check();
    const survey = surveyLog(file, 0);
    let keys = 0;
    for (const _row of file.live(survey.replaced)) keys++;
    const { sum } = survey;
    if (keys !== survey.keys || survey.gap !== undefined) throw damagedFile(path, backupFile, "rows are missing");
    const revision = survey.revision + revisionStep;
    file.transaction(() => file.setCheckpoint("compacted", revision));
    file.finish();
    return { state: "closed", boot: "", revision, keys, sum, floor: revision };
  } catch (error) {
    file.close();
    throw error;
  }
}
