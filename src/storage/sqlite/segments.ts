/**
 * The tables of the log: a few thousand rows each, in the order of revisions. Emptying a whole table costs a tenth of
 * deleting its rows one by one.
 *
 *     log   1 …… 4096 | log_1   4097 …… 8192 | log_2   8193 ……          appended to; full, another is opened behind it
 *     live rows of log_1 move to the end of log, from the front, and the border between the tables with them:
 *     log   1 …… 5000 | log_1   5001 …… 8192 | log_2   8193 ……          rows of log_1 before its start no longer count
 *     log   1 …… 8192 | log_2   8193 ……                                 log_1 is emptied, and kept for later
 *
 * The list of the tables is a table itself. Used by `log-file.ts` only, which has the transactions.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";

import type { Revision } from "../log-store.ts";
import type { RevisionSet } from "./revision-set.ts";

/** The columns of every table of rows, in the order of `append`. */
const rowColumns = `(
  revision INTEGER PRIMARY KEY, key TEXT NOT NULL, previous INTEGER NOT NULL, expires INTEGER NOT NULL,
  deleted INTEGER NOT NULL, checksum INTEGER NOT NULL, value BLOB NOT NULL
) STRICT`;

/** Statements that make the list of tables, and the first table. */
export const segmentTables = `
  CREATE TABLE segments (
    id INTEGER PRIMARY KEY, start INTEGER NOT NULL, rows INTEGER NOT NULL, bytes INTEGER NOT NULL
  ) STRICT;
  INSERT INTO segments VALUES (0, 0, 0, 0);
  CREATE TABLE ${tableOf(0)} ${rowColumns};`;

/** The number of rows with which a table is full: emptying it takes milliseconds. */
const defaultRowsMax = 4096;
const bytesMax = 8 * 1024 * 1024;
/** A table that lost more than this part of its rows, or has less than this part of a full one, is emptied. */
const worthKeeping = 1 / 2;
const worthKeepingOfFull = 1 / 4;
/** The maximum number of bytes of rows that are moved at once. */
const moveBytesMax = 1024 * 1024;

/** One table, with the rows from `start` to the start of the next table. */
interface Segment {
  readonly id: number;
  readonly table: string;
  start: Revision;
  rows: number;
  /** The bytes of all its values; after moves this is an estimate. */
  bytes: number;
  /** Whether rows before `start` are still there. */
  hasRest: boolean;
}

/** A row that is not there yet: its revision, and the number of bytes of its value. */
export interface PlannedRow {
  readonly revision: Revision;
  readonly bytes: number;
}

/** One table as a sweep sees it. */
interface SegmentView {
  readonly first: Revision;
  /** The last revision of the table; infinite for the table to which rows are appended. */
  readonly last: Revision;
  readonly rows: number;
  readonly hasRest: boolean;
}

export class Segments {
  readonly #database: DatabaseSync;
  readonly #rowsMax: number;
  readonly #statements = new Map<string, StatementSync>();
  #statementsMax = statementsMax;
  /** The tables in the order of revisions. Rows are appended to the last one. */
  #list: Segment[] = [];
  /** Empty tables for later use. */
  #spare: number[] = [];
  #insert!: StatementSync;

  constructor(database: DatabaseSync, rowsMax = defaultRowsMax) {
    this.#database = database;
    this.#rowsMax = rowsMax;
    this.reload();
  }

  /** Reads the list again, after a transaction that was rolled back. */
  reload(): void {
    const database = this.#database;
    const rows = database.prepare("SELECT id, start, rows, bytes FROM segments ORDER BY start").all();
    this.#list = [];
    this.#spare = [];
    for (const row of rows) {
      const id = Number(row["id"]);
      const start = Number(row["start"]);
      if (start === spareStart) {
        this.#spare.push(id);
        continue;
      }
      const table = tableOf(id);
      const least = Number(database.prepare(`SELECT min(revision) AS least FROM ${table}`).get()?.["least"] ?? start);
      const counts = { rows: Number(row["rows"]), bytes: Number(row["bytes"]) };
      this.#list.push({ id, table, start, ...counts, hasRest: least < start });
    }
    const open = this.#list.at(-1)!;
    // The list does not have the counts of the table to which rows are appended.
    const counted = database
      .prepare(`SELECT count(*) AS rows, sum(length(value)) AS bytes FROM ${open.table} WHERE revision >= ?`)
      .get(open.start);
    open.rows = Number(counted?.["rows"]);
    open.bytes = Number(counted?.["bytes"] ?? 0);
    this.#insert = this.#prepareInsert();
  }

