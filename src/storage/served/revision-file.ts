/**
 * The last revision that any process may have shown, in a file of the processes of one machine: reads of the present ask
 * it, and no process. The owner of the log writes it before a change becomes visible anywhere. The file has the number
 * twice, so that a reader notices one that is being written:
 *
 *     00 00 00 00 00 00 45 40   00 00 00 00 00 00 45 40      42, as doubles
 *
 * Hot path: a read or a write is one system call.
 */
import { closeSync, constants, existsSync, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";

import { type Revision, StorageFailure } from "../log-store.ts";

const fileBytes = 16;
/** The number of times that a file that is being written is read again. */
const triesMax = 100;

const pathIn = (folder: string): string => join(folder, "revision");

/** The file as the owner of the log has it. The file outlives the owner, since other processes have it open. */
export class RevisionWriter {
  readonly #path: string;
  readonly #file: number;
  readonly #bytes = Buffer.alloc(fileBytes);
  #revision: Revision;

  /**
   * Opens the file with the revision that an owner before this one has shown, so that fresh reads of the other processes
   * go on. `revision` is that of the log; a file that says more is lowered, since the log has gone back. Throws
   * `StorageFailure`.
   */
  constructor(folder: string, revision: Revision) {
    const path = pathIn(folder);
    this.#file = inWords(path, () => openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600));
    this.#path = path;
    const shown = inWords(path, () => readFrom(this.#file, this.#bytes));
    this.#revision = Math.min(shown ?? revision, revision);
    if (shown !== this.#revision) this.#write(this.#revision);
  }

  /** Notes that `revision` may be shown from now on. Throws `StorageFailure`; then it may not. */
  raise(revision: Revision): void {
    if (revision <= this.#revision) return;
    this.#write(revision);
    this.#revision = revision;
  }

  close(): void {
    closeSync(this.#file);
  }

  #write(revision: Revision): void {
    this.#bytes.writeDoubleLE(revision, 0);
    this.#bytes.writeDoubleLE(revision, 8);
    const length = inWords(this.#path, () => writeSync(this.#file, this.#bytes, 0, fileBytes, 0));
    if (length < fileBytes) throw new StorageFailure(`${this.#path} was written in part`);
  }
}

/** The file as the other processes have it. */
export class RevisionReader {
  readonly #path: string;
  #file: number;
  readonly #bytes = Buffer.alloc(fileBytes);

  /** Throws `StorageFailure`. */
  constructor(folder: string) {
    this.#path = pathIn(folder);
    this.#file = this.#open();
  }

  /**
   * Opens the file anew, since another owner may have made another one; one that is gone stays what it was, for as long as
   * no owner makes it again. Throws `StorageFailure`.
   */
  renew(): void {
    if (!existsSync(this.#path)) return;
    const file = this.#open();
    closeSync(this.#file);
    this.#file = file;
  }

  /** Returns the revision; `undefined` for a file that does not show one. Throws `StorageFailure`. */
  read(): Revision | undefined {
    return inWords(this.#path, () => readFrom(this.#file, this.#bytes));
  }

  close(): void {
    closeSync(this.#file);
  }

  #open(): number {
    return inWords(this.#path, () => openSync(this.#path, constants.O_RDONLY));
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

/** Makes failures of the file those of the store. */
function inWords<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new StorageFailure(`the file of the revision ${path} has failed: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
