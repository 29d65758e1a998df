/** Turns errors of reading settings into the error that ends the start. */
import { StartError } from "#std/start-error.ts";

/** The result of `read`. What it throws becomes a `StartError` with `prefix` before the message. */
export function asStart<T>(prefix: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new StartError(prefix + (error instanceof Error ? error.message : String(error)), { cause: error });
  }
}
