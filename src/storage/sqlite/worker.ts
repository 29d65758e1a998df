/**
 * The thread that owns the log file. Writes come first: whatever has arrived while a transaction ran is the next one.
 * Between commits it answers questions a slice at a time, so that no question holds up a write for more than a few
 * milliseconds. Questions that change or sum up the log (compaction, digest, backup) take turns.
 *
 * It imports nothing from other folders, so that it starts from source and from the package alike.
 */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";

import type { Revision } from "../backend.ts";
import { type LogChange, LogFile, logFilePath } from "./log-file.ts";
import {
  type Answers,
  type FromWorker,
  type Question,
  readRows,
  RowWriter,
  type ToWorker,
  type WorkerStart,
} from "./messages.ts";

/** Buffers that carry the store to the main thread at the start, and how many of them are on the way. */
const loadBytes = 1024 * 1024;
const loadMarginBytes = 64 * 1024;
const loadsUnderWay = 3;
const transactionBytesMax = 8 * 1024 * 1024;
const sliceRows = 512;
const compactionRows = 256;
const shrinkPages = 128;
/** Bounds of one page of old events. */
const pageEvents = 200;
const pageBytes = 256 * 1024;
const digestModulus = 2 ** 40;

const port = parentPort!;
// Safe: `sqlite.ts` alone starts this worker.
const { dataDir, faults } = workerData as WorkerStart;

type Slices<T> = Generator<undefined, T>;

interface Job {
  readonly id: number;
  readonly slices: Slices<Answers[keyof Answers]>;
  /** Whether it takes turns with its like. */
  readonly exclusive: boolean;
}

let file: LogFile;
let commits: Uint8Array[] = [];
let jobs: Job[] = [];
let commitCount = 0;
let hasFailed = false;
let isScheduled = false;

try {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const isNew = !existsSync(logFilePath(dataDir));
  file = new LogFile(logFilePath(dataDir));
  if (isNew) syncFolder(dataDir);
  const revision = file.lastRevision;
  tell({ kind: "opening", revision, compacted: file.marks.compacted });
  startLoading(load(revision));
} catch (error) {
  refuse(error);
}

/** Without its port the thread has nothing to wait for, and ends. */
function refuse(error: unknown): void {
  tell({ kind: "refused", message: messageOf(error) });
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
      if (faults.pagesLeft !== undefined) file.limitPages(faults.pagesLeft);
      port.off("message", onLoaded);
      port.on("message", receive);
      tell({ kind: "opened" });
    } catch (error) {
      isDone = true;
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

/** Sends everything current to the main thread, and checks on the way that the log adds up. */
function* load(revision: Revision): Generator<undefined, void, ArrayBuffer | undefined> {
  let keys = 0;
  let sum = 0;
  let writer = new RowWriter(loadBytes);
  for (const row of file.live()) {
    keys++;
    sum = (sum + row.revision) % digestModulus;
    writer.addRow(row);
    if (writer.length < loadBytes - loadMarginBytes) continue;
    const rows = writer.take();
    tell({ kind: "load", rows }, [rows.buffer]);
    const spare = yield;
    writer = new RowWriter(spare ?? loadBytes);
  }
  const rows = writer.take();
  tell({ kind: "load", rows }, [rows.buffer]);
  const expected = runToEnd(digest(revision));
  if (expected.keys !== keys || expected.sum !== sum) {
    throw new Error("the store is damaged: rows are missing from the log; restore a backup (it has not been changed)");
  }
}

function receive(first: ToWorker): void {
  for (let message: ToWorker | undefined = first; message !== undefined; ) {
    if (message.kind === "commit") commits.push(message.rows);
    else if (message.kind === "ask") jobs.push(jobOf(message.id, message.question));
    // Safe: only `sqlite.ts` writes to this port.
    message = receiveMessageOnPort(port)?.message as ToWorker | undefined;
  }
  commitAll();
  schedule();
}

function schedule(): void {
  if (isScheduled || jobs.length === 0) return;
  isScheduled = true;
  setImmediate(() => {
    isScheduled = false;
    runSlice();
    schedule();
  });
}

function commitAll(): void {
  while (commits.length > 0) {
    let bytes = 0;
    let count = 0;
    while (count < commits.length && (count === 0 || bytes + commits[count]!.length <= transactionBytesMax)) {
      bytes += commits[count++]!.length;
    }
    const batch = commits.slice(0, count);
    commits = commits.slice(count);
    if (!hasFailed) commit(batch);
  }
}

function commit(batch: readonly Uint8Array[]): void {
  let revision = 0;
  commitCount++;
  try {
    if (faults.commitDelayMs !== undefined) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, faults.commitDelayMs);
    }
    file.transaction(() => {
      for (const rows of batch) {
        for (const row of readRows(rows)) {
          file.append(row);
          revision = row.revision;
        }
      }
      if (commitCount === faults.failCommit) throw new Error("disk I/O error (injected)");
    });
  } catch (error) {
    hasFailed = true;
    tell({ kind: "failed", message: messageOf(error) });
    return;
  }
  const buffers = batch.map((rows) => rows.buffer as ArrayBuffer);
  tell({ kind: "committed", revision, buffers }, buffers);
}

