/**
 * The audit log file, one event per line, rotated by size. Concurrent writers share one write, and no write blocks the
 * process. Names and limits of rotated files are those of `lumberjack`, which upstream uses.
 *
 * Several processes may write the same file, each group of lines with one call that appends. One of them rotates it; the
 * others look before and after each write whether the file is still the one of that name.
 */
import { createReadStream, createWriteStream } from "node:fs";
import { access, type FileHandle, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Clock } from "#std/clock.ts";
import { makeFolder } from "#std/folder.ts";
import type { EventWriter } from "./backend.ts";
import type { EventRecord } from "./event.ts";

export type LineOf = (record: EventRecord) => string;

export interface AuditFileOptions {
  readonly file: string;
  readonly lineOf: LineOf;
  readonly clock: Clock;
  /** The maximum bytes of a file; a single line may exceed it. */
  readonly bytesMax: number;
  /** The time for which rotated files are kept, and their maximum number; 0 for no limit. */
  readonly keepMs: number;
  readonly backupsMax: number;
  /** Whether rotated files are compressed. */
  readonly compress: boolean;
  /** Whether this process is the only writer, or one of several, of which one rotates the file. */
  readonly sharing: FileSharing;
  /** Called when a rotated file could not be compressed or removed. */
  failed(error: unknown): void;
}

export type FileSharing = "alone" | "rotates" | "follows";

interface Waiting {
  readonly text: string;
  readonly bytes: number;
  resolve(): void;
  reject(error: unknown): void;
}

/** Opens the file and creates its folder. Rejects with the system's error. */
export async function openLogFile(options: AuditFileOptions): Promise<EventWriter> {
  makeFolder(dirname(options.file));
  return new LogFile(options, await openToAppend(options.file));
}

interface Opened {
  readonly handle: FileHandle;
  readonly bytes: number;
  /** The number of the file in its file system. */
  readonly inode: number;
  /** Whether the last line is incomplete. */
  readonly isTorn: boolean;
}

