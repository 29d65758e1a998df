/**
 * Sends all current entries to the main thread when the thread starts, a few buffers ahead of what the main thread has
 * read.
 */
import type { MessagePort } from "node:worker_threads";

import { digestSum } from "../digest.ts";
import { damagedFile } from "./log-file.ts";
import type { SendToMain, ToWorker } from "./messages.ts";
import type { OpenLogFiles } from "./open-log.ts";
import { RowWriter } from "./packed-rows.ts";

/** The size of a buffer, the part of it that the last row may need, and the number of buffers in transit. */
const bufferBytes = 1024 * 1024;
const marginBytes = 64 * 1024;
const buffersInTransit = 3;

/**
 * Sends the entries, and compares their digest with the survey's. Resolves when the main thread may be told that the
 * log is open. Rejects when the file is damaged.
 */
export function sendCurrentRows(
  port: MessagePort,
  send: SendToMain,
  path: string,
  opened: OpenLogFiles,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const loading = packCurrentRows(send, path, opened);
    let spare: ArrayBuffer | undefined;
    let isDone = false;
    const advance = (): void => {
      if (isDone) return;
      try {
        isDone = loading.next(spare).done === true;
        spare = undefined;
        if (isDone) resolve();
      } catch (error) {
        isDone = true;
        reject(error as Error);
      }
      if (isDone) port.off("message", onMessage);
    };
    const onMessage = (message: ToWorker): void => {
      if (message.kind === "loaded") spare = message.buffer;
      advance();
    };
    port.on("message", onMessage);
    for (let i = 0; i < buffersInTransit; i++) advance();
  });
}

/** Sends a buffer in each step. A step is given a buffer that the main thread has returned, if there is one. */
function* packCurrentRows(
  send: SendToMain,
  path: string,
  { file, survey: { keys, sum, replaced } }: OpenLogFiles,
): Generator<undefined, void, ArrayBuffer | undefined> {
  let loadedKeys = 0;
  let loadedSum = 0;
  let writer = new RowWriter(keys === 0 ? 0 : bufferBytes);
  for (const row of file.live(replaced)) {
    loadedKeys++;
    loadedSum = digestSum(loadedSum + row.revision);
    writer.addRow(row);
    if (writer.length < bufferBytes - marginBytes) continue;
    const rows = writer.take();
    send({ kind: "load", rows }, [rows.buffer]);
    const spare = yield;
    writer = new RowWriter(spare ?? bufferBytes);
  }
  const rows = writer.take();
  send({ kind: "load", rows }, [rows.buffer]);
  if (loadedKeys !== keys || loadedSum !== sum) throw damagedFile(path, undefined, "rows are missing");
}
