/**
 * Disk space reserved for deletions: a file of a few megabytes beside the log, deleted when the disk is full, and
 * created again as soon as there is enough room. Its creation proves that there is room.
 */
import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

const reserveBytes = 4 * 1024 * 1024;
/** The room that must be left beside the reserve, or the next write would find the disk full again. */
const marginBytes = 1024 * 1024;
const pieceBytes = 256 * 1024;

const pathOf = (dataDir: string): string => join(dataDir, "store.reserve");

/** Makes the reserve unless it exists. Returns whether it exists. */
export function keepReserve(dataDir: string): boolean {
  const path = pathOf(dataDir);
  if (statSync(path, { throwIfNoEntry: false })?.size === reserveBytes) return true;
  const fresh = `${path}.new`;
  const piece = incompressible(pieceBytes);
  try {
    const file = openSync(fresh, "w", 0o600);
    try {
      for (let at = 0; at < reserveBytes + marginBytes; ) at += writeSync(file, piece, 0, pieceBytes, at);
      fsyncSync(file);
      ftruncateSync(file, reserveBytes);
    } finally {
      closeSync(file);
    }
    renameSync(fresh, path);
    return true;
  } catch {
    // There is no reserve, whatever the reason is.
    rmSync(fresh, { force: true });
    return false;
  }
}

/** Whether the disk has as much room as must be left beside a reserve, for a log without a reserve of its own. */
export function hasRoom(dataDir: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dataDir);
    return bavail * bsize >= marginBytes;
  } catch {
    return false;
  }
}

/**
 * Returns bytes that no file system can compress, unlike zeros. They need not be unpredictable: with the system's
 * random numbers, this thread would load all of `node:crypto`. Source: Marsaglia's xorshift.
 */
function incompressible(count: number): Uint8Array {
  const words = new Uint32Array(count / 4);
  let word = 1;
  for (let at = 0; at < words.length; at++) {
    word ^= word << 13;
    word ^= word >>> 17;
    word ^= word << 5;
    words[at] = word;
  }
  return new Uint8Array(words.buffer);
}

export function giveUpReserve(dataDir: string): void {
  rmSync(pathOf(dataDir), { force: true });
}

/** The error message of writes that found no room, for those who run the server. */
export function fullMessage(dataDir: string): string {
  return `no space left on the disk of data folder ${dataDir}${freeSpaceText(dataDir)}: only deletions are possible until there is more`;
}

/** The same for users of a store who may not know the machine. */
export const fullForOthersMessage = "no space left on the disk of the server: writes are refused until there is more";

function freeSpaceText(dataDir: string): string {
  try {
    const { bavail, blocks, bsize } = statfsSync(dataDir);
    const mebibytes = (count: number): number => Math.floor((count * bsize) / (1024 * 1024));
    return ` (${mebibytes(bavail)} of ${mebibytes(blocks)} MiB free)`;
  } catch {
    return "";
  }
}
