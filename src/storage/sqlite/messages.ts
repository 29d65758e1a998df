/**
 * Messages between the main thread and the worker. Rows travel as bytes in one buffer: per row a header of 36 bytes,
 * the key in UTF-8, the value.
 *
 * Commits use shared memory (`Mailbox`), and their answer is a bare number: a single writer pays two thread switches
 * per write, and messages would cost more. Everything else is a message on the worker's port.
 *
 * Hot path: one `add` per write.
 */
import type { PendingWrite } from "../embedded-log.ts";
import type { Revision, Unversioned } from "../log-store.ts";
import { headerBytes as valueHeaderBytes, packInto } from "../versioned-value.ts";
import type { LogRow } from "./log-file.ts";

/** Faults for tests; none by default. */
export interface StorageFaults {
  /** The commit with this number (from 1) fails as if its sync had. */
  readonly failCommit?: number;
  /** While a file of this name exists, every commit fails so. */
  readonly failWhile?: string;
  /** The disk is full after this many more pages. */
  readonly pagesLeft?: number;
  /** Every commit takes this much longer. */
  readonly commitDelayMs?: number;
  /** A step of compaction drops rows at this many places at most, or moves so many. */
  readonly sweepRuns?: number;
  /** A table of the log is full with so many rows. */
  readonly segmentRows?: number;
  /** While a file of this name exists, only deletions find room on the disk (tests). */
  readonly fullWhile?: string;
  /** The machine's present boot identifier. */
  readonly boot?: string;
}

/** Start data of the worker. */
export interface WorkerStart {
  readonly dataDir: string;
  readonly isExpected: boolean;
  readonly acceptLoss: boolean;
  readonly mailbox: SharedArrayBuffer;
  readonly faults: StorageFaults;
}

/** A question to the worker. */
export type Question =
  | {
      readonly kind: "events";
      readonly prefix: string;
      readonly exact: boolean;
      readonly after: Revision;
      readonly upTo: Revision;
    }
  | {
      readonly kind: "rollback";
      readonly from: string;
      readonly to: string | undefined;
      readonly after: Revision;
      readonly upTo: Revision;
    }
  | { readonly kind: "versions"; readonly revisions: readonly Revision[] }
  /** Versions of a key before a revision, newest first. */
  | { readonly kind: "past"; readonly key: string; readonly before: Revision; readonly limit: number }
  /** Everything up to `revision` was written before `at` (milliseconds since the epoch). */
  | { readonly kind: "time"; readonly revision: Revision; readonly at: number }
  | {
      readonly kind: "compact";
      readonly revision: Revision;
      /** Versions replaced since this time (milliseconds since the epoch) stay. Left out: none do. */
      readonly keepSince?: number | undefined;
      /** Whether all unused room is given back to the file system. */
      readonly givesBack?: boolean;
    }
  /** The last revision known to have been written before a time (milliseconds since the epoch). */
  | { readonly kind: "revisionAt"; readonly at: number }
  | { readonly kind: "digest"; readonly revision: Revision }
  | { readonly kind: "backup"; readonly file: string }
  /** Where the youngest part of the log begins that has so many bytes. */
  | { readonly kind: "youngest"; readonly bytes: number }
  | { readonly kind: "close" };

/** The answers, by kind of question. */
export interface Answers {
  /** Each event's row, followed by the row it replaced if there is one. `undefined`: no longer kept. */
  events: { readonly rows: Uint8Array | undefined; readonly reached: Revision };
  rollback: { readonly keys: readonly string[]; readonly previous: readonly Revision[] };
  /** The rows that exist, in the order asked for. */
  versions: { readonly rows: Uint8Array };
  past: {
    readonly rows: Uint8Array;
    /** When they were written, 0 for unknown. */
    readonly times: readonly number[];
    readonly next: Revision;
    readonly since: Revision;
    readonly sinceMs: number | undefined;
  };
  time: undefined;
  revisionAt: { readonly revision: Revision };
  compact: {
    /** Bytes of the file that were given back. */
    readonly bytes: number;
    /** The values that are left have about so many. */
    readonly logBytes: number;
    /** Versions replaced, and deletions, up to here are gone. */
    readonly forgotten: Revision;
  };
  digest: { readonly keys: number; readonly sum: number };
  backup: { readonly revision: Revision };
  youngest: { readonly revision: Revision };
  close: undefined;
}

export type ToWorker =
  /** A commit too large for the mailbox, which still keeps its place in the order. */
  | { readonly kind: "commit"; readonly rows: Uint8Array }
  /** A `load` has been processed; its buffer is returned. */
  | { readonly kind: "loaded"; readonly buffer: ArrayBuffer }
  | { readonly kind: "ask"; readonly id: number; readonly question: Question };

export type FromWorker =
  /** Everything up to this revision is durable. */
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
  /** The log has so many bytes of values now, superseded ones included. */
  | { readonly kind: "grown"; readonly logBytes: number }
  /** The file could not be opened. */
  | { readonly kind: "refused"; readonly message: string; readonly why: "loss" | "use" | undefined }
  /** There was no room for the next commits; none of them is durable. */
  | { readonly kind: "full"; readonly commits: number; readonly message: string }
  /** There is room again. */
  | { readonly kind: "roomy" }
  /** A commit failed; none will follow. */
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "answer"; readonly id: number; readonly answer: Answers[keyof Answers] }
  | { readonly kind: "error"; readonly id: number; readonly message: string };

/** Commits on their way to the worker at most: each has a place of its own in the mailbox. */
export const commitsUnderWayMax = 2;

