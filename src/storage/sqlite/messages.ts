/**
 * Messages between the main thread and the thread that owns the log. Rows travel as bytes (`packed-rows.ts`).
 *
 * Commits use shared memory (`Mailbox`), and their answer is a bare number: a single writer pays two thread switches
 * per write, and messages would cost more. Everything else is a message on the thread's port.
 */
import type { MessagePort } from "node:worker_threads";

import type { Revision } from "../log-store.ts";

/** Faults for tests; none by default. */
export interface StorageFaults {
  /** The commit with this number (from 1) fails as if its sync had. */
  readonly failCommit?: number;
  /** The path of a file; while it exists, every commit fails in this way. */
  readonly failWhile?: string;
  /** The number of pages after which the disk is full. */
  readonly pagesLeft?: number;
  /** The time by which every commit takes longer. */
  readonly commitDelayMs?: number;
  /** The maximum number of ranges in which a step of compaction drops rows, and of rows that it moves. */
  readonly sweepRuns?: number;
  /** The number of rows with which a table of the log is full. */
  readonly segmentRows?: number;
  /** The path of a file; while it exists, the disk has room for deletions only (tests). */
  readonly fullWhile?: string;
  /** The machine's present boot identifier. */
  readonly boot?: string;
}

/** The log to open. */
export interface LogFolder {
  /** The folder of the log's file; made when absent. Only one process at a time may have it open. */
  readonly dataDir: string;
  /** Whether there was a log before: a folder without any file is then incomplete, not new. Default: false. */
  readonly isExpected?: boolean;
  /** Whether an incomplete log is opened without its missing part. Default: it is refused with `LostWrites`. */
  readonly acceptLoss?: boolean;
  /** Whether room is reserved for deletions on a full disk. Default: it is. */
  readonly hasReserve?: boolean;
  /** Faults to inject; only for tests. */
  readonly faults?: StorageFaults;
}

/** The data that the worker is started with. */
export interface WorkerStart extends Required<LogFolder> {
  readonly mailbox: SharedArrayBuffer;
}

/** A message to a thread that owns several logs: the log to open, and the port for its messages. */
export interface SharedLogStart {
  readonly start: Required<LogFolder>;
  readonly port: MessagePort;
}

/** A request to the thread, which reads or changes the log between commits. */
export type LogRequest =
  /** Reads the changes of a prefix, or of exactly one key, in (after, upTo]. */
  | {
      readonly kind: "history";
      readonly prefix: string;
      readonly exact: boolean;
      readonly after: Revision;
      readonly upTo: Revision;
    }
  /**
   * Reads the keys in [from, to) that changed in (after, upTo], with the revisions that their first changes replaced.
   */
  | {
      readonly kind: "rollback";
      readonly from: string;
      readonly to: string | undefined;
      readonly after: Revision;
      readonly upTo: Revision;
    }
  /** Reads the rows of some revisions. */
  | { readonly kind: "rows"; readonly revisions: readonly Revision[] }
  /** Reads versions of a key before a revision, newest first. */
  | { readonly kind: "versions"; readonly key: string; readonly before: Revision; readonly limit: number }
  /** Notes that everything up to `revision` was written before `at` (milliseconds since the epoch). */
  | { readonly kind: "noteTime"; readonly revision: Revision; readonly at: number }
  /** Forgets history before `revision`. */
  | {
      readonly kind: "compact";
      readonly revision: Revision;
      /** The time since which replaced versions stay (milliseconds since the epoch). Left out: none stay. */
      readonly keepSince?: number | undefined;
      /** Whether all unused room is returned to the file system. */
      readonly givesBack?: boolean;
    }
  /**
   * Finds the last revision known to have been written before a time (milliseconds since the epoch), and the first one
   * after which everything was written later.
   */
  | { readonly kind: "revisionAt"; readonly at: number }
  /** Returns number and sum of the revisions of entries that were current at a revision. */
  | { readonly kind: "digest"; readonly revision: Revision }
  /** Writes a copy of all current entries to a new file. */
  | { readonly kind: "backup"; readonly file: string }
  /** Finds the beginning of the youngest part of the log that has so many bytes. */
  | { readonly kind: "startOfYoungest"; readonly bytes: number }
  /** Closes the files. Every earlier request is answered or cancelled before. */
  | { readonly kind: "close" };

/** The results, by kind of request. */
export interface LogResults {
  history: {
    /**
     * The row of each event, followed by the row that it replaced, if there is one. `undefined`: they are no longer
     * kept.
     */
    readonly rows: Uint8Array | undefined;
    /** The times at which the events were written; 0 for unknown. */
    readonly times: readonly number[];
    readonly reached: Revision;
  };
  rollback: { readonly keys: readonly string[]; readonly previous: readonly Revision[] };
  /** The rows that exist, in the order of the request. */
  rows: { readonly rows: Uint8Array };
  versions: {
    readonly rows: Uint8Array;
    /** The times at which they were written; 0 for unknown. */
    readonly times: readonly number[];
    readonly next: Revision;
    readonly since: Revision;
    readonly sinceMs: number | undefined;
  };
  noteTime: undefined;
  revisionAt: { readonly revision: Revision; readonly following: Revision | undefined };
  compact: {
    /** The bytes by which the file shrank. */
    readonly bytes: number;
    /** The approximate number of bytes of the remaining values. */
    readonly logBytes: number;
    /** The revision up to which replaced versions and deletions are gone. */
    readonly forgotten: Revision;
  };
  digest: { readonly keys: number; readonly sum: number };
  backup: { readonly revision: Revision };
  startOfYoungest: { readonly revision: Revision };
  close: undefined;
}