/** Lets one job go one step. */
function runSlice(): void {
  // Only the first of the jobs that take turns may go.
  const index = jobs.findIndex((job, i) => !job.exclusive || jobs.findIndex((other) => other.exclusive) === i);
  const [job] = jobs.splice(index, 1);
  if (job === undefined) return;
  try {
    const step = job.slices.next();
    if (step.done !== true) {
      // To the end of the line, but before other jobs that wait for their turn.
      const behind = job.exclusive ? jobs.findIndex((other) => other.exclusive) : -1;
      jobs.splice(behind === -1 ? jobs.length : behind, 0, job);
      return;
    }
    const answer = step.value;
    const rows = answer !== undefined && "rows" in answer ? answer.rows : undefined;
    tell({ kind: "answer", id: job.id, answer }, rows === undefined ? [] : [rows.buffer as ArrayBuffer]);
  } catch (error) {
    tell({ kind: "error", id: job.id, message: messageOf(error) });
  }
}

function jobOf(id: number, question: Question): Job {
  switch (question.kind) {
    case "events":
      return { id, slices: events(question.prefix, question.exact, question.after, question.upTo), exclusive: false };
    case "undo":
      return { id, slices: undo(question.from, question.to, question.after, question.upTo), exclusive: false };
    case "versions":
      return { id, slices: versions(question.revisions), exclusive: false };
    case "compact":
      return { id, slices: compact(question.revision), exclusive: true };
    case "digest":
      return { id, slices: digest(question.revision), exclusive: true };
    case "backup":
      return { id, slices: backup(question.file), exclusive: true };
    case "close":
      return { id, slices: close(), exclusive: false };
  }
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

function* events(prefix: string, exact: boolean, after: Revision, upTo: Revision): Slices<Answers["events"]> {
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

function* undo(from: string, to: string | undefined, after: Revision, upTo: Revision): Slices<Answers["undo"]> {
  const first = new Map<string, Revision>();
  yield* eachChange(after, upTo, ({ key, previous }) => {
    if (key >= from && (to === undefined || key < to) && !first.has(key)) first.set(key, previous);
    return true;
  });
  return { keys: [...first.keys()], previous: [...first.values()] };
}

function* versions(revisions: readonly Revision[]): Slices<Answers["versions"]> {
  const writer = new RowWriter(64 * 1024);
  for (const [i, revision] of revisions.entries()) {
    const row = file.row(revision);
    if (row !== undefined) writer.addRow(row);
    if (i % sliceRows === sliceRows - 1) yield;
  }
  return { rows: writer.take() };
}

function* compact(revision: Revision): Slices<undefined> {
  const { compacted, swept } = file.marks;
  if (revision > compacted) file.transaction(() => file.setMark("compacted", revision));
  for (let at = swept; at < revision; ) {
    yield;
    const page = file.changes(at, revision, compactionRows);
    at = page.length < compactionRows ? revision : page.at(-1)!.revision;
    file.transaction(() => {
      for (const change of page) {
        if (change.previous !== 0) file.drop(change.previous);
        // Invariant: what a deletion hides goes no later than the deletion itself.
        if (change.deleted !== 0) file.drop(change.revision);
      }
      file.setMark("swept", at);
    });
  }
  do yield;
  while (file.shrink(shrinkPages));
  return undefined;
}

/**
 * Count and sum of the revisions current at `revision`. Each row adds itself (unless a deletion) and takes away what
 * it replaced; rows that were swept have lost what they replaced already.
 */
function* digest(revision: Revision): Slices<Answers["digest"]> {
  const { swept } = file.marks;
  let keys = 0;
  let sum = 0;
  yield* eachChange(0, revision, (change) => {
    if (change.deleted === 0) {
      keys++;
      sum += change.revision;
    }
    if (change.previous !== 0 && change.revision > swept) {
      keys--;
      sum -= change.previous;
    }
    sum = (sum + digestModulus) % digestModulus;
    return true;
  });
  return { keys, sum };
}

/** Copies what is current now into a new file, which appears under its name when it is complete and durable. */
function* backup(target: string): Slices<undefined> {
  if (existsSync(target)) throw new Error(`${target} exists already`);
  const revision = file.lastRevision;
  const replaced = new Set<Revision>();
  yield* eachChange(file.marks.swept, revision, ({ previous }) => {
    if (previous !== 0) replaced.add(previous);
    return true;
  });
  const partial = `${target}.partial`;
  rmSync(partial, { force: true });
  const copy = new LogFile(partial, true);
  let isFinished = false;
  try {
    for (let at = 0; at < revision; ) {
      const page = file.changes(at, revision, compactionRows);
      copy.transaction(() => {
        for (const change of page) {
          if (change.deleted === 0 && !replaced.has(change.revision)) copy.append(file.row(change.revision)!);
        }
      });
      at = page.length < compactionRows ? revision : page.at(-1)!.revision;
      yield;
    }
    copy.transaction(() => {
      copy.setMark("compacted", revision);
      copy.setMark("swept", revision);
    });
    copy.finish();
    isFinished = true;
    renameSync(partial, target);
    syncFolder(dirname(target));
  } finally {
    if (!isFinished) {
      copy.close();
      for (const rest of ["", "-wal", "-journal"]) rmSync(partial + rest, { force: true });
    }
  }
  return undefined;
}

/** The last question: everything given before it is durable. */
function* close(): Slices<undefined> {
  yield;
  for (const job of jobs) job.slices.return(undefined);
  jobs = [];
  file.close();
  port.close();
  return undefined;
}

function runToEnd<T>(slices: Slices<T>): T {
  for (;;) {
    const step = slices.next();
    if (step.done === true) return step.value;
  }
}

function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
