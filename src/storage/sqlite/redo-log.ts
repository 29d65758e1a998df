/**
 * The redo log: a small file beside the log, in which the main thread makes a write durable by itself when one client
 * writes alone. What is in it goes to the worker later, many at a time, and then the file is written from the start
 * again. A store that was not closed finds here what its log has not got yet.
 *
 *     magic 4 | id 4 | zeros to 4096 | entry | entry | …     entry: length 4 | checksum 4 | row as `RowWriter` packs it
 *
 * Its size never changes, so that a sync writes the entry and nothing about the file; nor does the page with the id,
 * which so cannot be torn. Every entry is synced before the next one is written, and the first of a round only when
 * the log has all of the rounds before: a crash costs the last entry at most, which nobody was promised. Entries of an
 * earlier round are told by their revisions, which do not go on from the ones before them; those of another store by
 * the id, which also begins every checksum.
 */
import { closeSync, fdatasyncSync, fsyncSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";

import { type Revision, StorageFailure } from "../backend.ts";
import type { PendingWrite } from "../mvcc.ts";
import type { LogRow } from "./log-file.ts";
import { packedBytesMax, readRows, RowWriter } from "./messages.ts";

const redoBytes = 256 * 1024;
/** "BNRD". */
const magic = 0x424e5244;
const fileHeaderBytes = 4096;
const entryHeaderBytes = 8;

export function redoLogPath(dataDir: string): string {
  return join(dataDir, "store.redo");
}

/** Makes an empty redo log, durable but for its name in the folder. */
export function makeRedoLog(path: string, id: number): void {
  const file = openSync(path, "w", 0o600);
  try {
    const bytes = Buffer.alloc(redoBytes);
    bytes.writeUInt32LE(magic, 0);
    bytes.writeUInt32LE(id, 4);
    // All of it, or an error: `writeSync` on a full disk may write less.
    writeFileSync(file, bytes);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** The rows after `after`, all in a row. Throws `StorageFailure` when the file is not the one of this store. */
export function readRedoLog(path: string, id: number, after: Revision): readonly LogRow[] {
  const bytes = readWhole(path);
  if (bytes.length < fileHeaderBytes || bytes.readUInt32LE(0) !== magic || bytes.readUInt32LE(4) !== id) {
    throw new StorageFailure(`${path} does not belong to the store beside it; restore a backup`);
  }
  const rows: LogRow[] = [];
  let last: Revision | undefined;
  for (const row of entries(bytes, id)) {
    if (last !== undefined && row.revision !== last + 1) break;
    last = row.revision;
    if (row.revision > after) rows.push(row);
  }
  const [first] = rows;
  if (first !== undefined && first.revision !== after + 1) {
    throw new StorageFailure(`the store is damaged: revision ${after + 1} is neither in its log nor in ${path}`);
  }
  return rows;
}

function readWhole(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    throw new StorageFailure(
      isMissing
        ? `${path} is missing, with the last writes of a store that was not closed; put it back or restore a backup`
        : `${path} cannot be read: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

function* entries(bytes: Buffer, id: number): Generator<LogRow> {
  for (let at = fileHeaderBytes; at + entryHeaderBytes <= bytes.length; ) {
    const start = at + entryHeaderBytes;
    const length = bytes.readUInt32LE(at);
    if (length === 0 || length > bytes.length - start) return;
    const packed = bytes.subarray(start, start + length);
    if (bytes.readUInt32LE(at + 4) !== crc32(packed, id)) return;
    yield* readRows(packed);
    at = start + length;
  }
}

/** The main thread's side: writes to the file that `makeRedoLog` made. */
export class RedoLog {
  readonly #file: number;
  readonly #id: number;
  readonly #bytes = Buffer.alloc(redoBytes);
  #at = fileHeaderBytes;

  constructor(path: string, id: number) {
    this.#file = openSync(path, "r+");
    this.#id = id;
  }

  /** Whether `write`, now durable, had room behind those before it. Throws when it cannot be written or synced. */
  append(write: PendingWrite): boolean {
    const start = this.#at + entryHeaderBytes;
    const { key, value } = write.version;
    if (start + packedBytesMax(key, value) > redoBytes) return false;
    const bytes = this.#bytes;
    const writer = new RowWriter(bytes.subarray(start));
    writer.addWrite(write);
    const end = start + writer.length;
    bytes.writeUInt32LE(writer.length, this.#at);
    bytes.writeUInt32LE(crc32(bytes.subarray(start, end), this.#id), this.#at + 4);
    for (let at = this.#at; at < end; ) at += writeSync(this.#file, bytes, at, end - at, at);
    fdatasyncSync(this.#file);
    this.#at = end;
    return true;
  }

  /** The next row begins the file again: all before it are durable in the log. */
  restart(): void {
    this.#at = fileHeaderBytes;
  }

  close(): void {
    closeSync(this.#file);
  }
}
