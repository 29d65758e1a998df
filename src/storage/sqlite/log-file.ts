/**
 * The file of the log: an append-only sequence of versions in SQLite, opened by one process at a time. This file and
 * `segments.ts` are the only users of `node:sqlite`.
 *
 *     log: revision | key | previous | expires | deleted | checksum | value
 *          5          a     0          0         0         …          v1      put a
 *          7          a     5          0         0         …          v2      put a; `previous` is the row it replaced
 *          9          a     7          0         1         …          empty   delete a
 *     compact to 8: 7 replaced 5, so row 5 goes.  compact to 9: 9 replaced 7 and is a deletion, so 7 and 9 go.
 *     `previous` alone tells which rows may go, so no index over keys is needed and a write is only an append.
 *
 * Synchronous; called from the worker, and from `restore.ts`. No reading statement stays open between calls (except
 * `live`), since it would block the checkpoint of the write-ahead log.
 */
import { closeSync, existsSync, openSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { crc32 } from "node:zlib";

import { type Revision, StorageFailure, StoreInUse } from "../log-store.ts";
import type { RevisionSet } from "./revision-set.ts";
import { type PlannedRow, Segments, segmentTables } from "./segments.ts";

/** The number of the layout of the tables. A file with another number is refused. */
const layout = 6;
/** "BNCL": the application identifier that distinguishes our files from those of other programs. */
const applicationId = 0x424e434c;
const checkpointPages = 200;
/** 1 MiB of pages that stay free for later writes. */
const sparePages = 256;
/** The maximum time to wait for the locks of a process that was just killed. */
const busyTimeoutMs = 1000;

/** One row of the log. */
export interface LogRow {
  readonly revision: Revision;
  readonly key: string;
  /** The revision of the live version that this row replaced; 0 for none. */
  readonly previous: Revision;
  readonly expires: number;
  /** 1 for a deletion, whose value is its note in UTF-8, or empty; else 0. */
  readonly deleted: number;
  /** The value without its revision, packed (`packed-value.ts`). */
  readonly value: Uint8Array;
}

/** A row without its value. */
export type LogChange = Pick<LogRow, "revision" | "key" | "previous" | "deleted">;

/** The revisions of a row: `revision`, `previous`, `deleted`. */
type Replacement = readonly [revision: Revision, previous: Revision, deleted: number];

/** Numbers that are stored beside the log; 0 for absent ones. */
export interface LogCheckpoints {
  /** The oldest revision that can be read. */
  readonly compacted: Revision;
  /** The revision up to which the log is compacted: rows that were replaced, and deletions, up to it are gone. */
  readonly swept: Revision;
  /** The value that `swept` will have after the running compaction; its dead rows up to `dropped` are gone. */
  readonly sweeping: Revision;
  readonly dropped: Revision;
}

interface StoredRow extends LogRow {
  readonly checksum: number;
}

export function logFilePath(dataDir: string): string {
  return join(dataDir, "store.db");
}

/**
 * Has macOS write to the medium at a commit: there, `fsync` alone leaves the bytes in the cache of the drive, and a loss of
 * power loses what was acknowledged. SQLite ignores both on other systems.
 */
const wholeSync = "PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON;";

/** Returns the path of the file for the moment in which it is closed without being changed. */
export function setAsidePath(path: string): string {
  return `${path}.kept`;
}

interface LogFileOptions {
  /** Whether the file is durable only after `finish`. */
  readonly scratch?: boolean;
  /** Whether there was a store in the file: an empty one is then damaged. */
  readonly isExpected?: boolean;
  /** The number of rows in one table; only for tests. */
  readonly segmentRows?: number | undefined;
  /** The path of the backup that the file is a copy of: messages name the backup. */
  readonly copyOf?: string;
  /** Whether the file is a backup that is only read: nothing is locked, and no file appears beside it. */
  readonly isBackup?: boolean;
}

export class LogFile {
  readonly #path: string;
  readonly #copyOf: string | undefined;
  readonly #isBackup: boolean;
  readonly #hadWal: boolean;
  readonly #database: DatabaseSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #setCheckpoint: StatementSync;
  readonly #segments: Segments;
  #checkpoints: LogCheckpoints;

  /**
   * Opens the file, or makes it when it is absent, and locks it until `close` or the end of the process. Throws
   * `StorageFailure` when another process has locked it, or it is damaged, or of another layout.
   */
  constructor(path: string, options: LogFileOptions = {}) {
    const { scratch = false, isExpected = false, segmentRows, isBackup = false } = options;
    const copyOf = isBackup ? path : options.copyOf;
    this.#path = path;
    this.#copyOf = copyOf;
    this.#isBackup = isBackup;
    this.#hadWal = existsSync(`${path}-wal`);
    try {
      this.#database = isBackup ? openUnchanged(path) : openOwn(path);
    } catch (error) {
      throw explain(error, path, copyOf);
    }
    try {
      this.#prepareFile(path, isExpected, copyOf);
      if (scratch) this.#database.exec("PRAGMA synchronous = OFF");
      this.#begin = this.#database.prepare("BEGIN IMMEDIATE");
      this.#commit = this.#database.prepare("COMMIT");
      this.#setCheckpoint = this.#database.prepare("INSERT OR REPLACE INTO marks VALUES (?, ?)");
      this.#segments = new Segments(this.#database, segmentRows);
      this.#checkpoints = this.#readCheckpoints();
    } catch (error) {
      // A file that another process has locked must not be touched, and closing it cannot change it.
      if (sqliteCode(error) === busy) this.#database.close();
      else this.abandon();
      throw explain(error, path, copyOf);
    }
  }

  /** The revision of the youngest row, or of the compaction that removed it. */
  get lastRevision(): Revision {
    return Math.max(this.#segments.lastRevision, this.checkpoints.compacted);
  }

  get checkpoints(): LogCheckpoints {
    return this.#checkpoints;
  }

  /** Checks that the pages of the file fit together, and throws when they do not. */
  check(): void {
    const verdict = this.#database.prepare("PRAGMA quick_check(1)").get()?.["quick_check"];
    if (verdict !== "ok") throw this.#damaged(String(verdict));
  }

  /** Runs `work` in one transaction that is durable when this returns. An error rolls it back and is rethrown. */
  transaction(work: () => void): void {
    this.#begin.run();
    try {
      work();
      this.#commit.run();
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      try {
        this.#segments.reload();
        this.#checkpoints = this.#readCheckpoints();
      } catch {
        // The file cannot be read any more, as the error that is being thrown says.
      }
      throw error;
    }
  }

  /**
   * Runs a repeatable transaction without a sync: a power failure may undo it until the next synced one, but never
   * without all later ones.
   */
  withoutSync(work: () => void): void {
    this.#database.exec("PRAGMA synchronous = NORMAL");
    try {
      this.transaction(work);
    } finally {
      this.#database.exec("PRAGMA synchronous = FULL");
    }
  }

  /** Adds a row; outside of a transaction it is durable when this returns. */
  append(row: LogRow): void {
    const { revision, key, previous, expires, deleted, value } = row;
    if (this.#segments.isFull) {
      if (this.#database.isTransaction) this.#segments.open();
      else this.withoutSync(() => this.#segments.open());
    }
    this.#segments.append(revision, key, previous, expires, deleted, checksumOf(row), value);
  }

  /** Makes room for these rows, which are in order, in a log without rows. Only in a transaction. */
  prepareFor(rows: Iterable<PlannedRow>): void {
    this.#segments.prepareFor(rows);
  }

  /** Adds one of the rows that `prepareFor` has made room for. Only in a transaction. */
  insert(row: LogRow): void {
    const { revision, key, previous, expires, deleted, value } = row;
    this.#segments.insert(revision, key, previous, expires, deleted, checksumOf(row), value);
  }

  /** Notes that all rows of `prepareFor` are there. Only in a transaction. */
  insertedAll(): void {
    this.#segments.inserted();
  }

  setCheckpoint(name: keyof LogCheckpoints, revision: Revision): void {
    this.#checkpoints = { ...this.#checkpoints, [name]: revision };
    this.#setCheckpoint.run(name, revision);
    this.#setCheckpoint.run("checksum", checkpointSum(this.#checkpoints));
  }

  /** Returns the row written at `revision`. */
  row(revision: Revision): LogRow | undefined {
    const row = this.#segments.row(revision);
    return row === undefined ? undefined : this.#checkRow(row);
  }

  /**
   * Yields all current versions in the order of revisions: the rows that are not in `replaced`, which comes from a
   * survey. Checks all rows. The caller must not write meanwhile.
   */
  *live(replaced: RevisionSet): Generator<LogRow> {
    for (const columns of this.#segments.all()) {
      const row = this.#checkRow(columns);
      if (row.deleted === 0 && !replaced.has(row.revision)) yield row;
    }
  }

  /**
   * Yields all rows in the order of revisions, and whether each is as it was written. The caller must not write
   * meanwhile.
   */
  *rows(): Generator<{ readonly row: LogRow; readonly isIntact: boolean }> {
    for (const columns of this.#segments.all()) {
      // Safe: the columns are declared so, and tables are strict.
      const row = columns as unknown as StoredRow;
      yield { row, isIntact: row.checksum === checksumOf(row) };
    }
  }

  /** Returns the first `limit` rows in (after, upTo], without their values. */
  changes(after: Revision, upTo: Revision, limit: number): LogChange[] {
    // Safe: the columns are declared so, and tables are strict.
    return this.#segments.page("revision, key, previous, deleted", false, after, upTo, limit) as LogChange[];
  }

  /** Returns the revisions of the first `limit` rows in (after, upTo]. */
  replacements(after: Revision, upTo: Revision, limit: number): Replacement[] {
    // Safe: the columns are declared so, and tables are strict.
    return this.#segments.page("revision, previous, deleted", true, after, upTo, limit) as Replacement[];
  }

  /** See `Segments.youngestOf`. */
  youngestOf(key: string, after: Revision, before: Revision, limit: number): { revision: Revision; reached: Revision } {
    return this.#segments.youngestOf(key, after, before, limit);
  }

  /** The revision up to which versions that were replaced, and deletions, are gone, or are being dropped. */
  get forgotten(): Revision {
    return Math.max(this.#checkpoints.swept, this.#checkpoints.sweeping);
  }

  /** Notes that everything up to `revision` was written before `at`; an earlier note stays. */
  addTime(revision: Revision, at: number): void {
    this.#database.prepare("INSERT OR IGNORE INTO times VALUES (?, ?)").run(revision, at);
  }

  /** Returns the first noted time at which `revision` had been written; `undefined` when there is none. */
  timeOf(revision: Revision): number | undefined {
    return this.noteOf(revision)?.at;
  }

  /** Returns that time with the revision of its note, up to which all later revisions have the same time. */
  noteOf(revision: Revision): { readonly upTo: Revision; readonly at: number } | undefined {
    const row = this.#database
      .prepare("SELECT revision, at FROM times WHERE revision >= ? ORDER BY revision LIMIT 1")
      .get(revision);
    return row === undefined ? undefined : { upTo: Number(row["revision"]), at: Number(row["at"]) };
  }

  /** Returns the time of the last note about a revision up to `revision`; `undefined` when there is none. */
  timeUpTo(revision: Revision): number | undefined {
    return this.#queryTimes(
      "SELECT at AS found FROM times WHERE revision <= ? ORDER BY revision DESC LIMIT 1",
      revision,
    );
  }

  /** Returns the last revision known to have been written before `at`; 0 for none. */
  revisionAt(at: number): Revision {
    return this.#queryTimes("SELECT max(revision) AS found FROM times WHERE at <= ?", at) ?? 0;
  }

  /** Returns the first revision known to have been reached at `at` or later; `undefined` when there is none. */
  revisionFrom(at: number): Revision | undefined {
    return this.#queryTimes("SELECT min(revision) AS found FROM times WHERE at >= ?", at);
  }

  /** Drops times of revisions before the last one up to `revision`. */
  dropTimes(revision: Revision): void {
    this.#database
      .prepare("DELETE FROM times WHERE revision < (SELECT max(revision) FROM times WHERE revision <= ?)")
      .run(revision);
  }

  /** The tables that contain the rows, for `sweep`. They must be changed in `transaction` or `withoutSync` only. */
  get segments(): Segments {
    return this.#segments;
  }

  /** The numbers of pages of 4 KiB: used ones, and all. */
  get size(): { readonly used: number; readonly total: number } {
    const total = this.#pragma("page_count");
    return { used: total - this.#pragma("freelist_count"), total };
  }

  /**
   * Returns up to `pages` unused pages to the file system, but keeps as many as are used and a few more for later
   * writes. Returns whether there were too many.
   */
  shrink(pages: number): boolean {
    const { used, total } = this.size;
    const excess = total - 2 * used - sparePages;
    if (excess <= 0) return false;
    this.withoutSync(() => this.#database.exec(`PRAGMA incremental_vacuum(${Math.min(pages, excess)})`));
    return true;
  }

  /** Returns up to `pages` unused pages to the file system. Returns whether there are more. */
  vacuum(pages: number): boolean {
    this.withoutSync(() => this.#database.exec(`PRAGMA incremental_vacuum(${pages})`));
    const { used, total } = this.size;
    return total > used;
  }

  /** Returns unused pages, some thousands at most, and the write-ahead log to the file system. */
  giveBack(): void {
    this.withoutSync(() => this.#database.exec("PRAGMA incremental_vacuum(4096)"));
    this.#database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  /** Makes a scratch file durable as one file, and closes it. */
  finish(): void {
    this.#database.exec("PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE;");
    this.close();
  }

  /** Lets the file grow by at most this many pages from now on: a full disk for tests. */
  limitPages(more: number): void {
    this.#database.exec(`PRAGMA max_page_count = ${this.#pragma("page_count") + more}`);
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  /**
   * Closes the file without changing it. If the file were in its place, SQLite would write into it what it understood
   * of the write-ahead log, and remove that.
   */
  abandon(): void {
    if (this.#isBackup) this.close();
    if (!this.#database.isOpen) return;
    const asidePath = setAsidePath(this.#path);
    renameSync(this.#path, asidePath);
    try {
      this.#database.close();
    } finally {
      renameSync(asidePath, this.#path);
    }
    // Opening the file made an empty one.
    if (!this.#hadWal) rmSync(`${this.#path}-wal`, { force: true });
  }

  #queryTimes(sql: string, value: number): number | undefined {
    const result = this.#database.prepare(sql).get(value)?.["found"];
    return result === undefined || result === null ? undefined : Number(result);
  }

  #readCheckpoints(): LogCheckpoints {
    const rows = this.#database.prepare("SELECT name, value FROM marks").all();
    const mark = (name: string): number => Number(rows.find((row) => row["name"] === name)?.["value"] ?? 0);
    const checkpoints = {
      compacted: mark("compacted"),
      swept: mark("swept"),
      sweeping: mark("sweeping"),
      dropped: mark("dropped"),
    };
    if (mark("checksum") !== checkpointSum(checkpoints)) {
      throw this.#damaged("its checkpoints do not match their checksum");
    }
    return checkpoints;
  }

  #checkRow(columns: Record<string, SQLInputValue>): LogRow {
    // Safe: the columns are declared so, and tables are strict.
    const row = columns as unknown as StoredRow;
    if (row.checksum === checksumOf(row)) return row;
    throw this.#damaged(`revision ${row.revision} does not match its checksum`);
  }

  #damaged(how: string): StorageFailure {
    return damagedFile(this.#path, this.#copyOf, how);
  }

  #pragma(name: string): number {
    return Number(Object.values(this.#database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
  }

  #prepareFile(path: string, isExpected: boolean, copyOf: string | undefined): void {
    const database = this.#database;
    const shown = copyOf ?? path;
    database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY;");
    const applicationIdFound = this.#pragma("application_id");
    // A process killed while it made the file leaves a database without tables.
    const isNew = applicationIdFound === 0 && database.prepare("SELECT 1 FROM sqlite_schema").get() === undefined;
    if (isNew && isExpected) throw this.#damaged("its tables are gone");
    if (isNew && copyOf !== undefined) throw new StorageFailure(`${copyOf} is empty, and no backup`);
    if (!isNew && applicationIdFound !== applicationId)
      throw new StorageFailure(`${shown} is not a store of this program`);
    const version = this.#pragma("user_version");
    if (!isNew && version !== layout) {
      throw new StorageFailure(
        `${shown} has layout ${version}, and this program reads layout ${layout} only: use the version that wrote it`,
      );
    }
    if (this.#isBackup) return;
    // This must come before the first table is made, or it has no effect.
    if (isNew) database.exec("PRAGMA auto_vacuum = INCREMENTAL");
    database.exec(`PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      ${wholeSync}
      PRAGMA wal_autocheckpoint = ${checkpointPages};`);
    // The lock of the exclusive mode is kept until the file is closed. A file that exists is not written to.
    if (!isNew) {
      database.exec("BEGIN IMMEDIATE; ROLLBACK");
      return;
    }
    database.exec(`BEGIN IMMEDIATE;
      ${segmentTables}
      CREATE TABLE times (revision INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT;
      CREATE TABLE marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      INSERT INTO marks VALUES ('compacted', 0), ('swept', 0), ('checksum', ${checkpointSum(noCheckpoints)});
      PRAGMA application_id = ${applicationId};
      PRAGMA user_version = ${layout};
      COMMIT;`);
    // A file whose write-ahead log is lost has its tables at least.
    database.exec("PRAGMA wal_checkpoint");
  }
}

function openOwn(path: string): DatabaseSync {
  makePrivateFile(path);
  return new DatabaseSync(path, { timeout: busyTimeoutMs });
}

/** Opens a file of which SQLite is told that nobody changes it, so that it needs no locks and no companion files. */
function openUnchanged(path: string): DatabaseSync {
  const url = pathToFileURL(path);
  url.searchParams.set("immutable", "1");
  return new DatabaseSync(url, { readOnly: true });
}

/**
 * Creates an empty private file; SQLite gives its companion files the same mode. An existing file is not opened:
 * closing it would drop the locks that this process holds on it.
 */
function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

const noCheckpoints: LogCheckpoints = { compacted: 0, swept: 0, sweeping: 0, dropped: 0 };

function checkpointSum({ compacted, swept, sweeping, dropped }: LogCheckpoints): number {
  return crc32(`${compacted} ${swept} ${sweeping} ${dropped}`);
}

/** Returns the checksum of a row: of its value, and of the revision and the key to which the value belongs. */
function checksumOf(row: LogRow): number {
  return crc32(row.value, crc32(`${row.revision} ${row.previous} ${row.expires} ${row.deleted} ${row.key}`));
}

/** The error about a damaged file at `path`, or about the backup it is a copy of. */
export function damagedFile(path: string, copyOf: string | undefined, how?: string): StorageFailure {
  const why = how === undefined ? "" : ` (${how.replaceAll(/\s+/g, " ")})`;
  if (copyOf !== undefined) return new StorageFailure(`${copyOf} is damaged, or no backup${why}`);
  return new StorageFailure(`${path} is damaged${why}; restore a backup (it has not been changed)`);
}

/** SQLite's primary result codes; https://sqlite.org/rescode.html. */
const busy = 5;
export const full = 13;

/** Returns the code of an error of SQLite, or of its cause. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  return "errcode" in error ? Number(error.errcode) & 0xff : sqliteCode(error.cause);
}

/** Explains to people why the file at `path`, or the backup that it is a copy of, cannot be used. */
export function explain(error: unknown, path: string, copyOf?: string): Error {
  if (error instanceof StorageFailure) return error;
  const options = { cause: error };
  switch (sqliteCode(error)) {
    case busy:
      return new StoreInUse(`${path} is in use by another process`, options);
    case full:
      return new StorageFailure(`${path} cannot be opened: no space left on its disk`, options);
    case 11:
    case 26:
      return damagedFile(path, copyOf);
    default:
      return new StorageFailure(`${path} cannot be opened: ${(error as Error).message}`, options);
  }
}