  get lastRevision(): Revision {
    for (const segment of this.#list.toReversed()) {
      const row = this.#database.prepare(`SELECT max(revision) AS last FROM ${segment.table}`).get();
      const last = Number(row?.["last"] ?? 0);
      if (last >= segment.start) return last;
    }
    return 0;
  }

  /** The approximate number of bytes of all values. */
  get bytes(): number {
    return this.#list.reduce((bytes, segment) => bytes + segment.bytes, 0);
  }

  /** The number of tables. */
  get count(): number {
    return this.#list.length;
  }

  /**
   * Returns the first revision of the youngest tables with `bytes` bytes of values; 0 if all tables together have no
   * more.
   */
  startOfLast(bytes: number): Revision {
    let sum = 0;
    for (const segment of this.#list.toReversed()) {
      sum += segment.bytes;
      if (sum > bytes) return segment.start;
    }
    return 0;
  }

  /** Whether `open` should be called before the next `append`. */
  get isFull(): boolean {
    const last = this.#list.at(-1)!;
    return last.rows >= this.#rowsMax || last.bytes >= bytesMax;
  }

  /** Opens another table for the rows that are appended from now on. Only in a transaction. */
  open(): void {
    const last = this.#list.at(-1)!;
    this.#save(last);
    this.#list.push(this.#newSegment(this.lastRevision + 1));
    this.#insert = this.#prepareInsert();
  }

  append(...columns: [Revision, string, Revision, number, number, number, Uint8Array]): void {
    this.#insert.run(...columns);
    const last = this.#list.at(-1)!;
    last.rows++;
    last.bytes += columns[6].length;
  }

  /**
   * Opens the tables for these rows, which are in order, in a log without rows; `insert` then takes the rows in any order.
   * Only in a transaction.
   */
  prepareFor(rows: Iterable<PlannedRow>): void {
    let count = 0;
    let sum = 0;
    for (const { revision, bytes } of rows) {
      if (count >= this.#rowsMax || sum >= bytesMax) {
        this.#list.push(this.#newSegment(revision));
        count = 0;
        sum = 0;
      }
      count++;
      sum += bytes;
    }
    this.#statementsMax += this.#list.length;
    this.#insert = this.#prepareInsert();
  }

  insert(...columns: [Revision, string, Revision, number, number, number, Uint8Array]): void {
    const segment = this.#list[this.#indexOf(columns[0])]!;
    this.#statement(`INSERT INTO ${segment.table} VALUES (?, ?, ?, ?, ?, ?, ?)`).run(...columns);
    segment.rows++;
    segment.bytes += columns[6].length;
  }

