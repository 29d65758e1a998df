/**
 * The thread that owns the log file. Writes come first: all writes that arrived during a transaction form the next one.
 * Between commits it answers questions in slices, so that none delays a write for more than a few milliseconds.
 * Questions that change or sum up the log (compaction, digest, backup) take turns. Compaction pauses between its steps
 * by the system clock, the only one in a thread.
 */
import { existsSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";

import { systemClock } from "#std/clock.ts";
import { syncPath } from "#std/folder.ts";

import { LostWrites, type Revision, StoreInUse } from "../log-store.ts";
import { digestSum } from "../digest.ts";
import type { Head, HeadFile } from "./head-file.ts";
import {
  damagedFile,
  explain,
  full,
  type LogChange,
  LogFile,
  logFilePath,
  type LogRow,
  sqliteCode,
} from "./log-file.ts";
import {
  type Answers,
  type FromWorker,
  Mailbox,
  type Question,
  readRows,
  RowWriter,
  type ToWorker,
  type WorkerStart,
} from "./messages.ts";
import { openLogFiles, type OpenLogFiles } from "./open-log.ts";
import { RevisionSet } from "./revision-set.ts";
import { fullMessage, giveUpReserve, keepReserve } from "./reserve.ts";
import { isDropped, sweep, withoutMoves } from "./sweep.ts";

/** Buffers that carry the store to the main thread at the start, and the number in transit. */
const loadBytes = 1024 * 1024;
const loadMarginBytes = 64 * 1024;
const loadsUnderWay = 3;
const transactionBytesMax = 8 * 1024 * 1024;
const sliceRows = 512;
const copyRows = 256;
/** After this time without work the thread visits its event loop, once. */
const idleMs = 1000;
/** So often room is looked for. */
const roomMs = 1000;
/** After a step of compaction the thread rests so many times as long, so that writes and the disk hardly feel it. */
const restFactor = 3;
/** How long it continues when no write arrives. */
const gentleMs = 2;
/** Bounds of one page of old events. */
const pageEvents = 200;
const pageBytes = 256 * 1024;
/** Rows that are looked at in one step for older versions of a key, and such steps for one answer. */
const pastRows = 4096;
const pastLooks = 64;
/** Unused pages given back in one step, and the size of a page. */
const vacuumPages = 256;
const pageSize = 4096;
/** So far behind the log the durable head file may be. */
const headSyncMs = 5000;

const port = parentPort!;
// Safe: `sqlite.ts` alone starts this worker.
const start = workerData as WorkerStart;
const { dataDir, faults } = start;

type Slices<T> = Generator<undefined, T>;

type Asked<K extends Question["kind"]> = Extract<Question, { kind: K }>;

interface Job {
  readonly id: number;
  readonly slices: Slices<Answers[keyof Answers]>;
  /** Whether the thread rests after every step of it. */
  readonly isGentle: boolean;
}

const mailbox = new Mailbox(start.mailbox);
let file: LogFile;
let headFile: HeadFile;
let head: Head;
let headSyncedAt = 0;
/** The number of tables when the log's size was last reported. */
let tables = 0;
/** The revision moved to at the start, until the log contains it. */
let movedTo: Revision | undefined;
/** Commits that arrived as messages, until the mailbox reaches their turn. */
const messages: Uint8Array[] = [];
/** Jobs that take turns step by step, and jobs that run one after the other. */
let jobs: Job[] = [];
let turns: Job[] = [];
/** Until when (of the clock) the first of `turns` rests. */
let restUntil = 0;
let isTurn = false;
let commitCount = 0;
let hasFailed = false;
/** Whether only deletions find room, and when to check again. */
let isFull = false;
let roomAt = 0;
let isClosed = false;

try {
  const { isExpected, acceptLoss } = start;
  const opened = openLogFiles({ dataDir, isExpected, acceptLoss, segmentRows: faults.segmentRows, boot: faults.boot });
  const { revision, survey, notice } = opened;
  ({ file, headFile, head } = opened);
  if (faults.pagesLeft !== undefined) file.limitPages(faults.pagesLeft);
  if (revision > survey.revision) movedTo = revision;
  const { forgotten, checkpoints } = file;
  tell({ kind: "opening", revision, compacted: movedTo ?? checkpoints.compacted, forgotten, notice });
  startLoading(load(survey));
} catch (error) {
  refuse(error);
}

/** Reports why the log cannot be opened. Closing the port ends the thread. */
function refuse(error: unknown): void {
  const failure = explain(error, logFilePath(dataDir));
  const why = failure instanceof LostWrites ? "loss" : failure instanceof StoreInUse ? "use" : undefined;
  tell({ kind: "refused", message: failure.message, why });
  port.close();
}

function tell(message: FromWorker, handOver: ArrayBuffer[] = []): void {
  port.postMessage(message, handOver);
}

/** Runs `loading`, each step of which sends something, a few steps ahead of the main thread. */
function startLoading(loading: Generator<undefined, void, ArrayBuffer | undefined>): void {
  let spare: ArrayBuffer | undefined;
  let isDone = false;
  const advance = (): void => {
    if (isDone) return;
    try {
      isDone = loading.next(spare).done === true;
      spare = undefined;
      if (!isDone) return;
      port.off("message", onLoaded);
      tables = file.segments.count;
      tell({ kind: "opened", logBytes: file.segments.bytes });
      if (!keepReserve(dataDir)) tellFull(0);
      setImmediate(run);
    } catch (error) {
      isDone = true;
      file.abandon();
      headFile.close();
      refuse(error);
    }
  };
  const onLoaded = (message: ToWorker): void => {
    if (message.kind === "loaded") spare = message.buffer;
    advance();
  };
  port.on("message", onLoaded);
  for (let i = 0; i < loadsUnderWay; i++) advance();
}

/** Sends all current entries to the main thread, and verifies the digest meanwhile. */
function* load({ keys, sum, replaced }: OpenLogFiles["survey"]): Generator<undefined, void, ArrayBuffer | undefined> {
  let loadedKeys = 0;
  let loadedSum = 0;
  let writer = new RowWriter(loadBytes);
  for (const row of file.live(replaced)) {
    loadedKeys++;
    loadedSum = digestSum(loadedSum + row.revision);
    writer.addRow(row);
    if (writer.length < loadBytes - loadMarginBytes) continue;
    const rows = writer.take();
    tell({ kind: "load", rows }, [rows.buffer]);
    const spare = yield;
    writer = new RowWriter(spare ?? loadBytes);
  }
  const rows = writer.take();
  tell({ kind: "load", rows }, [rows.buffer]);
  if (loadedKeys !== keys || loadedSum !== sum) {
    throw damagedFile(logFilePath(dataDir), undefined, "rows are missing");
  }
}

/**
 * Works until the store is closed. The thread sleeps in `Atomics.wait` and not in its event loop, which it visits only
 * after a while without work, for the engine's own tasks.
 */
function run(isIdle = false): void {
  while (!isClosed) {
    const { callCount } = mailbox;
    receive();
    if (commitAll()) isIdle = false;
    const waitMs = stepWaitMs();
    if (waitMs === 0) {
      runStep();
      isIdle = false;
    } else {
      mailbox.sleep(callCount, Math.min(waitMs, isIdle ? Number.POSITIVE_INFINITY : idleMs));
      if (mailbox.callCount !== callCount || waitMs <= idleMs || isIdle) continue;
      setImmediate(run, true);
      return;
    }
  }
}

function receive(): void {
  // Safe: only `sqlite.ts` writes to this port.
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
    const message = next.message as ToWorker;
    if (message.kind === "commit") messages.push(message.rows);
    else if (message.kind === "ask") take(message.id, message.question);
  }
}

