/** Failures of large requests: their form in messages, and the error for a request that needs too much memory. */
import { internalError, requestTooLarge, serviceUnavailable, StatusError, timeout } from "#meta/status-error.ts";
import { isTooDeep, tooDeep } from "#std/too-deep.ts";
import { OutcomeUnknown, StorageRefusal, Unavailable } from "#storage/log-store.ts";
import type { SentFailure } from "./messages.ts";

/** The memory limit of a thread in megabytes. The largest bodies of honest clients need a tenth of it. */
export const memoryMbMax = 384;

export const memoryExceeded = (): StatusError =>
  requestTooLarge(`it needs more than the ${memoryMbMax} MB of memory that one request may have`);

/** Returns the message form of an error. */
export function failureOf(error: unknown): SentFailure {
  if (error instanceof StatusError) return { status: error.status };
  if (error instanceof Unavailable) return { status: serviceUnavailable(error.message).status };
  if (error instanceof OutcomeUnknown) return { status: timeout(error.message).status };
  if (error instanceof StorageRefusal) return { status: internalError(error.message).status };
  if (isTooDeep(error)) return { isTooDeep: true };
  if (isTextTooLong(error)) return { status: memoryExceeded().status };
  return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}

/** Returns the error of a message. The sender removes confidential values from the messages of errors. */
export function errorOf(failure: SentFailure): Error {
  if ("status" in failure) return new StatusError(failure.status, { showsValues: false });
  return "isTooDeep" in failure ? tooDeep() : new Error(failure.error);
}

/** Whether an error says that a text exceeds the maximum length of strings, as indented deep nesting does. */
const isTextTooLong = (error: unknown): boolean =>
  error instanceof RangeError && error.message === "Invalid string length";
