/**
 * The thread that owns the log file. Writes come first: all writes that arrived during a transaction form the next one
 * (`log-writer.ts`). Between commits it works on requests in short steps (`job-queue.ts`). It tells the time by the system
 * clock, the only one in a thread.
 */
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";

import { systemClock } from "#std/clock.ts";

import { LostWrites, StoreInUse } from "../log-store.ts";
import { backUp } from "./backup.ts";
import type { HeadFile } from "./head-file.ts";
import { JobQueue, type JobSteps } from "./job-queue.ts";
import { explain, type LogFile, logFilePath } from "./log-file.ts";
import { readHistory, readRollback, readRows, readVersions, sumUp } from "./log-queries.ts";
import { LogWriter, movedRevision } from "./log-writer.ts";
import { sendCurrentRows } from "./load-rows.ts";
import {
  type LogRequest,
  type LogRequestOf,
  type LogResult,
  type LogResults,
  type LogFolder,
  Mailbox,
  type SendToMain,
  type SharedLogStart,
  type ToWorker,
  type WorkerStart,
} from "./messages.ts";
import { openLogFiles, type OpenLogFiles } from "./open-log.ts";
import { sweep, withoutMoves } from "./sweep.ts";

const transactionBytesMax = 8 * 1024 * 1024;
/** The time without work after which the thread visits its event loop, once. */
const idleMs = 1000;
/** The number of unused pages that one step returns, and the size of a page. */
const vacuumPages = 256;
const pageBytes = 4096;

/** The handlers of requests, by their kind; each returns the steps that answer the request. */
type Handlers = { readonly [K in LogRequest["kind"]]: (request: LogRequestOf<K>) => JobSteps<LogResults[K]> };

/** The kinds of requests that change or sum up the log. */
const exclusiveKinds: ReadonlySet<LogRequest["kind"]> = new Set(["compact", "digest", "backup"]);

/** Opens the log, sends all current entries to the main thread, and works until the store is closed. The thread has no other work. */
export async function openLogThread(port: MessagePort, start: WorkerStart): Promise<void> {
  const mailbox = new Mailbox(start.mailbox);
  (await open(port, start, mailbox))?.workAlone(mailbox);
}

/** Does the same in a thread that has other logs, too: it works when a message comes, and one transaction at a time. */
export async function openSharedLog({ port, start }: SharedLogStart): Promise<void> {
  const calls = new MessageCommits();
  (await open(port, start, calls))?.workOnCall(calls);
}

/** The commits that wait for a thread. */
interface Commits {
  /** The number of calls for the thread, which changes when something waits for it. */
  readonly callCount: number;
  /** Takes the next commit, or `"message"` when it was sent as one. `undefined`: there is none. */
  take(): Uint8Array | "message" | undefined;
}

/** The commits of a log whose commits are all messages. */
class MessageCommits implements Commits {
  callCount = 0;
  readonly waiting: Uint8Array[] = [];

  take(): Uint8Array | undefined {
    return this.waiting.shift();
  }
}

/** Returns the thread of an opened log; `undefined` for one that was refused, which the main thread knows. */
async function open(port: MessagePort, start: Required<LogFolder>, commits: Commits): Promise<LogThread | undefined> {
  const send: SendToMain = (message, transfer = []) => port.postMessage(message, transfer);
  const path = logFilePath(start.dataDir);
  const { pagesLeft } = start.faults;
  let opened: OpenLogFiles | undefined;
  try {
    opened = openLogFiles(start);
    const { file, revision, notice } = opened;
    if (pagesLeft !== undefined) file.limitPages(pagesLeft);
    const compacted = movedRevision(opened) ?? file.checkpoints.compacted;
    send({ kind: "opening", revision, compacted, forgotten: file.forgotten, notice });
    await sendCurrentRows(port, send, path, opened);
  } catch (error) {
    opened?.file.abandon();
    opened?.headFile.close();
    const failure = explain(error, path);
    const why = failure instanceof LostWrites ? "loss" : failure instanceof StoreInUse ? "use" : undefined;
    send({ kind: "refused", message: failure.message, why });
    // Closing the port ends the thread.
    port.close();
    return undefined;
  }
  send({ kind: "opened", logBytes: opened.file.segments.bytes });
  return new LogThread(port, start, { opened, send, commits });
}