  /** Notes the sizes of the tables after the last `insert`. Only in a transaction. */
  inserted(): void {
    for (const segment of this.#list) this.#save(segment);
  }

  row(revision: Revision): ReturnType<StatementSync["get"]> {
    const segment = this.#list[this.#indexOf(revision)];
    if (segment === undefined) return undefined;
    return this.#statement(`SELECT * FROM ${segment.table} WHERE revision = ?`).get(revision);
  }

  /** Returns the first `limit` rows in (after, upTo] with these columns, as objects or arrays. */
  page(columns: string, asArrays: boolean, after: Revision, upTo: Revision, limit: number): unknown[] {
    let rows: unknown[] = [];
    for (let i = Math.max(0, this.#indexOf(after + 1)); i < this.#list.length && rows.length < limit; i++) {
      const { table, start } = this.#list[i]!;
      if (start > upTo) break;
      const select = this.#statement(
        `SELECT ${columns} FROM ${table} WHERE revision >= ? AND revision <= ? ORDER BY revision LIMIT ?`,
      );
      select.setReturnArrays(asArrays);
      const last = Math.min(upTo, this.#lastOf(i));
      const rowsOfTable = select.all(Math.max(after + 1, start), last, limit - rows.length) as unknown[];
      rows = rows.length === 0 ? rowsOfTable : rows.concat(rowsOfTable);
    }
    return rows;
  }

  /**
   * Finds the youngest row of a key in (after, before), or 0, among the `limit` youngest rows there; `reached` is the
   * oldest row that was searched, 0 when there are no more.
   */
  youngestOf(key: string, after: Revision, before: Revision, limit: number): { revision: Revision; reached: Revision } {
    let rowsLeft = limit;
    for (let i = this.#indexOf(before - 1); i >= 0 && this.#lastOf(i) > after; i--) {
      const { table, start } = this.#list[i]!;
      const select = this.#statement(
        `SELECT max(CASE WHEN key = ? THEN revision ELSE 0 END) AS found, min(revision) AS reached, count(*) AS rows FROM
           (SELECT revision, key FROM ${table} WHERE revision > ? AND revision < ? ORDER BY revision DESC LIMIT ?)`,
      );
      const row = select.get(key, Math.max(after, start - 1), Math.min(before, this.#lastOf(i) + 1), rowsLeft);
      const revision = Number(row?.["found"] ?? 0);
      rowsLeft -= Number(row?.["rows"] ?? 0);
      if (revision > 0 || rowsLeft === 0) return { revision, reached: Number(row?.["reached"] ?? 0) };
    }
    return { revision: 0, reached: 0 };
  }

  /** Yields all rows in order. Nothing may be written before the last one was read. */
  *all(): Generator<NonNullable<ReturnType<StatementSync["get"]>>> {
    for (const [i, { table, start }] of this.#list.entries()) {
      const select = this.#database.prepare(
        `SELECT * FROM ${table} WHERE revision >= ? AND revision <= ? ORDER BY revision`,
      );
      yield* select.iterate(start, this.#lastOf(i));
    }
  }

  /** Returns the table that has, or would have, this revision, or the first table after it. */
  at(revision: Revision): SegmentView {
    const index = Math.max(0, this.#indexOf(revision));
    const { start, rows, hasRest } = this.#list[index]!;
    return { first: start, last: this.#lastOf(index), rows, hasRest };
  }

  /** Whether so few rows would be left that it is better to move them, and to empty the table. */
  isWorthEmptying({ last, rows, hasRest }: SegmentView, dead: number): boolean {
    if (last === Number.POSITIVE_INFINITY) return false;
    return hasRest || rows - dead <= Math.max(rows * worthKeeping, this.#rowsMax * worthKeepingOfFull);
  }

  /** Drops the rows of these ranges, all in one table. Only in a transaction. */
  drop(ranges: readonly (readonly [from: Revision, to: Revision])[]): void {
    const segment = this.#list[this.#indexOf(ranges[0]![0])]!;
    const statement = this.#statement(`DELETE FROM ${segment.table} WHERE revision BETWEEN ? AND ?`);
    for (const [from, to] of ranges) this.#lose(segment, Number(statement.run(from, to).changes));
    this.#save(segment);
  }

  /**
   * Moves live rows of the table that starts with `first` to the end of the table before it, or of a new table between
   * the two. It moves rows from at most `limit` ranges of revisions, and at most `limit` rows, or fewer large ones. Returns the
   * revision reached, after which the table now starts; if that is the last one, the table has been emptied. Only in a
   * transaction.
   */
  move(first: Revision, dead: RevisionSet, limit: number): Revision {
    const index = this.#indexOf(first);
    const segment = this.#list[index]!;
    const last = this.#lastOf(index);
    const rowsMax = Math.max(
      1,
      Math.min(limit, Math.floor((moveBytesMax * segment.rows) / Math.max(1, segment.bytes))),
    );
    let reached = first - 1;
    let movedRows = 0;
    for (let ranges = 0; ranges < limit && movedRows < rowsMax && reached < last; ranges++) {
      const from = dead.nextAbsent(reached + 1);
      if (from > last) {
        reached = last;
        break;
      }
      const to = Math.min((dead.next(from) ?? last + 1) - 1, last);
      const copied = this.#copy(segment, from, to, rowsMax - movedRows);
      reached = copied.reached;
      movedRows += copied.rows;
    }
    if (reached === last) {
      this.#empty(segment);
    } else {
      segment.start = reached + 1;
      segment.hasRest = true;
      this.#save(segment);
    }
    return reached;
  }

  /** Copies up to `limit` rows in [first, last] to the table before; returns the last revision that was copied. */
  #copy(from: Segment, first: Revision, last: Revision, limit: number): { reached: Revision; rows: number } {
    const revisions = this.#statement(
      `SELECT revision FROM ${from.table} WHERE revision >= ? AND revision <= ? ORDER BY revision LIMIT ?`,
    ).all(first, last, limit);
    if (revisions.length === 0) return { reached: last, rows: 0 };
    // Safe: the column is declared so, and tables are strict.
    const reached = revisions.length < limit ? last : (revisions.at(-1)!["revision"] as Revision);
    const bytes = (from.bytes / Math.max(1, from.rows)) * revisions.length;
    let to = this.#list[this.#list.indexOf(from) - 1];
    if (to === undefined || to.rows + revisions.length > this.#rowsMax || to.bytes + bytes > bytesMax) {
      to = this.#newSegment(from.start);
      this.#list.splice(this.#list.indexOf(from), 0, to);
    }
    this.#statement(`INSERT INTO ${to.table} SELECT * FROM ${from.table} WHERE revision >= ? AND revision <= ?`).run(
      first,
      reached,
    );
    // No two tables may have the same start. Its size stays unchanged, since the size of its rows is estimated from it.
    from.start = reached + 1;
    to.rows += revisions.length;
    to.bytes += bytes;
    this.#save(to);
    return { reached, rows: revisions.length };
  }

  #lose(segment: Segment, rows: number): void {
    segment.bytes -= (segment.bytes / Math.max(1, segment.rows)) * rows;
    segment.rows -= rows;
  }

  #empty(segment: Segment): void {
    // A deletion without a condition does not read the rows.
    this.#statement(`DELETE FROM ${segment.table}`).run();
    this.#list.splice(this.#list.indexOf(segment), 1);
    this.#spare.push(segment.id);
    this.#saveRow(segment.id, spareStart, 0, 0);
  }

  #newSegment(start: Revision): Segment {
    let id = this.#spare.pop();
    if (id === undefined) {
      id = 1 + this.#list.reduce((highest, segment) => Math.max(highest, segment.id), 0);
      this.#database.exec(`CREATE TABLE ${tableOf(id)} ${rowColumns}`);
    }
    const segment: Segment = { id, table: tableOf(id), start, rows: 0, bytes: 0, hasRest: false };
    this.#save(segment);
    return segment;
  }

  #save({ id, start, rows, bytes }: Segment): void {
    this.#saveRow(id, start, rows, Math.round(bytes));
  }

  #saveRow(id: number, start: Revision, rows: number, bytes: number): void {
    this.#statement("INSERT OR REPLACE INTO segments VALUES (?, ?, ?, ?)").run(id, start, rows, bytes);
  }

  /** Returns the index of the last table that starts at or before `revision`; -1 if none does. */
  #indexOf(revision: Revision): number {
    let low = 0;
    for (let high = this.#list.length; low < high; ) {
      const middle = (low + high) >>> 1;
      if (this.#list[middle]!.start <= revision) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  #lastOf(index: number): Revision {
    const next = this.#list[index + 1];
    return next === undefined ? Number.POSITIVE_INFINITY : next.start - 1;
  }

  #prepareInsert(): StatementSync {
    return this.#database.prepare(`INSERT INTO ${this.#list.at(-1)!.table} VALUES (?, ?, ?, ?, ?, ?, ?)`);
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      if (this.#statements.size >= this.#statementsMax) this.#statements.clear();
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

const spareStart = -1;
const statementsMax = 100;

function tableOf(id: number): string {
  return id === 0 ? "log" : `log_${id}`;
}
