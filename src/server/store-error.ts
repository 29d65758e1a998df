/** Errors of the store as one line for the user. */
import { LostWrites, StorageFailure } from "#storage/log-store.ts";
import { StartError } from "#std/start-error.ts";

/** A `StartError` with a remedy for a failure of the store; other errors unchanged. */
export function asStartError(error: unknown): unknown {
  if (!(error instanceof StorageFailure)) return error;
  const wayOn =
    error instanceof LostWrites
      ? "; put it back, restore a backup into another folder (binnacle restore), or go on without what is lost by one start with --accept-data-loss"
      : "";
  return new StartError(error.message + wayOn, { cause: error });
}