interface LogParts {
  readonly opened: OpenLogFiles;
  readonly send: SendToMain;
  readonly commits: Commits;
}

class LogThread {
  readonly #port: MessagePort;
  readonly #start: Required<LogFolder>;
  readonly #commits: Commits;
  readonly #file: LogFile;
  readonly #headFile: HeadFile;
  readonly #jobs: JobQueue;
  readonly #writer: LogWriter;
  readonly #handlers: Handlers;
  /** Commits that arrived as messages, until the mailbox reaches their slots. */
  readonly #largeCommits: Uint8Array[] = [];
  #isClosed = false;

  constructor(port: MessagePort, start: Required<LogFolder>, { opened, send, commits }: LogParts) {
    const { dataDir, faults, hasReserve } = start;
    const { file, headFile } = opened;
    this.#port = port;
    this.#start = start;
    this.#commits = commits;
    this.#file = file;
    this.#headFile = headFile;
    this.#jobs = new JobQueue(commits, send);
    this.#writer = new LogWriter({ dataDir, opened, jobs: this.#jobs, send, hasReserve, faults });
    this.#handlers = {
      history: (request) => readHistory(file, request),
      rollback: (request) => readRollback(file, request),
      rows: (request) => readRows(file, request),
      versions: (request) => readVersions(file, request),
      digest: (request) => sumUp(file, request),
      backup: (request) => backUp(file, this.#writer.lastRevision, request.file),
      compact: (request) => this.#compact(request),
      noteTime: (request) => atOnce(() => this.#noteTime(request)),
      revisionAt: ({ at }) => atOnce(() => ({ revision: file.revisionAt(at), following: file.revisionFrom(at) })),
      startOfYoungest: ({ bytes }) => atOnce(() => ({ revision: file.segments.startOfLast(bytes) })),
      close: () => atOnce(() => this.#close()),
    };
  }

  /** Begins to work in the next turn of the event loop. */
  workAlone(mailbox: Mailbox): void {
    setImmediate(() => this.#run(mailbox, false));
  }

  /** Works in turns of the event loop, after messages and when a job or a look for room is due. Other logs have turns between. */
  workOnCall(calls: MessageCommits): void {
    let scheduled: NodeJS.Immediate | undefined;
    let cancel: (() => void) | undefined;
    const schedule = (): void => {
      scheduled ??= setImmediate(turn);
    };
    const turn = (): void => {
      scheduled = undefined;
      cancel?.();
      if (this.#isClosed) return;
      this.#commitAll();
      if (this.#stepWaitMs() === 0) this.#runStep();
      if (this.#isClosed) return;
      const waitMs = this.#stepWaitMs();
      if (waitMs === 0) schedule();
      else if (Number.isFinite(waitMs)) cancel = systemClock.after(waitMs, schedule);
    };
    this.#port.on("message", (message: ToWorker) => {
      calls.callCount++;
      if (message.kind === "commit") calls.waiting.push(message.rows);
      else if (message.kind === "request") this.#addJob(message.id, message.request);
      schedule();
    });
  }

  /**
   * Works until the store is closed. The thread sleeps in `Atomics.wait` and not in its event loop, which it visits
   * only after a while without work, for the engine's own tasks. `isIdle`: it has just visited it.
   */
  #run(mailbox: Mailbox, isIdle: boolean): void {
    while (!this.#isClosed) {
      const { callCount } = mailbox;
      this.#receive();
      if (this.#commitAll()) isIdle = false;
      const waitMs = this.#stepWaitMs();
      if (waitMs === 0) {
        this.#runStep();
        isIdle = false;
      } else {
        mailbox.sleep(callCount, Math.min(waitMs, isIdle ? Number.POSITIVE_INFINITY : idleMs));
        if (mailbox.callCount !== callCount || waitMs <= idleMs || isIdle) continue;
        setImmediate(() => this.#run(mailbox, true));
        return;
      }
    }
  }

  #receive(): void {
    for (let next = receiveMessageOnPort(this.#port); next !== undefined; next = receiveMessageOnPort(this.#port)) {
      // Safe: only `worker-client.ts` sends to this port.
      const message = next.message as ToWorker;
      if (message.kind === "commit") this.#largeCommits.push(message.rows);
      else if (message.kind === "request") this.#addJob(message.id, message.request);
    }
  }

  #addJob(id: number, request: LogRequest): void {
    const { kind } = request;
    // Safe: a request goes to the handler of its kind.
    const steps = (this.#handlers[kind] as (request: LogRequest) => JobSteps<LogResult>)(request);
    this.#jobs.add({ id, steps, isExclusive: exclusiveKinds.has(kind), isGentle: kind === "compact" });
  }

  /** Commits all waiting writes, in transactions that are not too large. Returns whether there were any. */
  #commitAll(): boolean {
    let batch: Uint8Array[] = [];
    let bytes = 0;
    let count = 0;
    for (let next = this.#commits.take(); next !== undefined; next = this.#commits.take()) {
      const rows = next === "message" ? this.#nextLargeCommit() : next;
      if (batch.length > 0 && bytes + rows.length > transactionBytesMax) {
        this.#writer.commit(batch);
        batch = [];
        bytes = 0;
      }
      batch.push(rows);
      bytes += rows.length;
      count++;
    }
    if (batch.length > 0) this.#writer.commit(batch);
    return count > 0;
  }

  #nextLargeCommit(): Uint8Array {
    if (this.#largeCommits.length === 0) this.#receive();
    // Safe: the message was sent before the mailbox announced it.
    return this.#largeCommits.shift()!;
  }

  /**
   * Returns the time until a step may run, or until the next look for room: 0 for at once, infinite when there is
   * nothing to do.
   */
  #stepWaitMs(): number {
    const at = Math.min(this.#jobs.nextStepAt, this.#writer.roomCheckAt);
    return at === 0 ? 0 : Math.max(0, Math.ceil(at - systemClock.monotonic()));
  }

  #runStep(): void {
    const now = systemClock.monotonic();
    if (now >= this.#writer.roomCheckAt) this.#writer.lookForRoom();
    else this.#jobs.runStep(now);
  }

  #noteTime({ revision, at }: LogRequestOf<"noteTime">): undefined {
    if (this.#writer.isFull || this.#writer.hasFailed) return;
    this.#file.withoutSync(() => this.#file.addTime(revision, at));
  }

  *#compact({ revision, keepSince, givesBack = false }: LogRequestOf<"compact">): JobSteps<LogResults["compact"]> {
    const file = this.#file;
    // The head file can be compared with the log only if history goes back to the revision of the head file.
    this.#headFile.sync();
    const { sweepRuns } = this.#start.faults;
    const testLimits = sweepRuns === undefined ? undefined : { runs: sweepRuns, rows: sweepRuns };
    const limits = this.#writer.isFull ? withoutMoves : testLimits;
    const before = file.size.total;
    const upTo = keepSince === undefined ? revision : Math.min(revision, file.revisionAt(keepSince));
    yield* sweep(file, revision, limits, upTo);
    this.#writer.noteSizeReported();
    if (givesBack) {
      while (file.vacuum(vacuumPages)) yield;
      file.giveBack();
    }
    const bytes = Math.max(0, before - file.size.total) * pageBytes;
    return { bytes, logBytes: file.segments.bytes, forgotten: file.forgotten };
  }

  /** Answers the last request: all earlier writes are durable. */
  #close(): undefined {
    this.#jobs.cancel();
    this.#writer.close(`${logFilePath(this.#start.dataDir)}-wal`);
    this.#port.close();
    this.#isClosed = true;
  }
}

/** Makes a job of a single step, which runs after the waiting commits. */
function* atOnce<T>(work: () => T): JobSteps<T> {
  yield;
  return work();
}
