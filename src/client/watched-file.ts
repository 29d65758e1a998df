/**
 * Files that are read again when they change: certificates, keys, tokens. They are looked at when somebody asks, at
 * most once a second, and read when their status differs or a minute has passed. Mounted secrets are links that are
 * replaced; `stat` follows them.
 */
import { readFileSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import type { Clock } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { reasonOf } from "#std/system-error.ts";

const lookMs = 1000;
const rereadMs = 60_000;

interface WatchedFilesOptions<T> {
  /** The paths. Several files belong together, as a certificate and its key do. */
  readonly files: readonly string[];
  readonly clock: Clock;
  /** Makes a value of the texts, in the order of the files. Throws if they do not (yet) fit together. */
  readonly parse: (texts: readonly string[]) => T;
  /** Makes the error of files without a first value. `problem` names the file. */
  readonly fail: (problem: string) => Error;
}

/** The value of files that may change. */
export class WatchedFiles<T> {
  readonly #options: WatchedFilesOptions<T>;
  #current: { readonly texts: readonly string[]; readonly value: T } | undefined;
  /** The status of the files when they were read. */
  #status = "";
  #lookedAt = -Infinity;
  #readAt = -Infinity;
  #looking: Promise<T> | undefined;

  constructor(options: WatchedFilesOptions<T>) {
    this.#options = options;
  }

  /**
   * Returns the value; the same one for the same texts. Files that cannot be read or parsed any more leave the last
   * value. Rejects with the error of `fail` while there is none.
   */
  read(): MaybePromise<T> {
    if (this.#looking !== undefined) return this.#looking;
    if (this.#current !== undefined && this.#options.clock.monotonic() - this.#lookedAt < lookMs) {
      return this.#current.value;
    }
    this.#looking = this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /** Whether the files hold other texts than the last value was made of. The next `read` then looks at them. */
  haveChanged(): boolean {
    const { texts } = this.#current ?? {};
    try {
      if (texts !== undefined && this.#options.files.every((file, i) => readFileSync(file, "utf8") === texts[i])) {
        return false;
      }
    } catch {
      return false;
    }
    this.#lookedAt = -Infinity;
    this.#readAt = -Infinity;
    return true;
  }

  async #look(): Promise<T> {
    const { clock, fail } = this.#options;
    try {
      const { value } = await this.#refreshed();
      this.#lookedAt = clock.monotonic();
      return value;
    } catch (error) {
      if (this.#current === undefined) throw fail(problemOf(error));
      this.#lookedAt = clock.monotonic();
      return this.#current.value;
    }
  }

  async #refreshed(): Promise<{ readonly value: T }> {
    const { files, clock, parse } = this.#options;
    const status = (await Promise.all(files.map(statusOf))).join(" ");
    const isFresh = status === this.#status && clock.monotonic() - this.#readAt < rereadMs;
    if (this.#current !== undefined && isFresh) return this.#current;
    const texts = await Promise.all(files.map((file) => readFile(file, "utf8")));
    if (this.#current === undefined || texts.some((text, i) => text !== this.#current?.texts[i])) {
      this.#current = { texts, value: parse(texts) };
    }
    this.#status = status;
    this.#readAt = clock.monotonic();
    return this.#current;
  }
}

function problemOf(error: unknown): string {
  const { path, message } = error as NodeJS.ErrnoException;
  return path === undefined ? message : `${path} cannot be read: ${reasonOf(error)}`;
}

async function statusOf(file: string): Promise<string> {
  const { ino, size, mtimeMs } = await stat(file);
  return `${ino}:${size}:${mtimeMs}`;
}
