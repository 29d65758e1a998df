/** The errors of etcd in the words of the store. */
import { OutcomeUnknown, StorageFailure, StorageFull, StorageRefusal, StoreFailed, Unavailable } from "../log-store.ts";
import { EtcdError, type EtcdErrorKind } from "./client.ts";
import { restoreRemedy } from "./head-file.ts";

/** The kinds of errors after which the same call may succeed at another member, or later. */
const passing: ReadonlySet<EtcdErrorKind> = new Set(["unsent", "unanswered", "future"]);

/** Whether the same call may succeed soon. */
export const isPassing = (error: unknown): boolean => error instanceof EtcdError && passing.has(error.kind);

/** Returns the error of a log whose etcd is no longer the one that it followed. */
export const replacedError = (error: EtcdError): StoreFailed =>
  new StoreFailed(`${error.message} (a backup is restored by ${restoreRemedy})`, { cause: error });

/** Returns the error of a write. `mayBeDone`: one of its tries has no known outcome. */
export function writeError(error: EtcdError, mayBeDone: boolean): StorageFailure {
  const options = { cause: error };
  if (mayBeDone) return new OutcomeUnknown(`etcd did not say whether the write was done: ${error.message}`, options);
  return error.kind === "replaced" ? replacedError(error) : readError(error);
}

/** Returns the error of a read. */
export function readError(error: EtcdError): StorageFailure {
  const options = { cause: error };
  if (isPassing(error)) return new Unavailable(`etcd cannot be reached: ${error.message}`, options);
  if (error.kind === "full") return new StorageFull(`etcd has no room: ${error.message}`, options);
  return new StorageRefusal(`etcd refuses the request: ${error.message}`, options);
}