/** Commits everything that waits, in transactions that are not too large. Whether there was anything. */
function commitAll(): boolean {
  let batch: Uint8Array[] = [];
  let bytes = 0;
  let count = 0;
  for (let next = mailbox.take(); next !== undefined; next = mailbox.take()) {
    // Safe: it was sent before the mailbox was told.
    const rows = next === "message" ? nextMessage() : next;
    if (batch.length > 0 && bytes + rows.length > transactionBytesMax) {
      commit(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(rows);
    bytes += rows.length;
    count++;
  }
  if (batch.length > 0) commit(batch);
  return count > 0;
}

function nextMessage(): Uint8Array {
  if (messages.length === 0) receive();
  return messages.shift()!;
}

function commit(batch: readonly Uint8Array[]): void {
  if (hasFailed) return;
  let parts = batch.map((bytes) => [...readRows(bytes)]);
  // Sent before its sender knew that those before it had found no room.
  const first = parts.findIndex(([row]) => row!.revision === head.floor + 1);
  const stale = first === -1 ? parts.length : first;
  if (stale > 0) tellFull(stale);
  parts = parts.slice(stale);
  if (parts.length === 0) return;
  const rows = parts.flat();
  commitCount++;
  try {
    if (faults.commitDelayMs !== undefined) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, faults.commitDelayMs);
    }
    write(rows);
  } catch (error) {
    if (sqliteCode(error) === full) {
      tellFull(parts.length);
      return;
    }
    hasFailed = true;
    tell({ kind: "failed", message: messageOf(error) });
    return;
  }
  tell(rows.at(-1)!.revision);
}

