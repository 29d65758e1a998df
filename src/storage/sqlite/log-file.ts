/**
 * The only user of `node:sqlite`: one file with an append-only log of versions, opened by one process at a time.
 *
 *     log: revision | key | previous | created | expires | deleted | checksum | value
 *          5          a     0          5         0         0         …          v1      put a
 *          7          a     5          5         0         0         …          v2      put a: `previous` is what it replaced
 *          9          a     7          5         0         1         …          v3      delete a; v3 is for the event
 *     compact to 8: 7 replaced 5, so row 5 goes.  compact to 9: 9 replaced 7 and is a deletion, so 7 and 9 go, in one
 *     transaction. `previous` alone says what may go: no index over keys is needed, and an append stays an append.
 *
 * Synchronous by nature; it is called from the worker, and from `restore.ts`. A reading statement is never left open
 * between calls (`live` apart), since it would hold up the checkpoint of the write-ahead log.
 */
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { crc32 } from "node:zlib";

import { type Revision, StorageFailure } from "../backend.ts";

/** Layout of the tables; a file with another number is refused. */
export const schemaVersion = 1;
/** "BNCL": tells our files from other people's. */
const applicationId = 0x424e434c;
const checkpointPages = 200;
const sparePages = 256;
/** How long to wait for a process that has just been killed to let go. */
const busyTimeoutMs = 1000;

/** One row of the log. */
export interface LogRow {
  readonly revision: Revision;
  readonly key: string;
  /** Revision of the live version that this row replaced, 0 for none. */
  readonly previous: Revision;
  readonly created: Revision;
  readonly expires: number;
  /** 1 for a deletion. */
  readonly deleted: number;
  readonly value: Uint8Array;
}

/** A row without its value. */
export type LogChange = Pick<LogRow, "revision" | "key" | "previous" | "deleted">;

/** Numbers beside the log. `compacted`: oldest revision that can be read; `swept`: rows up to it have been cleaned. */
export interface LogMarks {
  readonly compacted: Revision;
  readonly swept: Revision;
}

interface StoredRow extends LogRow {
  readonly checksum: number;
}

export function logFilePath(dataDir: string): string {
  return join(dataDir, "store.db");
}

export class LogFile {
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #one: StatementSync;
  readonly #changes: StatementSync;
  readonly #setMark: StatementSync;
  readonly #drop: StatementSync;

