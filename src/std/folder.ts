/**
 * Creates folders, durably if requested. It does not use Node's `recursive` option, which loops for ever when folders
 * cannot be created, as in `/proc`.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, rmdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Creates a folder and its parents, private to their owner. The returned function removes the created ones that are
 * still empty. Throws the system's error.
 */
export function makeFolder(path: string): () => void {
  const created: string[] = [];
  const undo = (): void => {
    try {
      for (const folder of created.toReversed()) rmdirSync(folder);
    } catch {
      // The folder is no longer empty.
    }
  };
  try {
    make(path, created);
    return undo;
  } catch (error) {
    undo();
    throw error;
  }
}

function make(path: string, newFolders: string[]): void {
  const above = dirname(path);
  try {
    makeOne(path, newFolders);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || above === path) throw error;
    make(above, newFolders);
    makeOne(path, newFolders);
  }
}

function makeOne(path: string, newFolders: string[]): void {
  try {
    mkdirSync(path, { mode: 0o700 });
    newFolders.push(path);
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

/** Makes a file, or the names in a folder, durable. */
export function syncPath(path: string): void {
  const opened = openSync(path, "r");
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}