async function openToAppend(file: string): Promise<Opened> {
  const handle = await open(file, "a+", 0o600);
  try {
    const { size, ino: inode } = await handle.stat();
    return { handle, bytes: size, inode, isTorn: await endsTorn(handle, size) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

const newline = 0x0a;

/** Whether the last line of a file is incomplete. */
async function endsTorn(handle: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false;
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  return bytesRead === 1 && buffer[0] !== newline;
}

/** The pause between two looks at the size of a file that other processes write, too. */
const lookMs = 1000;

class LogFile implements EventWriter {
  readonly #options: AuditFileOptions;
  #opened: Opened | undefined;
  #bytes: number;
  #isTorn: boolean;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;
  #tidying: Promise<void> = Promise.resolve();
  #cancelLook: () => void = () => undefined;
  #isClosed = false;

  constructor(options: AuditFileOptions, opened: Opened) {
    this.#options = options;
    this.#opened = opened;
    this.#bytes = opened.bytes;
    this.#isTorn = opened.isTorn;
    if (options.sharing === "follows") return;
    if (options.keepMs > 0 || options.backupsMax > 0) this.#tidy();
    if (options.sharing === "rotates") this.#lookLater();
  }

  write(records: readonly EventRecord[]): Promise<void> {
    const text = records.map(this.#options.lineOf).join("");
    return new Promise((resolve, reject) => {
      this.#waiting.push({ text, bytes: Buffer.byteLength(text), resolve, reject });
      this.#start();
    });
  }

  #start(): void {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
      // A write may have arrived since the last check.
      if (this.#waiting.length > 0) this.#start();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelLook();
    while (this.#writing !== undefined) await this.#writing;
    await this.#tidying;
    await this.#opened?.handle.close();
    this.#opened = undefined;
  }

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    for (let group = this.#takeGroup(); group.length > 0; group = this.#takeGroup()) {
      try {
        await this.#writeGroup(group);
        for (const one of group) one.resolve();
      } catch (error) {
        this.#isTorn = true;
        for (const one of group) one.reject(error);
      }
    }
  }

  /**
   * Returns the first waiting write and those after it that fit into the same file, and removes them from the queue.
   */
  #takeGroup(): Waiting[] {
    const { bytesMax } = this.#options;
    let bytes = this.#bytes >= bytesMax ? 0 : this.#bytes;
    let count = 0;
    for (const one of this.#waiting) {
      if (count > 0 && bytes + one.bytes > bytesMax) break;
      bytes += one.bytes;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #writeGroup(group: readonly Waiting[]): Promise<void> {
    const text = group.map((one) => one.text).join("");
    const bytes = group.reduce((sum, one) => sum + one.bytes, 0);
    const { sharing, bytesMax } = this.#options;
    if (sharing !== "alone") await this.#look();
    if (sharing !== "follows" && this.#bytes > 0 && this.#bytes + bytes > bytesMax) await this.#rotate();
    this.#opened ??= await this.#reopen();
    // A line break separates the text from a line that a failed write or a killed process left incomplete.
    const separated = this.#isTorn ? `\n${text}` : text;
    if (sharing === "alone") await this.#opened.handle.appendFile(separated);
    else await appendAtOnce(this.#opened.handle, separated);
    this.#isTorn = false;
    this.#bytes += bytes;
    // The file may have been put aside and compressed without these lines. They are rather there twice than not at all.
    if (sharing === "follows" && !(await this.#look())) await this.#writeGroup(group);
  }

  /** Looks at a file that others write, too. Resolves with whether it is still the file that is open. */
  async #look(): Promise<boolean> {
    const opened = this.#opened;
    const present = await stat(this.#options.file).catch(() => undefined);
    if (opened === undefined || present?.ino !== opened.inode) {
      await opened?.handle.close();
      this.#opened = undefined;
      this.#opened = await this.#reopen();
      return false;
    }
    this.#bytes = present.size;
    this.#isTorn = await endsTorn(opened.handle, present.size);
    return true;
  }

  /** Rotates a file that others have filled while this process had nothing to write. */
  #lookLater(): void {
    const { clock, file, bytesMax } = this.#options;
    this.#cancelLook = clock.after(lookMs, () => {
      void stat(file).then(
        ({ size }) => {
          if (size > bytesMax && !this.#isClosed) this.#writeNothing();
        },
        () => undefined,
      );
      this.#lookLater();
    });
  }

  #writeNothing(): void {
    const { failed } = this.#options;
    this.#waiting.push({ text: "", bytes: 0, resolve: () => undefined, reject: failed });
    this.#start();
  }

  async #reopen(): Promise<Opened> {
    const opened = await openToAppend(this.#options.file);
    this.#bytes = opened.bytes;
    this.#isTorn = opened.isTorn;
    return opened;
  }

  async #rotate(): Promise<void> {
    const { file, clock } = this.#options;
    await this.#opened?.handle.close();
    this.#opened = undefined;
    let aside: string;
    let atMs = clock.now();
    do aside = backupName(file, atMs++);
    while ((await exists(aside)) || (await exists(`${aside}.gz`)));
    await rename(file, aside);
    this.#opened = await this.#reopen();
    this.#tidy();
  }

  /** Removes rotated files above the limits and compresses the others; one pass at a time. */
  #tidy(): void {
    this.#tidying = this.#tidying
      .then(() => tidy(this.#options))
      .catch((error: unknown) => this.#options.failed(error));
  }
}

/** Appends a text with one call, so that no other process writes between its parts. */
async function appendAtOnce(handle: FileHandle, text: string): Promise<void> {
  const bytes = Buffer.from(text);
  const { bytesWritten } = await handle.write(bytes, 0, bytes.length);
  if (bytesWritten < bytes.length) throw new Error(`${bytesWritten} of ${bytes.length} bytes could be written`);
}

/** Returns the name of a rotated file: `audit-2026-01-31T12-00-00.000.log` beside `audit.log`. */
function backupName(file: string, atMs: number): string {
  const { stem, ending } = parts(file);
  const at = new Date(atMs).toISOString().replaceAll(":", "-").replace("Z", "");
  return join(dirname(file), `${stem}-${at}${ending}`);
}

function parts(file: string): { readonly stem: string; readonly ending: string } {
  const ending = extname(file);
  return { stem: basename(file, ending), ending };
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

async function tidy(options: AuditFileOptions): Promise<void> {
  const { file, keepMs, backupsMax, compress, clock } = options;
  const folder = dirname(file);
  const { stem, ending } = parts(file);
  const backups: { readonly name: string; readonly atMs: number }[] = [];
  for (const name of await readdir(folder)) {
    const plain = name.endsWith(".gz") ? name.slice(0, -3) : name;
    if (!plain.startsWith(`${stem}-`) || !plain.endsWith(ending)) continue;
    const match = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3})$/.exec(
      plain.slice(stem.length + 1, plain.length - ending.length),
    );
    if (match !== null) backups.push({ name, atMs: Date.parse(`${match[1]}:${match[2]}:${match[3]}Z`) });
  }
  backups.sort((a, b) => b.atMs - a.atMs);
  const eldestMs = keepMs > 0 ? clock.now() - keepMs : Number.NEGATIVE_INFINITY;
  for (const [at, { name, atMs }] of backups.entries()) {
    const path = join(folder, name);
    if ((backupsMax > 0 && at >= backupsMax) || atMs < eldestMs) await rm(path, { force: true });
    else if (compress && !name.endsWith(".gz")) await compressFile(path);
  }
}

/** Compresses into a file with a temporary name, so that an interrupted compression is repeated. */
async function compressFile(path: string): Promise<void> {
  const partial = `${path}.gz.tmp`;
  await pipeline(createReadStream(path), createGzip(), createWriteStream(partial, { mode: 0o600 }));
  await rename(partial, `${path}.gz`);
  await rm(path);
}

/** The part of a stream that is used. */
interface LineStream {
  write(text: string, done: (error?: Error | null) => void): unknown;
  on(event: "error", listener: () => void): unknown;
}

/** Returns a writer of lines to a stream that others use too, such as standard output. */
export function streamWriter(stream: LineStream, lineOf: LineOf): EventWriter {
  // The reader may have gone. Each write gets that error; nothing else has to end.
  stream.on("error", () => undefined);
  return {
    write: (records) =>
      new Promise((resolve, reject) => {
        stream.write(records.map(lineOf).join(""), (error) => {
          if (error === undefined || error === null) resolve();
          else reject(error);
        });
      }),
    close: () => Promise.resolve(),
  };
}
