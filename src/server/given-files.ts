/** Reads files that flags name. A file that cannot be read or understood ends the start with an error. */
import { readFileSync } from "node:fs";
import { StartError } from "#std/start-error.ts";
import { reasonOf } from "#std/system-error.ts";

/** Reads a file named by a flag. Throws `StartError`. */
export function readGiven(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new StartError(`cannot read ${file}: ${reasonOf(error)}`, { cause: error });
  }
}

/** Returns the result of `read`. An error of `read` becomes a `StartError` with `prefix` before the message. */
export function orStartError<T>(prefix: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new StartError(prefix + (error instanceof Error ? error.message : String(error)), { cause: error });
  }
}
