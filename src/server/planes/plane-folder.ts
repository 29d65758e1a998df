/**
 * The folders of planes, one for each in that of `--planes`, under the plane's name. A file in each says which object it
 * belongs to, so that no data is opened or removed for another object of the same name.
 */
import { readFileSync } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { StartError } from "#std/start-error.ts";
import { writePrivateFiles } from "../data-folder.ts";

/** The file that says which object a folder belongs to. */
const ownerName = "plane.json";
/** The beginning of the names of folders that are being removed, which is none of a plane's. */
const removedPrefix = ".removed-";

/** Makes the folder of all planes, and ends removals that an earlier process has begun. */
export async function openPlaneFolders(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder)) {
    if (name.startsWith(removedPrefix)) await rm(join(folder, name), { recursive: true, force: true });
  }
}

/** Makes the folder of a plane, or checks that it belongs to the object. Throws `StartError` when it does not. */
export async function claimFolder(folder: string, uid: string): Promise<void> {
  const owner = ownerOf(folder);
  if (owner === undefined && (await isUnused(folder))) {
    await writePrivateFiles(folder, [[ownerName, textOf(uid)]]);
  } else if (owner !== textOf(uid)) {
    throw new StartError(`the folder ${basename(folder)} is there and belongs to another plane: move it away`);
  }
}

/** Removes the folder of a plane, if it belongs to the object. */
export async function removeFolder(folder: string, uid: string): Promise<void> {
  if (ownerOf(folder) !== textOf(uid)) return;
  // The name is free before the first file is gone, and a crash leaves nothing that looks like a plane.
  const removed = join(dirname(folder), `${removedPrefix}${uid}`);
  await rename(folder, removed);
  await rm(removed, { recursive: true, force: true });
}

const textOf = (uid: string): string => `${JSON.stringify({ uid })}\n`;

function ownerOf(folder: string): string | undefined {
  try {
    return readFileSync(join(folder, ownerName), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Whether a folder is not there, or a crash has left it before it had an owner. */
async function isUnused(folder: string): Promise<boolean> {
  try {
    return (await readdir(folder)).every((name) => name === `${ownerName}.new`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return true;
    throw error;
  }
}
