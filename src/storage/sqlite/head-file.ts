/**
 * The head file beside the log records what the log must hold: its last revision and a digest of current keys. A start
 * compares both, since a log that lost its end looks intact.
 *
 *     magic 4 | state 4 | boot 16 | revision 8 | keys 8 | sum 8 | floor 8 | checksum 4
 *
 * One record, written in place after every commit and before its acknowledgement, so it never claims more than the log
 * has. It is synced only now and then. After a killed process it is exact, because the system still has the write.
 * After a machine crash it may be older, which the boot identifier shows.
 */
import { closeSync, fdatasyncSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";

import { systemClock } from "#std/clock.ts";
import { syncPath } from "#std/folder.ts";

import { digestSum } from "../digest.ts";
import type { Revision } from "../log-store.ts";
import type { LogChange } from "./log-file.ts";

/** "BNCH". */
const magic = 0x424e4348;
const recordBytes = 60;
const bootBytes = 16;
/** The maximum time by which the durable record may be behind the log. */
const syncMs = 5000;

/**
 * `new`: the log is being created. `open`: no commit since the last sync. `used`: commits have followed, so the log has
 * a second file. `closed`: the log is one complete file.
 */
type HeadState = "new" | "open" | "used" | "closed";
const states: readonly HeadState[] = ["new", "open", "used", "closed"];

export interface Head {
  readonly state: HeadState;
  /** The machine's boot identifier at the time of the record, in hexadecimal; empty when unknown. */
  readonly boot: string;
  /** The youngest revision of the log. */
  readonly revision: Revision;
  /** The number of keys current at `revision`, and the sum of their revisions as in `Digest`. */
  readonly keys: number;
  readonly sum: number;
  /** Clients may know revisions up to this one; later writes get higher ones. */
  readonly floor: Revision;
}

export function headFilePath(dataDir: string): string {
  return join(dataDir, "store.head");
}

/** Reads the record. `"missing"`: there is no file; `"damaged"`: its content is invalid. */
export function readHead(dataDir: string): Head | "missing" | "damaged" {
  let bytes: Buffer;
  try {
    bytes = readFileSync(headFilePath(dataDir));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "missing";
    throw error;
  }
  const end = recordBytes - 4;
  if (bytes.length !== recordBytes || bytes.readUInt32LE(end) !== crc32(bytes.subarray(0, end))) return "damaged";
  const state = states[bytes.readUInt32LE(4)];
  if (bytes.readUInt32LE(0) !== magic || state === undefined) return "damaged";
  const boot = bytes.toString("hex", 8, 8 + bootBytes);
  return {
    state,
    boot: /^0*$/.test(boot) ? "" : boot,
    revision: bytes.readDoubleLE(24),
    keys: bytes.readDoubleLE(32),
    sum: bytes.readDoubleLE(40),
    floor: bytes.readDoubleLE(48),
  };
}

function pack(bytes: Buffer, { state, boot, revision, keys, sum, floor }: Head): void {
  const end = recordBytes - 4;
  bytes.writeUInt32LE(magic, 0);
  bytes.writeUInt32LE(states.indexOf(state), 4);
  bytes.fill(0, 8, 8 + bootBytes).write(boot, 8, bootBytes, "hex");
  bytes.writeDoubleLE(revision, 24);
  bytes.writeDoubleLE(keys, 32);
  bytes.writeDoubleLE(sum, 40);
  bytes.writeDoubleLE(floor, 48);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, end)), end);
}

/** Creates the file atomically and durably, replacing an old one. */
export function makeHeadFile(dataDir: string, head: Head): void {
  const path = headFilePath(dataDir);
  const fresh = `${path}.new`;
  const bytes = Buffer.alloc(recordBytes);
  pack(bytes, head);
  writeFileSync(fresh, bytes, { mode: 0o600, flush: true });
  renameSync(fresh, path);
  syncPath(dataDir);
}

/** The head file of an open store, and the record in it. Hot path: `advance`. */
export class HeadFile {
  readonly #file: number;
  readonly #bytes = Buffer.alloc(recordBytes);
  #head: Head;
  #syncedAt = 0;

  /** Opens the existing file, and writes `head` into it. */
  constructor(dataDir: string, head: Head) {
    this.#file = openSync(headFilePath(dataDir), "r+");
    this.#head = head;
    this.#write(head);
    this.sync();
  }

  get head(): Head {
    return this.#head;
  }

  /** Records a commit of these rows (at least one) before it is acknowledged. */
  advance(rows: readonly LogChange[]): void {
    let { keys, sum } = this.#head;
    for (const { revision, previous, deleted } of rows) {
      if (deleted === 0) keys++;
      if (previous !== 0) keys--;
      sum = digestSum(sum + (deleted === 0 ? revision : 0) - previous);
    }
    const { revision } = rows.at(-1)!;
    const { state, boot, floor } = this.#head;
    this.#write({ state: "used", boot, revision, keys, sum, floor: Math.max(floor, revision) });
    if (state !== "used" || systemClock.monotonic() - this.#syncedAt > syncMs) this.sync();
  }

  /** Records another state, durably. */
  mark(state: HeadState): void {
    this.#write({ ...this.#head, state });
    this.sync();
  }

  /** Makes the last record durable. */
  sync(): void {
    fdatasyncSync(this.#file);
    this.#syncedAt = systemClock.monotonic();
  }

  close(): void {
    closeSync(this.#file);
  }

  /** Writes the record in place; it is only in the system's memory until the next sync. */
  #write(head: Head): void {
    this.#head = head;
    const bytes = this.#bytes;
    pack(bytes, head);
    if (writeSync(this.#file, bytes, 0, recordBytes, 0) !== recordBytes) throw new Error("the head file is cut short");
  }
}

/** Returns the identifier of the machine's present boot in hexadecimal; empty if the system has none. */
export function presentBoot(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim().replaceAll("-", "");
  } catch {
    return "";
  }
}
