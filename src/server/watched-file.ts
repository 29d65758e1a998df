/**
 * A file that is read again periodically and delivered when its content changes. Unusable content leaves the previous
 * one in force and is tried again next time, since the cause may lie elsewhere.
 */
import { readFile } from "node:fs/promises";
import type { Clock } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";

interface WatchedFileOptions {
  readonly file: string;
  /** The file's content when the caller read it; only other content is delivered. */
  readonly text: string;
  readonly clock: Clock;
  /** Default: a minute, as upstream. */
  readonly periodMs?: number;
  /** Receives new content. If it throws or rejects, the error is reported and the old content stays. */
  changed(text: string): MaybePromise<void>;
  /** The file could not be read, or its content not be used. */
  failed(error: unknown): void;
}

/** The interval of reads. */
const filePeriodMs = 60_000;

/**
 * Reads until the returned function is called. Reads do not overlap; one that is running at the end delivers nothing.
 */
export function watchFile(options: WatchedFileOptions): () => void {
  const { file, clock, periodMs = filePeriodMs } = options;
  let taken = options.text;
  let closed = false;
  let cancel = clock.after(periodMs, check);
  function check(): void {
    void look().finally(() => {
      if (!closed) cancel = clock.after(periodMs, check);
    });
  }
  async function look(): Promise<void> {
    try {
      const text = await readFile(file, "utf8");
      if (closed || text === taken) return;
      await options.changed(text);
      taken = text;
    } catch (error) {
      if (!closed) options.failed(error);
    }
  }
  return () => {
    closed = true;
    cancel();
  };
}