  /**
   * Opens the file, making it when absent, and holds it until `close` or the end of the process. Throws
   * `StorageFailure` when another process holds it, or it is damaged, or of another version. A `scratch` file is
   * durable only after `finish`.
   */
  constructor(path: string, scratch = false) {
    try {
      makePrivateFile(path);
      this.#database = new DatabaseSync(path, { timeout: busyTimeoutMs });
    } catch (error) {
      throw explain(error, path);
    }
    try {
      this.#prepareFile(path);
      if (scratch) this.#database.exec("PRAGMA synchronous = OFF");
      this.#insert = this.#database.prepare("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
      this.#one = this.#database.prepare("SELECT * FROM log WHERE revision = ?");
      this.#changes = this.#database.prepare(
        "SELECT revision, key, previous, deleted FROM log WHERE revision > ? AND revision <= ? ORDER BY revision LIMIT ?",
      );
      this.#setMark = this.#database.prepare("INSERT OR REPLACE INTO marks VALUES (?, ?)");
      this.#drop = this.#database.prepare("DELETE FROM log WHERE revision = ?");
    } catch (error) {
      this.#database.close();
      throw explain(error, path);
    }
  }

  /** Revision of the youngest row, or of the compaction that removed it. */
  get lastRevision(): Revision {
    const row = this.#database.prepare("SELECT max(revision) AS last FROM log").get();
    return Math.max(Number(row?.["last"] ?? 0), this.marks.compacted);
  }

  get marks(): LogMarks {
    const rows = this.#database.prepare("SELECT name, value FROM marks").all();
    const mark = (name: string): number => Number(rows.find((row) => row["name"] === name)?.["value"] ?? 0);
    return { compacted: mark("compacted"), swept: mark("swept") };
  }

  /** Runs `work` in one transaction that is durable when this returns. An error rolls back and is thrown on. */
  transaction(work: () => void): void {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      work();
      this.#database.exec("COMMIT");
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  append(row: LogRow): void {
    const { revision, key, previous, created, expires, deleted, value } = row;
    this.#insert.run(revision, key, previous, created, expires, deleted, checksumOf(row), value);
  }

  setMark(name: keyof LogMarks, revision: Revision): void {
    this.#setMark.run(name, revision);
  }

  drop(revision: Revision): void {
    this.#drop.run(revision);
  }

  /** The row written at `revision`. */
  row(revision: Revision): LogRow | undefined {
    const row = this.#one.get(revision);
    return row === undefined ? undefined : checked(row);
  }

  /** Every version that is current, in the order of revisions. The caller must not write in between. */
  *live(): Generator<LogRow> {
    // A row is current unless a later one replaced it. The list of replaced ones is built once.
    const rows = this.#database.prepare(
      "SELECT * FROM log WHERE deleted = 0 AND revision NOT IN (SELECT previous FROM log) ORDER BY revision",
    );
    for (const row of rows.iterate()) yield checked(row);
  }

  /** The first `limit` rows in (after, upTo], without their values. */
  changes(after: Revision, upTo: Revision, limit: number): LogChange[] {
    // Safe: the columns are declared so, and tables are strict.
    return this.#changes.all(after, upTo, limit) as unknown as LogChange[];
  }

  /** Gives up to `pages` unused pages back to the file system, but keeps a few for the next writes; whether to go on. */
  shrink(pages: number): boolean {
    const spare = Math.max(sparePages, this.#pragma("page_count") / 10);
    if (this.#pragma("freelist_count") <= spare) return false;
    this.#database.exec(`PRAGMA incremental_vacuum(${pages})`);
    return true;
  }

  /** Makes all of a scratch file durable, as one file with no other beside it, and closes it. */
  finish(): void {
    this.#database.exec("PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE;");
    this.close();
  }

  /** Refuses to grow beyond this many pages from now on: a full disk for tests. */
  limitPages(more: number): void {
    this.#database.exec(`PRAGMA max_page_count = ${this.#pragma("page_count") + more}`);
  }

  close(): void {
    this.#database.close();
  }

  #pragma(name: string): number {
    return Number(Object.values(this.#database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
  }

  #prepareFile(path: string): void {
    const database = this.#database;
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    const found = this.#pragma("application_id");
    // A process killed while it made the file leaves a database without tables.
    const isNew = found === 0 && database.prepare("SELECT 1 FROM sqlite_schema").get() === undefined;
    if (!isNew && found !== applicationId) throw new StorageFailure(`${path} is not a store of this program`);
    const version = this.#pragma("user_version");
    if (!isNew && version !== schemaVersion) {
      throw new StorageFailure(
        `${path} has layout ${version}, this program reads layout ${schemaVersion}: use the version that wrote it`,
      );
    }
    // Before the first table is made, or it has no effect.
    if (isNew) database.exec("PRAGMA auto_vacuum = INCREMENTAL");
    database.exec(`PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA wal_autocheckpoint = ${checkpointPages};
      PRAGMA temp_store = MEMORY;`);
    // In exclusive mode the lock is kept until the file is closed. A file that exists is not written to.
    if (!isNew) {
      database.exec("BEGIN IMMEDIATE; ROLLBACK");
      return;
    }
    database.exec(`BEGIN IMMEDIATE;
      CREATE TABLE log (
        revision INTEGER PRIMARY KEY, key TEXT NOT NULL, previous INTEGER NOT NULL, created INTEGER NOT NULL,
        expires INTEGER NOT NULL, deleted INTEGER NOT NULL, checksum INTEGER NOT NULL, value BLOB NOT NULL
      ) STRICT;
      CREATE TABLE marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      INSERT INTO marks VALUES ('compacted', 0), ('swept', 0);
      PRAGMA application_id = ${applicationId};
      PRAGMA user_version = ${schemaVersion};
      COMMIT;`);
  }
}

/**
 * Makes an empty file that only its owner may read; SQLite gives the files beside it the same mode. One that exists
 * is not even opened: closing it would drop the locks that this process holds on it.
 */
function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Covers what a reader would notice last: the bytes, and where they belong. */
function checksumOf(row: LogRow): number {
  return crc32(
    row.value,
    crc32(`${row.revision} ${row.previous} ${row.created} ${row.expires} ${row.deleted} ${row.key}`),
  );
}

function checked(columns: Record<string, SQLInputValue>): LogRow {
  // Safe: the columns are declared so, and tables are strict.
  const row = columns as unknown as StoredRow;
  if (row.checksum !== checksumOf(row)) {
    throw new StorageFailure(`the store is damaged: revision ${row.revision} does not match its checksum`);
  }
  return row;
}

/** Says in our words what SQLite said about a file. */
function explain(error: unknown, path: string): Error {
  if (error instanceof StorageFailure) return error;
  const code = error instanceof Error && "errcode" in error ? Number(error.errcode) & 0xff : 0;
  const options = { cause: error };
  switch (code) {
    case 5:
      return new StorageFailure(`${path} is in use by another process`, options);
    case 11:
    case 26:
      return new StorageFailure(`${path} is damaged; restore a backup (it has not been changed)`, options);
    default:
      return new StorageFailure(`${path} cannot be opened: ${(error as Error).message}`, options);
  }
}
