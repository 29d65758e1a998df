/**
 * What the main thread and the worker say to each other. Rows travel as bytes in one buffer that is handed over, not
 * copied: per row a header of 44 bytes, the key in UTF-8, the value.
 *
 * Hot path: one `add` per write.
 */
import type { Revision } from "../backend.ts";
import type { LogRow } from "./log-file.ts";

/** Faults for tests; none by default. */
export interface StorageFaults {
  /** The commit with this number (from 1) fails as if its sync had. */
  readonly failCommit?: number;
  /** The disk is full after this many more pages. */
  readonly pagesLeft?: number;
  /** Every commit takes this much longer. */
  readonly commitDelayMs?: number;
  /** A step of compaction drops rows at this many places at most, or moves so many. */
  readonly sweepRuns?: number;
  /** A table of the log is full with so many rows. */
  readonly segmentRows?: number;
}

/** What the worker is started with. */
export interface WorkerStart {
  readonly dataDir: string;
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
      readonly kind: "undo";
      readonly from: string;
      readonly to: string | undefined;
      readonly after: Revision;
      readonly upTo: Revision;
    }
  | { readonly kind: "versions"; readonly revisions: readonly Revision[] }
  | { readonly kind: "compact"; readonly revision: Revision }
  | { readonly kind: "digest"; readonly revision: Revision }
  | { readonly kind: "backup"; readonly file: string }
  | { readonly kind: "close" };

/** The answers, by kind of question. */
export interface Answers {
  /** Each event's row, followed by the row it replaced if there is one. `undefined`: no longer kept. */
  events: { readonly rows: Uint8Array | undefined; readonly reached: Revision };
  undo: { readonly keys: readonly string[]; readonly previous: readonly Revision[] };
  /** The rows that exist, in the order asked for. */
  versions: { readonly rows: Uint8Array };
  compact: undefined;
  digest: { readonly keys: number; readonly sum: number };
  backup: undefined;
  close: undefined;
}

export type ToWorker =
  | { readonly kind: "commit"; readonly rows: Uint8Array }
  /** A `load` has been taken in; its buffer comes back. */
  | { readonly kind: "loaded"; readonly buffer: ArrayBuffer }
  | { readonly kind: "ask"; readonly id: number; readonly question: Question };

export type FromWorker =
  /** The file is open; what is current follows. */
  | { readonly kind: "opening"; readonly revision: Revision; readonly compacted: Revision }
  | { readonly kind: "load"; readonly rows: Uint8Array }
  | { readonly kind: "opened" }
  /** The file could not be opened. */
  | { readonly kind: "refused"; readonly message: string }
  /** Everything up to `revision` is durable; the buffers of the commits come back. */
  | { readonly kind: "committed"; readonly revision: Revision; readonly buffers: readonly ArrayBuffer[] }
  /** A commit failed; none will follow. */
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "answer"; readonly id: number; readonly answer: Answers[keyof Answers] }
  | { readonly kind: "error"; readonly id: number; readonly message: string };

const headerBytes = 44;

/** Packs rows into one buffer: one handed back, or a new one. */
export class RowWriter {
  #buffer: Buffer;
  #length = 0;

  constructor(space: number | ArrayBuffer) {
    this.#buffer = typeof space === "number" ? Buffer.allocUnsafeSlow(space) : Buffer.from(space);
  }

  get length(): number {
    return this.#length;
  }

  add(
    revision: Revision,
    key: string,
    previous: Revision,
    created: Revision,
    expires: number,
    deleted: number,
    value: Uint8Array,
  ): void {
    const needed = this.#length + headerBytes + key.length * 3 + value.length;
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
    buffer.writeDoubleLE(created, start + 16);
    buffer.writeDoubleLE(expires, start + 24);
    buffer.writeUInt32LE(keyBytes, start + 32);
    buffer.writeUInt32LE(value.length, start + 36);
    buffer.writeUInt32LE(deleted, start + 40);
    buffer.set(value, start + headerBytes + keyBytes);
    this.#length = start + headerBytes + keyBytes + value.length;
  }

  addRow(row: LogRow): void {
    this.add(row.revision, row.key, row.previous, row.created, row.expires, row.deleted, row.value);
  }

  /** The rows so far, in a buffer of their own that may be handed over. The writer is spent. */
  take(): Uint8Array<ArrayBuffer> {
    const { buffer, byteOffset } = this.#buffer;
    return new Uint8Array(buffer as ArrayBuffer, byteOffset, this.#length);
  }
}

/** Unpacks what a `RowWriter` packed. Values are views into `bytes`. */
export function* readRows(bytes: Uint8Array): Generator<LogRow> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < buffer.length; ) {
    const keyEnd = at + headerBytes + buffer.readUInt32LE(at + 32);
    const valueEnd = keyEnd + buffer.readUInt32LE(at + 36);
    yield {
      revision: buffer.readDoubleLE(at),
      key: buffer.toString("utf8", at + headerBytes, keyEnd),
      previous: buffer.readDoubleLE(at + 8),
      created: buffer.readDoubleLE(at + 16),
      expires: buffer.readDoubleLE(at + 24),
      deleted: buffer.readUInt32LE(at + 40),
      value: buffer.subarray(keyEnd, valueEnd),
    };
    at = valueEnd;
  }
}