function write(rows: readonly LogRow[]): void {
  const isFaulty =
    commitCount === faults.failCommit || (faults.failWhile !== undefined && existsSync(faults.failWhile));
  const append = (): void => {
    if (movedTo !== undefined) file.setCheckpoint("compacted", movedTo);
    for (const row of rows) file.append(row);
    if (isFaulty) throw new Error("disk I/O error (injected)");
    if (isDiskFull() && rows.some((row) => row.deleted === 0)) {
      throw Object.assign(new Error("database or disk is full (injected)"), { errcode: full });
    }
  };
  // One row is a transaction by itself.
  const isOne = rows.length === 1 && movedTo === undefined && !isFaulty && faults.fullWhile === undefined;
  const attempt = (): void => (isOne ? file.append(rows[0]!) : file.transaction(append));
  const isForDeletion = isFull || rows.every((row) => row.deleted !== 0);
  const relieve = [() => giveUpReserve(dataDir), finishTurns];
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
  movedTo = undefined;
  moveHead(rows);
  if (file.segments.count > tables) tellSize();
}

/** Finishes the running compaction at once, and frees its space. */
function finishTurns(): void {
  try {
    file.giveBack();
    while (turns.length > 0) if (step(turns[0]!)) turns.shift();
    file.giveBack();
  } catch {
    // It has freed what it could.
  }
}

function isDiskFull(): boolean {
  return faults.fullWhile !== undefined && existsSync(faults.fullWhile);
}

function tellFull(commits: number): void {
  isFull = true;
  roomAt = systemClock.monotonic() + roomMs;
  tell({ kind: "full", commits, message: fullMessage(dataDir) });
}

/** Looks whether there is room again. */
function lookForRoom(): void {
  roomAt = systemClock.monotonic() + roomMs;
  try {
    file.giveBack();
    // All is in one file: no other is missed.
    markHead("open");
  } catch {
    // For want of room; the next look may find some.
  }
  if (isDiskFull() || !keepReserve(dataDir)) return;
  isFull = false;
  tell({ kind: "roomy" });
}

/** Updates the head file after a commit, before it is acknowledged. */
function moveHead(rows: readonly LogRow[]): void {
  let { keys, sum } = head;
  for (const { revision, previous, deleted } of rows) {
    if (deleted === 0) keys++;
    if (previous !== 0) keys--;
    sum = digestSum(sum + (deleted === 0 ? revision : 0) - previous);
  }
  const { revision } = rows.at(-1)!;
  const isFirst = head.state !== "used";
  head = { state: "used", boot: head.boot, revision, keys, sum, floor: Math.max(head.floor, revision) };
  headFile.write(head);
  const now = systemClock.monotonic();
  if (isFirst || now - headSyncedAt > headSyncMs) syncHead();
}

function markHead(state: Head["state"]): void {
  head = { ...head, state };
  headFile.write(head);
  headFile.sync();
}

/** Whenever a table is full: often enough, and rarely. */
function tellSize(): void {
  tables = file.segments.count;
  tell({ kind: "grown", logBytes: file.segments.bytes });
}

function syncHead(): void {
  headFile.sync();
  headSyncedAt = systemClock.monotonic();
}

/** The time until a job may continue, or room is checked: zero, infinite, or the pause of the only job. */
function stepWaitMs(): number {
  if (jobs.length > 0) return 0;
  const at = Math.min(
    turns.length === 0 ? Number.POSITIVE_INFINITY : restUntil,
    isFull ? roomAt : Number.POSITIVE_INFINITY,
  );
  return Math.max(0, Math.ceil(at - systemClock.monotonic()));
}

/** Runs a step of one job: alternately the first of `turns` and one of the others. */
function runStep(): void {
  const begin = systemClock.monotonic();
  if (isFull && begin >= roomAt) {
    lookForRoom();
    return;
  }
  isTurn = turns.length > 0 && begin >= restUntil && (jobs.length === 0 || !isTurn);
  const job = isTurn ? turns[0] : jobs.shift();
  if (job === undefined) return;
  if (!isTurn) {
    if (!step(job)) jobs.push(job);
    return;
  }
  const { callCount } = mailbox;
  let isDone = step(job);
  let usedMs = systemClock.monotonic() - begin;
  // Every rest makes the next step dearer.
  while (job.isGentle && !isDone && usedMs < gentleMs && mailbox.callCount === callCount) {
    isDone = step(job);
    usedMs = systemClock.monotonic() - begin;
  }
  if (isDone) turns.shift();
  if (job.isGentle) restUntil = isDone ? 0 : begin + usedMs * (1 + restFactor);
}

