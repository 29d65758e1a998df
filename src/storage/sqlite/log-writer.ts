/**
 * Commits to the log: each batch is one transaction, followed by the record in the head file, and only then by its
 * acknowledgement. While there is no room on the disk, only deletions are accepted. Hot path: `commit`.
 *
 * Hot path: `commit`.
 */
import { existsSync } from "node:fs";

import { systemClock } from "#std/clock.ts";

import type { Revision } from "../log-store.ts";
import type { HeadFile } from "./head-file.ts";
import { type JobQueue, messageOf } from "./job-queue.ts";
import { full, type LogFile, type LogRow, sqliteCode } from "./log-file.ts";
import type { SendToMain, StorageFaults } from "./messages.ts";
import type { OpenLogFiles } from "./open-log.ts";
import { readRows } from "./packed-rows.ts";
import { fullForOthersMessage, fullMessage, giveUpReserve, hasRoom, keepReserve } from "./reserve.ts";

/** The time between two looks for room while the disk is full. */
const roomCheckMs = 1000;

interface LogWriterOptions {
  readonly dataDir: string;
  readonly opened: OpenLogFiles;
  /** The jobs of the thread; a compaction among them is finished at once when the disk is full. */
  readonly jobs: JobQueue;
  readonly send: SendToMain;
  /** Whether room is reserved for deletions on a full disk. */
  readonly hasReserve: boolean;
  readonly faults: StorageFaults;
}

export class LogWriter {
  readonly #dataDir: string;
  readonly #file: LogFile;
  readonly #headFile: HeadFile;
  readonly #jobs: JobQueue;
  readonly #send: SendToMain;
  readonly #hasReserve: boolean;
  readonly #faults: StorageFaults;
  /** The revision to which the log moved at the start, until the log contains it. */
  #movedTo: Revision | undefined;
  /** The number of tables when the log's size was last reported. */
  #reportedTables: number;
  #commitCount = 0;
  #hasFailed = false;
  /**
   * The time of the next look for room, in milliseconds of the monotonic clock; infinite while the disk is not full.
   */
  #roomCheckAt = Number.POSITIVE_INFINITY;

