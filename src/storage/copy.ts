/**
 * Copies of whole stores between an etcd and data folders, of which nobody else uses one meanwhile: keys, values, uids,
 * times and owners stay as they are, and all versions that clients know are answered as gone.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "#std/folder.ts";

import type { CopyReport } from "./copy/cipher.ts";
import { checkWithoutStore, restoreBackup } from "./restore.ts";
import { writeBackup } from "./copy/write-backup.ts";

export type { ClearValue, CopyCipher, CopyProgress, CopyReport } from "./copy/cipher.ts";
export { type EtcdAddress, EtcdConnection, type EtcdLayout, EtcdKeyspace } from "./copy/etcd-keyspace.ts";
export { copyToEtcd } from "./copy/to-etcd.ts";
export { writeBackup } from "./copy/write-backup.ts";
export { verificationOf } from "./copy/verify-etcd.ts";

type ToFolderOptions = Omit<Parameters<typeof writeBackup>[0], "file"> & {
  /** A folder without a store. */
  readonly dataDir: string;
};

/** The name of the file that is written first, and not taken for a store. */
const partName = "store.copy";

/**
 * Makes the store of a data folder from an etcd that no server uses. Revisions go on far ahead. Rejects with a
 * `StorageFailure`, and leaves the folder without a store then.
 */
export async function copyToFolder(options: ToFolderOptions): Promise<CopyReport> {
  const { dataDir, source, progress } = options;
  checkWithoutStore(dataDir);
  await source.unused(() => progress("waiting", 0));
  const rollback = makeFolder(dataDir);
  const file = join(dataDir, partName);
  rmSync(file, { force: true });
  try {
    const report = await writeBackup({ ...options, file, mustBeLast: true });
    const { revision } = await restoreBackup({ backupFile: file, dataDir });
    rmSync(file);
    return { ...report, revision };
  } catch (error) {
    rmSync(file, { force: true });
    rollback();
    throw error;
  }
}