/** Whether the job is done, and has been answered. */
function step(job: Job): boolean {
  try {
    const result = job.slices.next();
    if (result.done !== true) return false;
    const answer = result.value;
    const rows = answer !== undefined && "rows" in answer ? answer.rows : undefined;
    tell({ kind: "answer", id: job.id, answer }, rows === undefined ? [] : [rows.buffer as ArrayBuffer]);
  } catch (error) {
    tell({ kind: "error", id: job.id, message: messageOf(error) });
  }
  return true;
}

const answering: { readonly [K in Question["kind"]]: (question: Asked<K>) => Slices<Answers[K]> } = {
  events,
  rollback,
  versions,
  past,
  time,
  revisionAt,
  compact,
  digest,
  backup,
  youngest,
  close,
};

/** These change or sum up the log. */
const takingTurns: ReadonlySet<Question["kind"]> = new Set(["compact", "digest", "backup"]);

function take(id: number, question: Question): void {
  const { kind } = question;
  // Safe: a question goes to the function of its kind.
  const slices = (answering[kind] as (question: Question) => Job["slices"])(question);
  (takingTurns.has(kind) ? turns : jobs).push({ id, slices, isGentle: kind === "compact" });
}

/** Calls `visit` for the rows in (after, upTo] in order, some of them a slice, until it returns false. */
function* eachChange(after: Revision, upTo: Revision, visit: (change: LogChange) => boolean): Slices<void> {
  for (let at = after; at < upTo; ) {
    const page = file.changes(at, upTo, sliceRows);
    for (const change of page) if (!visit(change)) return;
    const last = page.at(-1);
    if (last === undefined || page.length < sliceRows) return;
    at = last.revision;
    yield;
  }
}

function* events({ prefix, exact, after, upTo }: Asked<"events">): Slices<Answers["events"]> {
  const writer = new RowWriter(pageBytes);
  let count = 0;
  let reached = upTo;
  let isGone = false;
  yield* eachChange(after, upTo, ({ revision, key, previous }) => {
    if (exact ? key !== prefix : !key.startsWith(prefix)) return true;
    const row = file.row(revision);
    const replaced = previous === 0 ? undefined : file.row(previous);
    if (row === undefined || (previous !== 0 && replaced === undefined)) {
      isGone = true;
      return false;
    }
    writer.addRow(row);
    if (replaced !== undefined) writer.addRow(replaced);
    count++;
    if (count < pageEvents && writer.length < pageBytes) return true;
    reached = revision;
    return false;
  });
  return { rows: isGone ? undefined : writer.take(), reached };
}

function* rollback({ from, to, after, upTo }: Asked<"rollback">): Slices<Answers["rollback"]> {
  const first = new Map<string, Revision>();
  yield* eachChange(after, upTo, ({ key, previous }) => {
    if (key >= from && (to === undefined || key < to) && !first.has(key)) first.set(key, previous);
    return true;
  });
  return { keys: [...first.keys()], previous: [...first.values()] };
}

function* versions({ revisions }: Asked<"versions">): Slices<Answers["versions"]> {
  const writer = new RowWriter(64 * 1024);
  for (const [i, revision] of revisions.entries()) {
    const row = file.row(revision);
    if (row !== undefined) writer.addRow(row);
    if (i % sliceRows === sliceRows - 1) yield;
  }
  return { rows: writer.take() };
}

function* youngest({ bytes }: Asked<"youngest">): Slices<Answers["youngest"]> {
  yield;
  return { revision: file.segments.startOfLast(bytes) };
}

/**
 * A row names the one that it replaced, so that versions of a key are had one by one; only what was there before the key
 * was made is looked for, from row to row.
 */
function* past({ key, before, limit }: Asked<"past">): Slices<Answers["past"]> {
  const writer = new RowWriter(pageBytes);
  const times: number[] = [];
  let next = before;
  let looks = pastLooks;
  while (next > 0 && times.length < limit && writer.length < pageBytes && looks > 0) {
    const since = file.forgotten;
    // A row that stays although it is old is current, or one that a younger row names; or a deletion that is about to go.
    const named = file.row(next - 1);
    const isKept = named?.key === key && (named.deleted === 0 || named.revision > since);
    let row = isKept ? named : undefined;
    if (row === undefined) {
      const { found, reached } = file.youngestOf(key, since, next, pastRows);
      looks--;
      row = found === 0 ? undefined : file.row(found);
      if (row === undefined) next = reached;
    }
    if (row !== undefined) {
      writer.addRow(row);
      times.push(file.timeOf(row.revision) ?? 0);
      const isLast = row.revision <= since;
      next = isLast ? 0 : row.previous === 0 ? row.revision : row.previous + 1;
    }
    yield;
  }
  const since = file.forgotten;
  return { rows: writer.take(), times, next, since, sinceMs: file.timeUpTo(since) };
}

