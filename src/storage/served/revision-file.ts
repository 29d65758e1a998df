/**
 * The last revision that any process may have shown, in a file of the processes of one machine: reads of the present ask
 * it, and no process. The owner of the log writes it before a change becomes visible anywhere. The file has the number
 * twice, so that a reader notices one that is being written:
 *
 *     00 00 00 00 00 00 45 40   00 00 00 00 00 00 45 40      42, as doubles
 *
 * Hot path: a read or a write is one system call.
 */
import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";

import type { Revision } from "../log-store.ts";

const fileBytes = 16;
/** The number of times that a file that is being written is read again. */
const triesMax = 100;

const pathIn = (folder: string): string => join(folder, "revision");

/** The file as the owner of the log has it. The file outlives the owner, since other processes have it open. */
export class RevisionWriter {
  readonly #file: number;
  readonly #bytes = Buffer.alloc(fileBytes);
  #revision: Revision;

  /**
   * Opens the file with the revision that an owner before this one has shown, so that fresh reads of the other processes
   * go on. `revision` is that of the log; a file that says more is lowered, since the log has gone back.
   */
  constructor(folder: string, revision: Revision) {
    this.#file = openSync(pathIn(folder), constants.O_RDWR | constants.O_CREAT, 0o600);
    const shown = readFrom(this.#file, this.#bytes);
    this.#revision = Math.min(shown ?? revision, revision);
    if (shown !== this.#revision) this.#write();
  }

  /** Notes that `revision` may be shown from now on. */
  raise(revision: Revision): void {
    if (revision <= this.#revision) return;
    this.#revision = revision;
    this.#write();
  }

  close(): void {
    closeSync(this.#file);
  }

  #write(): void {
    this.#bytes.writeDoubleLE(this.#revision, 0);
    this.#bytes.writeDoubleLE(this.#revision, 8);
    writeSync(this.#file, this.#bytes, 0, fileBytes, 0);
  }
}

/** The file as the other processes have it. */
export class RevisionReader {
  readonly #file: number;
  readonly #bytes = Buffer.alloc(fileBytes);

  constructor(folder: string) {
    this.#file = openSync(pathIn(folder), constants.O_RDONLY);
  }

  /** Returns the revision; `undefined` for a file that does not show one. */
  read(): Revision | undefined {
    return readFrom(this.#file, this.#bytes);
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** Reads the revision of a file into `bytes`; `undefined` for a file that does not show one. */
function readFrom(file: number, bytes: Buffer): Revision | undefined {
  for (let tries = 0; tries < triesMax; tries++) {
    const length = readSync(file, bytes, 0, fileBytes, 0);
    const revision = bytes.readDoubleLE(0);
    const isWhole = length === fileBytes && Object.is(revision, bytes.readDoubleLE(8));
    if (isWhole && Number.isSafeInteger(revision) && revision >= 0) return revision;
  }
  return undefined;
}