  constructor({ dataDir, opened, jobs, send, hasReserve, faults }: LogWriterOptions) {
    this.#dataDir = dataDir;
    this.#file = opened.file;
    this.#headFile = opened.headFile;
    this.#jobs = jobs;
    this.#send = send;
    this.#hasReserve = hasReserve;
    this.#faults = faults;
    this.#movedTo = movedRevision(opened);
    this.#reportedTables = this.#file.segments.count;
    if (!this.#keepsRoom()) this.#reportFull(0);
  }

  /** Whether a commit failed; no other one follows it. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** Whether the disk has room for deletions only. */
  get isFull(): boolean {
    return this.#roomCheckAt !== Number.POSITIVE_INFINITY;
  }

  /**
   * The time at which `lookForRoom` is due, in milliseconds of the monotonic clock; infinite while the disk is not
   * full.
   */
  get roomCheckAt(): number {
    return this.#roomCheckAt;
  }

  /** The last revision of the log; after a move at the start it is the new one, even if nothing was written since. */
  get lastRevision(): Revision {
    return Math.max(this.#file.lastRevision, this.#movedTo ?? 0);
  }

  /** Writes the packed commits of `batch` as one transaction, and acknowledges them. */
  commit(batch: readonly Uint8Array[]): void {
    if (this.#hasFailed) return;
    let commits = batch.map((bytes) => [...readRows(bytes)]);
    // The first commits were sent before the main thread knew that earlier ones had found no room.
    const next = this.#headFile.head.floor + 1;
    const first = commits.findIndex(([row]) => row!.revision === next);
    const stale = first === -1 ? commits.length : first;
    if (stale > 0) this.#reportFull(stale);
    commits = commits.slice(stale);
    if (commits.length === 0) return;
    const rows = commits.flat();
    this.#commitCount++;
    try {
      if (this.#faults.commitDelayMs !== undefined) {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, this.#faults.commitDelayMs);
      }
      this.#write(rows);
    } catch (error) {
      if (sqliteCode(error) === full) {
        this.#reportFull(commits.length);
        return;
      }
      this.#hasFailed = true;
      this.#send({ kind: "failed", message: messageOf(error) });
      return;
    }
    this.#send(rows.at(-1)!.revision);
  }

  /** Checks whether there is room again. */
  lookForRoom(): void {
    this.#roomCheckAt = systemClock.monotonic() + roomCheckMs;
    try {
      this.#file.giveBack();
      // The log is one complete file now, so nothing is missing if its write-ahead log is.
      this.#headFile.mark("open");
    } catch {
      // There is still no room; the next look may find some.
    }
    if (this.#isDiskFull() || !this.#keepsRoom()) return;
    this.#roomCheckAt = Number.POSITIVE_INFINITY;
    this.#send({ kind: "hasRoom" });
  }

  /** Notes that the size of the log was reported in another message: the result of a compaction. */
  noteSizeReported(): void {
    this.#reportedTables = this.#file.segments.count;
  }

  /** Closes the files, so that the next start finds one complete file, unless a commit failed. */
  close(walPath: string): void {
    // The head is durable and exact before the write-ahead log is gone, and says "closed" only afterwards.
    if (!this.#hasFailed) this.#headFile.mark("open");
    this.#file.close();
    if (!this.#hasFailed && !existsSync(walPath)) this.#headFile.mark("closed");
    this.#headFile.close();
  }

  /** Makes rows durable. When the disk is full it frees what it can, and tries again if the rows are deletions. */
  #write(rows: readonly LogRow[]): void {
    const faults = this.#faults;
    const isFaulty =
      this.#commitCount === faults.failCommit || (faults.failWhile !== undefined && existsSync(faults.failWhile));
    // One row is a transaction by itself.
    const isOne = rows.length === 1 && this.#movedTo === undefined && !isFaulty && faults.fullWhile === undefined;
    const attempt = (): void => {
      if (isOne) this.#file.append(rows[0]!);
      else this.#file.transaction(() => this.#appendAll(rows, isFaulty));
    };
    const isForDeletion = this.isFull || rows.every((row) => row.deleted !== 0);
    const relieve = [() => giveUpReserve(this.#dataDir), () => this.#finishCompaction()];
    for (let isDone = false; !isDone; ) {
      try {
        attempt();
        isDone = true;
      } catch (error) {
        const next = relieve.shift();
        if (sqliteCode(error) !== full || next === undefined) throw error;
        next();
        if (!isForDeletion) throw error;
      }
    }
    this.#movedTo = undefined;
    this.#headFile.advance(rows);
    // The size is reported whenever a table is full, which is often enough and still rare.
    const { segments } = this.#file;
    if (segments.count <= this.#reportedTables) return;
    this.#reportedTables = segments.count;
    this.#send({ kind: "grown", logBytes: segments.bytes });
  }

  #appendAll(rows: readonly LogRow[], isFaulty: boolean): void {
    if (this.#movedTo !== undefined) this.#file.setCheckpoint("compacted", this.#movedTo);
    for (const row of rows) this.#file.append(row);
    if (isFaulty) throw new Error("disk I/O error (injected)");
    if (this.#isDiskFull() && rows.some((row) => row.deleted === 0)) {
      throw Object.assign(new Error("database or disk is full (injected)"), { errcode: full });
    }
  }

  /** Finishes the running compaction at once, and frees its space. */
  #finishCompaction(): void {
    try {
      this.#file.giveBack();
      this.#jobs.finishExclusive();
      this.#file.giveBack();
    } catch {
      // The compaction has freed what it could.
    }
  }

  /** Whether there is room for writes, and for the reserve if there is to be one. */
  #keepsRoom(): boolean {
    return this.#hasReserve ? keepReserve(this.#dataDir) : hasRoom(this.#dataDir);
  }

  #isDiskFull(): boolean {
    return this.#faults.fullWhile !== undefined && existsSync(this.#faults.fullWhile);
  }

  #reportFull(commits: number): void {
    this.#roomCheckAt = systemClock.monotonic() + roomCheckMs;
    // A log without a reserve is one of many in a server, whose users are no administrators of it.
    const message = this.#hasReserve ? fullMessage(this.#dataDir) : fullForOthersMessage;
    this.#send({ kind: "full", commits, message });
  }
}

/** Returns the revision to which the log moves at its first write; `undefined` when it continues at its end. */
export function movedRevision({ revision, survey }: OpenLogFiles): Revision | undefined {
  return revision > survey.revision ? revision : undefined;
}