/** The request of a kind. */
export type LogRequestOf<K extends LogRequest["kind"]> = Extract<LogRequest, { kind: K }>;

/** The result of any request. */
export type LogResult = LogResults[keyof LogResults];

export type ToWorker =
  /** A commit that is too large for the mailbox. It takes a slot there all the same. */
  | { readonly kind: "commit"; readonly rows: Uint8Array }
  /** A `load` has been processed; its buffer is returned. */
  | { readonly kind: "loaded"; readonly buffer: ArrayBuffer }
  | { readonly kind: "request"; readonly id: number; readonly request: LogRequest };

export type FromWorker =
  /** The revision up to which everything is durable. */
  | Revision
  /** The file is open; the current entries follow. */
  | {
      readonly kind: "opening";
      readonly revision: Revision;
      readonly compacted: Revision;
      readonly forgotten: Revision;
      readonly notice: string | undefined;
    }
  | { readonly kind: "load"; readonly rows: Uint8Array }
  | { readonly kind: "opened"; readonly logBytes: number }
  /** Reports the present bytes of values in the log, superseded ones included. */
  | { readonly kind: "grown"; readonly logBytes: number }
  /** The file could not be opened. */
  | { readonly kind: "refused"; readonly message: string; readonly why: "loss" | "use" | undefined }
  /** Reports that there was no room for the next commits; none of them is durable. */
  | { readonly kind: "full"; readonly commits: number; readonly message: string }
  /** Reports that there is room again. */
  | { readonly kind: "hasRoom" }
  /** Reports that a commit failed; no other one will follow. */
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "result"; readonly id: number; readonly result: LogResult }
  | { readonly kind: "requestFailed"; readonly id: number; readonly message: string };

/** Sends a message to the main thread, with the memory that is transferred to it. */
export type SendToMain = (message: FromWorker, transfer?: ArrayBuffer[]) => void;

/** The maximum number of commits that were sent and not answered: each has a slot of its own in the mailbox. */
export const commitsUnderWayMax = 2;

const mailboxHeaderBytes = 16;
const slotBytes = 256 * 1024;
/** The first words of the header: one that changes with every call for the worker, and the number of commits posted. */
const calls = 0;
const posted = 1;
/**
 * The index of the following words, one for each slot: the length of the commit in it, or `isMessage` if the commit
 * follows as a message.
 */
const lengths = 2;
const isMessage = -1;

/**
 * The shared memory in which the main thread leaves commits and calls the worker, and on which the worker sleeps. A slot is
 * used again only after the commit in it has been answered.
 */
export class Mailbox {
  readonly shared: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #slots: readonly Buffer[];
  /** The number of commits that this side has posted, or taken. */
  #count = 0;

  constructor(shared = new SharedArrayBuffer(mailboxHeaderBytes + commitsUnderWayMax * slotBytes)) {
    this.shared = shared;
    this.#words = new Int32Array(shared, 0, mailboxHeaderBytes / 4);
    this.#slots = Array.from({ length: commitsUnderWayMax }, (_, i) =>
      Buffer.from(shared, mailboxHeaderBytes + i * slotBytes, slotBytes),
    );
  }

  /** Main thread: returns the next slot, if `bytes` fit in it. */
  slot(bytes: number): Buffer | undefined {
    return bytes > slotBytes ? undefined : this.#slots[this.#count % commitsUnderWayMax];
  }

  /** Main thread: posts the written rows in the next slot, or, without a length, announces a message. */
  post(length = isMessage): void {
    this.#words[lengths + (this.#count % commitsUnderWayMax)] = length;
    this.#count++;
    Atomics.store(this.#words, posted, this.#count | 0);
    this.call();
  }

  /** Main thread: wakes the worker up. */
  call(): void {
    Atomics.add(this.#words, calls, 1);
    Atomics.notify(this.#words, calls);
  }

  /** Worker: the number of calls, which it must read before it looks for work, for `sleep`. */
  get callCount(): number {
    return Atomics.load(this.#words, calls);
  }

  /** Worker: sleeps until a call after `callCount`, or the timeout. */
  sleep(callCount: number, timeoutMs: number): void {
    Atomics.wait(this.#words, calls, callCount, timeoutMs);
  }

  /** Worker: takes the next posted commit, or `"message"` when it was sent as one. `undefined`: there is none. */
  take(): Uint8Array | "message" | undefined {
    if (Atomics.load(this.#words, posted) === (this.#count | 0)) return undefined;
    const index = this.#count++ % commitsUnderWayMax;
    const length = this.#words[lengths + index]!;
    return length === isMessage ? "message" : this.#slots[index]!.subarray(0, length);
  }
}