function* time({ revision, at }: Asked<"time">): Slices<undefined> {
  yield;
  if (!isFull && !hasFailed) file.unsynced(() => file.addTime(revision, at));
  return undefined;
}

function* revisionAt({ at }: Asked<"revisionAt">): Slices<Answers["revisionAt"]> {
  yield;
  return { revision: file.revisionAt(at) };
}

function* compact({ revision, keepSince, givesBack = false }: Asked<"compact">): Slices<Answers["compact"]> {
  // The head file can be compared with the log only as long as history goes back to there.
  syncHead();
  const { sweepRuns } = faults;
  const limits = isFull ? withoutMoves : sweepRuns === undefined ? undefined : { runs: sweepRuns, rows: sweepRuns };
  const before = file.size.total;
  const upTo = keepSince === undefined ? revision : Math.min(revision, file.revisionAt(keepSince));
  yield* sweep(file, revision, limits, upTo);
  tables = file.segments.count;
  if (givesBack) {
    while (file.vacuum(vacuumPages)) yield;
    file.giveBack();
  }
  const bytes = Math.max(0, before - file.size.total) * pageSize;
  return { bytes, logBytes: file.segments.bytes, forgotten: file.forgotten };
}

/**
 * Count and sum of the revisions current at `upTo`. Each row adds itself (unless a deletion) and takes away what
 * it replaced, unless that has been dropped.
 */
function* digest({ revision: upTo }: Asked<"digest">): Slices<Answers["digest"]> {
  const { checkpoints } = file;
  let keys = 0;
  let sum = 0;
  yield* eachChange(0, upTo, ({ revision, previous, deleted }) => {
    if (deleted === 0) {
      keys++;
      sum += revision;
    }
    if (previous !== 0 && !isDropped(checkpoints, revision, previous)) {
      keys--;
      sum -= previous;
    }
    sum = digestSum(sum);
    return true;
  });
  return { keys, sum };
}

/** Copies what is current now into a new file, which appears under its name when it is complete and durable. */
function* backup({ file: target }: Asked<"backup">): Slices<Answers["backup"]> {
  if (existsSync(target)) throw new Error(`${target} exists already`);
  const revision = Math.max(file.lastRevision, movedTo ?? 0);
  const replaced = new RevisionSet();
  yield* eachChange(file.checkpoints.swept, revision, ({ previous }) => {
    if (previous !== 0) replaced.add(previous);
    return true;
  });
  const partial = `${target}.partial`;
  const discard = (): void => {
    for (const rest of ["", "-wal", "-journal"]) rmSync(partial + rest, { force: true });
  };
  discard();
  let isFinished = false;
  try {
    yield* copyCurrent(partial, revision, replaced);
    renameSync(partial, target);
    syncPath(dirname(target));
    isFinished = true;
  } catch (error) {
    throw sqliteCode(error) === full ? new Error(`no space left on the disk of ${target}`, { cause: error }) : error;
  } finally {
    if (!isFinished) discard();
  }
  return { revision };
}

function* copyCurrent(path: string, revision: Revision, replaced: RevisionSet): Slices<void> {
  const copy = new LogFile(path, { scratch: true });
  try {
    for (let at = 0; at < revision; ) {
      const page = file.changes(at, revision, copyRows);
      copy.transaction(() => {
        for (const change of page) {
          if (change.deleted === 0 && !replaced.has(change.revision)) copy.append(file.row(change.revision)!);
        }
      });
      at = page.length < copyRows ? revision : page.at(-1)!.revision;
      yield;
    }
    copy.transaction(() => {
      copy.setCheckpoint("compacted", revision);
      copy.setCheckpoint("swept", revision);
    });
    copy.finish();
  } finally {
    copy.close();
  }
}

/** The last question: everything given before it is durable. */
function* close(): Slices<undefined> {
  yield;
  for (const job of [...jobs, ...turns]) job.slices.return(undefined);
  jobs = [];
  turns = [];
  // Durable and exact before what goes on in a second file is gone, and said to be closed only when it is.
  if (!hasFailed) markHead("open");
  file.close();
  if (!hasFailed && !existsSync(`${logFilePath(dataDir)}-wal`)) markHead("closed");
  headFile.close();
  port.close();
  isClosed = true;
  return undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
