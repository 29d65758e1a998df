/**
 * A file that is read periodically and delivered when its content changes. Unusable content leaves the previous content
 * in force and is tried again at the next look, since the cause may be outside of the file. The previous content is
 * delivered again when it is back, so that whoever counts failures sees their end.
 */
import { readFile } from "node:fs/promises";
import type { Clock } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";

interface WatchedFileOptions {
  readonly file: string;
  /** The content of the file when the caller read it; only different content, or that after a failure, is delivered. */
  readonly text: string;
  readonly clock: Clock;
  /** The interval of reads in milliseconds; a minute by default, as upstream. */
  readonly periodMs?: number;
  /** Receives new content. If it throws or rejects, the error is reported and the old content stays. */
  changed(text: string): MaybePromise<void>;
  /** Called when the file cannot be read, or its content cannot be used. */
  failed(error: unknown): void;
}

/** The default interval of reads in milliseconds. */
const filePeriodMs = 60_000;

/**
 * Reads the file until the returned function is called. Reads do not overlap; a read that is running at the end
 * delivers nothing.
 */
export function watchFile(options: WatchedFileOptions): () => void {
  const { file, clock, periodMs = filePeriodMs } = options;
  let taken = options.text;
  let hasFailed = false;
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
      if (closed || (text === taken && !hasFailed)) return;
      await options.changed(text);
      taken = text;
      hasFailed = false;
    } catch (error) {
      hasFailed = true;
      if (!closed) options.failed(error);
    }
  }
  return () => {
    closed = true;
    cancel();
  };
}

/**
 * Reads files whose text the caller did not keep, so the first look at each counts as a change. `changed` is called
 * after a change of one of them.
 */
export function watchFiles(
  files: readonly string[],
  clock: Clock,
  changed: () => void,
  failed: (error: unknown, file: string) => void,
): () => void {
  const stops = files.map((file) =>
    watchFile({ file, text: "", clock, changed, failed: (error) => failed(error, file) }),
  );
  return () => stops.forEach((stop) => stop());
}