const mailboxHeaderBytes = 16;
const placeBytes = 256 * 1024;
/** Words of the header: changes with every call for the worker, the number of commits posted. */
const calls = 0;
const posted = 1;
/** Then, for each place, the length of the commit in it; or that it follows as a message. */
const lengths = 2;
const isMessage = -1;

/**
 * Where the main thread leaves commits and calls the worker, and the worker sleeps. A place is used again only after
 * the commit in it has been answered.
 */
export class Mailbox {
  readonly shared: SharedArrayBuffer;
  readonly #words: Int32Array;
  readonly #places: readonly Buffer[];
  /** How many commits this side has posted, or taken. */
  #count = 0;

  constructor(shared = new SharedArrayBuffer(mailboxHeaderBytes + commitsUnderWayMax * placeBytes)) {
    this.shared = shared;
    this.#words = new Int32Array(shared, 0, mailboxHeaderBytes / 4);
    this.#places = Array.from({ length: commitsUnderWayMax }, (_, i) =>
      Buffer.from(shared, mailboxHeaderBytes + i * placeBytes, placeBytes),
    );
  }

  /** Main thread: the next place, if `bytes` fit in it. */
  place(bytes: number): Buffer | undefined {
    return bytes > placeBytes ? undefined : this.#places[this.#count % commitsUnderWayMax];
  }

  /** Main thread: posts the written rows to the next place, or, without a length, announces a message. */
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

  /** Worker: read it before looking for work, for `sleep`. */
  get callCount(): number {
    return Atomics.load(this.#words, calls);
  }

  /** Worker: sleeps until a call after `callCount`, or the timeout. */
  sleep(callCount: number, timeoutMs: number): void {
    Atomics.wait(this.#words, calls, callCount, timeoutMs);
  }

  /** Worker: the next posted commit, or `"message"` when it was sent as one. `undefined`: none. */
  take(): Uint8Array | "message" | undefined {
    if (Atomics.load(this.#words, posted) === (this.#count | 0)) return undefined;
    const index = this.#count++ % commitsUnderWayMax;
    const length = this.#words[lengths + index]!;
    return length === isMessage ? "message" : this.#places[index]!.subarray(0, length);
  }
}

const headerBytes = 36;

/** How many bytes a row with this key, and a value of so many bytes, takes at most. */
const rowBytesMax = (key: string, valueBytes: number): number => headerBytes + key.length * 3 + valueBytes;

const packedLength = (value: Unversioned | undefined): number =>
  value === undefined ? 0 : valueHeaderBytes + value.bytes.length;

/** How many bytes a write takes at most. */
export const packedBytesMax = ({ key, write }: PendingWrite): number => rowBytesMax(key, packedLength(write.value));

/** Packs rows into one buffer: one given, or a new one. */
export class RowWriter {
  #buffer: Buffer;
  #length = 0;

  constructor(space: number | ArrayBuffer | Buffer) {
    if (typeof space === "number") this.#buffer = Buffer.allocUnsafeSlow(space);
    else this.#buffer = Buffer.isBuffer(space) ? space : Buffer.from(space);
  }

  get length(): number {
    return this.#length;
  }

  addWrite({ write, key, revision, replaces, expiresAt }: PendingWrite): void {
    const { value } = write;
    const at = this.#begin(revision, key, replaces, expiresAt, value === undefined ? 1 : 0, packedLength(value));
    if (value !== undefined) packInto(this.#buffer, at, value);
  }

  addRow({ revision, key, previous, expires, deleted, value }: LogRow): void {
    const at = this.#begin(revision, key, previous, expires, deleted, value.length);
    this.#buffer.set(value, at);
  }

  /** Adds a row but for its value, and returns where that belongs. */
  #begin(
    revision: Revision,
    key: string,
    previous: Revision,
    expires: number,
    deleted: number,
    valueBytes: number,
  ): number {
    const needed = this.#length + rowBytesMax(key, valueBytes);
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
      larger.set(this.#buffer.subarray(0, this.#length));
      this.#buffer = larger;
    }
    const buffer = this.#buffer;
    const start = this.#length;
    const keyBytes = buffer.write(key, start + headerBytes, "utf8");
    buffer.writeDoubleLE(revision, start);
    buffer.writeDoubleLE(previous, start + 8);
    buffer.writeDoubleLE(expires, start + 16);
    buffer.writeUInt32LE(keyBytes, start + 24);
    buffer.writeUInt32LE(valueBytes, start + 28);
    buffer.writeUInt32LE(deleted, start + 32);
    const at = start + headerBytes + keyBytes;
    this.#length = at + valueBytes;
    return at;
  }

  /** The rows so far, in a buffer of their own that may be handed over. The writer is spent. */
  take(): Uint8Array<ArrayBuffer> {
    const { buffer, byteOffset } = this.#buffer;
    return new Uint8Array(buffer as ArrayBuffer, byteOffset, this.#length);
  }
}

/** Unpacks what a `RowWriter` packed. Values are views into `bytes`. */
export function* readRows(bytes: Uint8Array): Generator<LogRow & { readonly value: Buffer }> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < buffer.length; ) {
    const keyEnd = at + headerBytes + buffer.readUInt32LE(at + 24);
    const valueEnd = keyEnd + buffer.readUInt32LE(at + 28);
    yield {
      revision: buffer.readDoubleLE(at),
      key: buffer.toString("utf8", at + headerBytes, keyEnd),
      previous: buffer.readDoubleLE(at + 8),
      expires: buffer.readDoubleLE(at + 16),
      deleted: buffer.readUInt32LE(at + 32),
      value: buffer.subarray(keyEnd, valueEnd),
    };
    at = valueEnd;
  }
}
