/**
 * The data folder: its API domain, and its private files. The store keeps its own files and its lock in it.
 *
 *     binnacle.json      format of the folder and API domain, fixed by the first start, and what the folder holds since
 *     admin.kubeconfig   for kubectl and other clients
 *     pki/               authority, serving and admin certificates, service account keys, admin token
 *     store.…            the store's: its log, what the log must hold, and room for deletions on a full disk
 */
import {
  chmodSync,
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeFolder } from "#std/folder.ts";
import { reasonOf } from "#std/system-error.ts";
import { StartError } from "#std/start-error.ts";

/** The format version of the folder, the only one that this program reads and writes. */
const formatVersion = 1;
const markerName = "binnacle.json";

/** Parts of a folder that are never replaced silently, since their content would be lost. */
export type Holding = "credentials" | "store";
const holdings: readonly Holding[] = ["credentials", "store"];

export interface Marker {
  readonly formatVersion: number;
  readonly apiDomain: string;
  /** The parts that the folder must have. */
  readonly holds: readonly Holding[];
}

/** Refuses a folder of another API domain or format, and writes nothing. Returns `undefined` for an unused folder. */
export function checkDataFolder(folder: string, apiDomain: string): Marker | undefined {
  const marker = readMarker(folder);
  if (marker === undefined) return undefined;
  if (marker.formatVersion !== formatVersion) {
    throw new StartError(
      `data folder ${folder} has format ${marker.formatVersion}, this program reads format ${formatVersion}`,
    );
  }
  if (marker.apiDomain !== apiDomain) {
    throw new StartError(
      `data folder ${folder} belongs to API domain ${marker.apiDomain}: start with --api-domain=${marker.apiDomain} or with another --data-dir`,
    );
  }
  return marker;
}

/** Returns the folder's marker; `undefined` before the first start. */
export function readMarker(folder: string): Marker | undefined {
  const file = join(folder, markerName);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new StartError(`cannot use data folder ${folder}: ${reasonOf(error)}`, { cause: error });
  }
  try {
    const { formatVersion: version, apiDomain, holds } = JSON.parse(text) as Partial<Record<string, unknown>>;
    if (typeof version === "number" && typeof apiDomain === "string") {
      const listed: readonly unknown[] = Array.isArray(holds) ? holds : [];
      return { formatVersion: version, apiDomain, holds: holdings.filter((part) => listed.includes(part)) };
    }
  } catch {
    // The error below covers every kind of damage.
  }
  throw new StartError(`${file} is damaged`);
}

/** Makes the folder if it does not exist. The returned function removes a folder that was made and is still empty. */
export function makeDataFolder(folder: string): () => void {
  try {
    return makeFolder(folder);
  } catch (error) {
    throw new StartError(`cannot make data folder ${folder}: ${reasonOf(error)}`, { cause: error });
  }
}

/** Marks the folder as belonging to the domain permanently, and as holding these parts from now on. */
export function markDataFolder(folder: string, apiDomain: string, holds: readonly Holding[]): void {
  writePrivate(folder, ...markerFile(apiDomain, holds));
}

/** Returns the path and the content of the file that marks a folder. */
export function markerFile(apiDomain: string, holds: readonly Holding[]): [path: string, content: string] {
  const marker: Marker = { formatVersion, apiDomain, holds };
  return [markerName, `${JSON.stringify(marker)}\n`];
}

/**
 * Writes a file below the folder atomically, readable by its owner only. A file with the same content is not written,
 * so that a full disk does not matter.
 */
export function writePrivate(folder: string, path: string, content: string): void {
  const file = join(folder, path);
  if (isPrivate(file, content)) return;
  try {
    makeFolder(dirname(file));
    const fresh = `${file}.new`;
    const handle = openSync(fresh, "w", 0o600);
    try {
      writeSync(handle, content);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    chmodSync(fresh, 0o600);
    renameSync(fresh, file);
  } catch (error) {
    rmSync(`${file}.new`, { force: true });
    throw new StartError(`cannot write ${file}: ${reasonOf(error)}`, { cause: error });
  }
}

/**
 * Writes new files below the folder as `writePrivate` does, all at a time and beside the event loop. Rejects with
 * `StartError`.
 */
export async function writePrivateFiles(folder: string, files: Iterable<readonly [path: string, content: string]>) {
  /** The making of each folder, which several files are in. */
  const folders = new Map<string, Promise<unknown>>();
  const write = async ([path, content]: readonly [string, string]): Promise<void> => {
    const file = join(folder, path);
    const own = dirname(file);
    const made = folders.get(own) ?? mkdir(own, { recursive: true, mode: 0o700 });
    folders.set(own, made);
    try {
      await made;
      await writeFile(`${file}.new`, content, { mode: 0o600, flush: true });
      await rename(`${file}.new`, file);
    } catch (error) {
      throw new StartError(`cannot write ${file}: ${reasonOf(error)}`, { cause: error });
    }
  };
  await Promise.all([...files].map(write));
}

function isPrivate(file: string, content: string): boolean {
  try {
    return (statSync(file).mode & 0o077) === 0 && readFileSync(file, "utf8") === content;
  } catch {
    return false;
  }
}
